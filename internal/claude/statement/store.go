package statement

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2/maybe"

	"wavex/internal/safefile"
)

// EnvVar is the environment variable that replaces the system's cache folder.
const EnvVar = "WAVEX_CACHE"

// Program identifies the CLI by its file.
type Program struct {
	Path    string // absolute, without links
	Link    bool   // Path is a link of a version manager, which starts a program by the link's name
	Version Version
	Env     []string // wavex's own environment
}

// Store stores verdicts of probes. The zero value stores nothing. Several processes may use one
// folder: each file is written whole, and a lost file only causes another probe.
type Store struct {
	Dir string
	// Limit bounds the probe before a run; 0: ProbeLimit.
	Limit time.Duration

	// Tests replace Run.
	probe func(context.Context, Target) Report
}

// UserStore returns the store in the user's cache, or a store that stores nothing if there is no
// such folder.
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

// revision is the version of the probes. Verdicts of other revisions are ignored.
const revision = 3

// cacheEntry holds the stored verdicts on one program.
type cacheEntry struct {
	Revision int           `json:"revision"`
	Version  string        `json:"version"`
	Tries    int           `json:"tries"` // number of probe runs so far
	Support  SupportSet    `json:"verdicts"`
	Why      map[ID]string `json:"why,omitempty"`

	file string // "" if it cannot be stored
}

// add adds the verdicts of a report. It keeps the old verdicts on statements that are unknown in r.
func (k *cacheEntry) add(r Report) {
	for id, v := range r.Support {
		if v != Unknown {
			k.Support[id] = v
			delete(k.Why, id)
		}
	}
	maps.Copy(k.Why, r.Why)
}

// load returns the stored verdicts on a program, or an empty entry with its file name.
func (s Store) load(p Program) *cacheEntry {
	version := p.Version.String()
	fresh := &cacheEntry{Revision: revision, Version: version, Support: SupportSet{},
		Why: map[ID]string{}}
	digest := s.digest(p.Path)
	if s.Dir == "" || digest == "" {
		return fresh
	}
	fresh.file = filepath.Join(s.Dir, digest+"-"+version+".json")
	data, err := safefile.Read(fresh.file, fileMax)
	if err != nil {
		return fresh
	}
	k := *fresh
	if json.Unmarshal(data, &k) != nil || k.Revision != revision || k.Version != version || k.Support == nil {
		return fresh
	}
	if k.Why == nil {
		k.Why = map[ID]string{}
	}
	return &k
}

// fileMax bounds the files of the store, in bytes.
const fileMax = 64 << 10

// save writes k to its file. It ignores errors: the next start then probes again.
func (s Store) save(k *cacheEntry) {
	if data, err := json.Marshal(k); err == nil && k.file != "" {
		s.write(k.file, data)
	}
}

func (s Store) write(path string, data []byte) {
	if os.MkdirAll(s.Dir, 0o700) == nil {
		_ = maybe.WriteFile(path, data, 0o600) // see save
	}
}

// digest returns the SHA-256 of a file in hex, or "" if it cannot be read. It stores the digest and
// reuses it while the file is unchanged.
func (s Store) digest(path string) string {
	st, err := os.Stat(path)
	if err != nil {
		return ""
	}
	index := filepath.Join(s.Dir, identity(path, st)+".sha256")
	if data, err := safefile.Read(index, fileMax); s.Dir != "" && err == nil && len(data) == hex.EncodedLen(sha256.Size) {
		return string(data)
	}
	sum, err := safefile.Digest(safefile.Open(path))
	if err == nil && s.Dir != "" {
		s.write(index, []byte(sum))
	}
	return sum
}

// identity identifies a file and its state, so that a program is not read at each start.
func identity(path string, st fs.FileInfo) string {
	return fmt.Sprintf("%x-%x-%x", sha256.Sum256([]byte(path)), st.Size(), st.ModTime().UnixNano())
}

// native reports whether a file is a binary for this machine rather than a script.
func native(path string) bool {
	f, err := safefile.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only
	start := make([]byte, 4)
	if _, err := io.ReadFull(f, start); err != nil {
		return false
	}
	return slices.ContainsFunc([]string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"},
		func(magic string) bool { return bytes.HasPrefix(start, []byte(magic)) })
}
