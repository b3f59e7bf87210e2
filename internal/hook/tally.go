package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"wavex/internal/wary"
)

// tally counts, per session, how often in a row a session was held without the run
// coming further (LEDGER S1-11, C17). It is kept in .loop/hook/.
type tally struct {
	Streak    int `json:"streak"`
	Completed int `json:"completed"`
}

// maxTally bounds, in bytes, what is read of a count.
const maxTally = 1 << 10

// tallyPath does not trust a session's name to be one of a file.
func tallyPath(loop, session string) string {
	sum := sha256.Sum256([]byte(session))
	return filepath.Join(loop, "hook", hex.EncodeToString(sum[:8])+".json")
}

// Count counts one more evaluation of a session's Stop hook. ok is false when the
// count cannot be kept, so that nobody is held for ever by a folder that cannot be
// written.
func Count(in Input, r Run) (streak int, ok bool) {
	path := tallyPath(r.Loop, in.Session)
	var was tally
	b, err := wary.Read(path, maxTally)
	if err == nil {
		_ = json.Unmarshal(b, &was) // unreadable: it begins again
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
		// Neither synced nor renamed: it must be quick, and a torn count begins again.
		err = wary.Write(path, append(b, '\n'), 0o600)
	}
	return now.Streak, err == nil
}

// Forget drops a session's count: it was let go.
func Forget(in Input, r Run) {
	if in.Session != "" && r.Loop != "" {
		_ = os.Remove(tallyPath(r.Loop, in.Session)) // what is left counts from 0 with the next turn anyway
	}
}
