package known

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2/maybe"

	"wavex/internal/claude/probe"
	"wavex/internal/claude/statement"
	"wavex/internal/wary"
)

// EnvVar names the folder of the user's cache in place of the system's.
const EnvVar = "WAVEX_CACHE"

// Store keeps what probes found. The zero value keeps nothing. Several processes may use one
// folder: each file is written whole, and a file that is lost is only probed for again.
type Store struct {
	Dir string

	// For tests: in place of probe.Urgent, and of this machine.
	urgent   func(context.Context, probe.Target) probe.Report
	platform string // operating system and architecture
}

// UserStore returns the store in the user's cache, or one that keeps nothing where there is no such
// folder.
func UserStore() Store {
	dir := os.Getenv(EnvVar)
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return Store{}
		}
		dir = filepath.Join(cache, "wavex")
	}
	return Store{Dir: filepath.Join(dir, "claude")}
}

// revision is of the probes: verdicts of earlier ones do not count.
const revision = 1

// kept is what a file of the store holds of one program.
type kept struct {
	Revision int                     `json:"revision"`
	Version  string                  `json:"version"`
	Tries    int                     `json:"tries"` // of probes so far
	Verdicts statement.Verdicts      `json:"verdicts"`
	Why      map[statement.ID]string `json:"why,omitempty"`

	file string // "" when it cannot be kept
}

// add takes over what probes decided. What they left open stays as it was.
func (k *kept) add(r probe.Report) {
	for id, v := range r.Verdicts {
		if v != statement.Unknown {
			k.Verdicts[id] = v
			delete(k.Why, id)
		}
	}
	maps.Copy(k.Why, r.Why)
}

// load returns what is kept of a program; of one that is not known, nothing with its place.
func (s Store) load(p Program) *kept {
	version := p.Version.String()
	fresh := &kept{Revision: revision, Version: version, Verdicts: statement.Verdicts{}, Why: map[statement.ID]string{}}
	digest := s.digest(p.Path)
	if s.Dir == "" || digest == "" {
		return fresh
	}
	fresh.file = filepath.Join(s.Dir, digest+"-"+version+".json")
	data, err := wary.Read(fresh.file, fileMax)
	if err != nil {
		return fresh
	}
	k := *fresh
	if json.Unmarshal(data, &k) != nil || k.Revision != revision || k.Version != version || k.Verdicts == nil {
		return fresh
	}
	if k.Why == nil {
		k.Why = map[statement.ID]string{}
	}
	return &k
}

// fileMax bounds the files of the store, in bytes.
const fileMax = 64 << 10

// save keeps k. A cache that cannot be written is no cache: the next start probes again.
func (s Store) save(k *kept) {
	if k.file == "" {
		return
	}
	if data, err := json.Marshal(k); err == nil {
		s.write(k.file, data)
	}
}

func (s Store) write(path string, data []byte) {
	if os.MkdirAll(s.Dir, 0o700) == nil {
		_ = maybe.WriteFile(path, data, 0o600) // see save
	}
}

// digest returns the SHA-256 of a file in hex, "" when it cannot be read. Of a file that was
// hashed before and has not changed since, the digest is kept.
func (s Store) digest(path string) string {
	st, err := os.Stat(path)
	if err != nil {
		return ""
	}
	index := filepath.Join(s.Dir, identity(path, st)+".sha256")
	if data, err := wary.Read(index, fileMax); s.Dir != "" && err == nil && len(data) == hex.EncodedLen(sha256.Size) {
		return string(data)
	}
	f, err := wary.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // read only
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	sum := hex.EncodeToString(h.Sum(nil))
	if s.Dir != "" {
		s.write(index, []byte(sum))
	}
	return sum
}

// native reports whether a file is a program of the machine and no script.
func native(path string) bool {
	f, err := wary.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only
	start := make([]byte, 4)
	if _, err := io.ReadFull(f, start); err != nil {
		return false
	}
	for _, magic := range []string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(start, []byte(magic)) {
			return true
		}
	}
	return false
}
