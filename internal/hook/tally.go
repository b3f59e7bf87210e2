package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"wavex/internal/wary"
)

// tally counts, per session, the consecutive holds without progress of the run. It is kept in
// .loop/hook/.
type tally struct {
	Streak    int `json:"streak"`
	Completed int `json:"completed"`
}

// maxTally bounds, in bytes, the file of a count.
const maxTally = 1 << 10

// tallyPath returns the file of a session's count. It does not use the session's name as a file
// name, because the name is untrusted.
func tallyPath(loop, session string) string {
	sum := sha256.Sum256([]byte(session))
	return filepath.Join(loop, "hook", hex.EncodeToString(sum[:8])+".json")
}

// Count counts one more evaluation of a session's Stop hook. ok is false if the count cannot be
// kept, so that an unwritable folder never holds a session for ever.
func Count(in Input, r Run) (streak int, ok bool) {
	path := tallyPath(r.Loop, in.Session)
	var was tally
	b, err := wary.Read(path, maxTally)
	if err == nil {
		_ = json.Unmarshal(b, &was) // if unreadable, the count starts again
	}
	now := tally{Completed: r.Card.Completed}
	switch {
	case !in.StopActive:
	case now.Completed > was.Completed:
		now.Streak = 1
	default:
		now.Streak = was.Streak + 1
	}
	b, err = json.Marshal(now)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		// Neither synced nor renamed: writing must be quick, and after a torn write the count
		// starts again.
		err = wary.Write(path, append(b, '\n'), 0o600)
	}
	return now.Streak, err == nil
}

// Forget deletes the count of a session that was let go.
func Forget(in Input, r Run) {
	if in.Session != "" && r.Loop != "" {
		_ = os.Remove(tallyPath(r.Loop, in.Session)) // a leftover count restarts with the next turn
	}
}
