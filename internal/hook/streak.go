package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"

	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// streakFile counts, per session, the consecutive holds without progress of the run. It is kept in
// .loop/hook/.
type streakFile struct {
	Streak    int `json:"streak"`
	Completed int `json:"completed"`
}

// maxStreakFile bounds, in bytes, the file of a count.
const maxStreakFile = 1 << 10

// streakPath returns the file of a session's count. It does not use the session's name as a file
// name, because the name is untrusted.
func streakPath(dir loop.Dir, session string) string {
	sum := sha256.Sum256([]byte(session))
	return dir.Path(loop.HookStreaks, hex.EncodeToString(sum[:8])+".json")
}

// CountStreak counts one more evaluation of a session's Stop hook. ok is false if the count cannot be
// kept, so that an unwritable folder never holds a session for ever.
func CountStreak(in Input, r Run) (streak int, ok bool) {
	path := streakPath(r.Loop, in.Session)
	var was streakFile
	b, err := safefile.Read(path, maxStreakFile)
	if err == nil {
		_ = json.Unmarshal(b, &was) // if unreadable, the count starts again
	}
	now := streakFile{Completed: r.Snapshot.Completed}
	switch {
	case !in.StopActive:
	case now.Completed > was.Completed:
		now.Streak = 1
	default:
		now.Streak = was.Streak + 1
	}
	b, err = json.Marshal(now)
	if err == nil {
		err = safefile.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		// Neither synced nor renamed: writing must be quick, and after a torn write the count
		// starts again.
		err = safefile.Write(path, append(b, '\n'), 0o600)
	}
	return now.Streak, err == nil
}

// ResetStreak deletes the count of a session that was let go.
func ResetStreak(in Input, r Run) {
	if in.Session != "" && r.Loop != "" {
		_ = safefile.Remove(streakPath(r.Loop, in.Session)) // a leftover count restarts with the next turn
	}
}

// MaxStreak is the maximum of a limit of consecutive evaluations: the CLI itself overrides a hook
// that has held a turn eight times (claude 2.1.330; CLAUDE_CODE_STOP_HOOK_BLOCK_CAP changes that).
const MaxStreak = 8
