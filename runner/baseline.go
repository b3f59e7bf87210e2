package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"wavex/internal/plan"
	"wavex/internal/safefile"
)

// baseline records the files from before a task's first attempt. It is written once, before any attempt
// can change a file, and is only read afterwards.
type baseline struct {
	// Files maps declared paths to digests; "" for a file that did not exist.
	Files map[string]string `json:"files"`
	// Guards holds the digests of guarded files, Protected those of the files that the plan
	// protects; nil if it protected none.
	Guards    map[string]string `json:"guards,omitempty"`
	Protected map[string]string `json:"protected,omitzero"`
	// CheckFiles are the files on which checks rest, by their path in the project.
	CheckFiles map[string]checkFile `json:"check_files,omitempty"`
	// Vacuous reports that the task has checks and all of them passed before the first attempt.
	Vacuous bool `json:"vacuous,omitempty"`
	// Checks identifies those checks; "" if wavex did not record it. Other checks of an edited plan run once more.
	Checks string `json:"checks,omitempty"`
	// Unmeasured reports that the checks were not run, because others edited the directory, or an attempt may have.
	Unmeasured bool `json:"unmeasured,omitempty"`

	// unknown holds the files on which checks rest that differed from CheckFiles after an attempt was killed: it or a
	// person changed them.
	unknown map[string]checkFile
}

// maxBaseline bounds the size of a base file and of a left file when they are read, in bytes.
const maxBaseline = 256 << 20

// openBaseline reads the base at path, or takes and writes one if path does not exist. If path is
// empty, the base is not written. A damaged base is taken again, without the checks. checks runs the task's checks, if
// that is possible now; if it returns an error, openBaseline writes nothing.
func openBaseline(path string, req Request, redact func(string) string,
	checks func() (passed, measured bool, err error)) (baseline, error) {
	if path != "" {
		data, err := safefile.Read(path, maxBaseline)
		if err == nil {
			var b baseline
			switch broken := json.Unmarshal(data, &b); {
			case broken != nil: // a failure of the machine has damaged it; the files may have work by now
				checks = func() (bool, bool, error) { return false, false, nil }
			case b.Checks == "" || b.Checks == checksDigest(req.Checks):
				return b, nil
			default:
				return b.measure(path, req, redact, checks)
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return baseline{}, fmt.Errorf("reading the digests of the declared files: %w", err)
		}
	}
	b := baseline{Guards: guardDigests(req.Dir, req.Guards),
		Protected: req.Protect.digests(req.Dir)}
	return b.measure(path, req, redact, checks)
}

// measure runs the checks before the work, and writes the base. A new base takes the digests of the declared files
// after the checks, because a file that a check makes is no work.
func (b baseline) measure(path string, req Request, redact func(string) string,
	checks func() (bool, bool, error)) (baseline, error) {
	passed, measured, err := checks()
	if err != nil {
		return baseline{}, err
	}
	if b.Files == nil {
		b.Files = map[string]string{}
		for _, f := range req.Files {
			b.Files[f.Path] = FileDigest(req.Dir, f.Path)
		}
	}
	b.Vacuous, b.Unmeasured, b.Checks = passed, !measured, checksDigest(req.Checks)
	if resting := req.restingChecks(false); len(resting) > 0 { // the checks may have made stamps and snapshots
		b.CheckFiles = overlay(req.checkFilesOf(resting, nil), b.CheckFiles)
		req.keepCheckFiles(b.CheckFiles, redact)
	}
	if path == "" {
		return b, nil
	}
	data, _ := json.Marshal(b) // plain data
	if err := safefile.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return baseline{}, err
	}
	// A partial baseline would fail every later attempt.
	if err := safefile.Replace(path, append(data, '\n'), 0o600, true); err != nil {
		return baseline{}, fmt.Errorf("writing the digests of the declared files: %w", err)
	}
	return b, nil
}

// checksDigest identifies a list of checks.
func checksDigest(checks []plan.Check) string {
	data, _ := json.Marshal(checks) // plain data
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// changed returns the declared files that differ from the base, in their order, and the digests of those
// that a task writes. A file that was declared after the base was taken counts as changed if it exists.
func (b baseline) changed(dir string, files []plan.File) (paths []string, digests map[string]string) {
	for _, f := range files {
		d := FileDigest(dir, f.Path)
		if d != b.Files[f.Path] && !slices.Contains(paths, f.Path) {
			paths = append(paths, f.Path)
		}
		if f.Writes() {
			if digests == nil {
				digests = map[string]string{}
			}
			digests[f.Path] = d
		}
	}
	return paths, digests
}

// FileDigest identifies the content at path: the content of a file, the names and contents below a
// directory, or the target of a broken link. It returns "" if path does not exist.
func FileDigest(dir, path string) string {
	p := filepath.FromSlash(path)
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
	info, err := os.Stat(p)
	switch {
	case err != nil:
		if target, err := os.Readlink(p); err == nil {
			return "link " + target
		}
		return ""
	case info.IsDir():
		return treeDigest(p)
	case !info.Mode().IsRegular():
		return "special " + info.Mode().Type().String()
	}
	sum, err := safefile.Digest(safefile.Open(p))
	if err != nil {
		return "unreadable"
	}
	return sum
}

func treeDigest(root string) string {
	h := sha256.New()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		rel, _ := filepath.Rel(root, p) // p is in root
		fmt.Fprintf(h, "%s\x00%s\x00", filepath.ToSlash(rel), d.Type())
		if d.Type().IsRegular() {
			return hashFile(h, p)
		}
		return nil
	})
	if err != nil {
		return "unreadable"
	}
	return "tree " + hex.EncodeToString(h.Sum(nil))
}

func hashFile(h io.Writer, path string) error {
	f, err := safefile.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	_, err = io.Copy(h, f)
	return err
}
