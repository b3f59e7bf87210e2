package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/loopdir"
	"wavex/internal/planfile"
	"wavex/internal/record"
	"wavex/internal/wary"
	"wavex/runner"
	"wavex/scheduler"
)

// This file notices attempts that change the plan or .loop, with whatever they do it. The
// runner sees what editing tools were used on; here files are compared, so a shell's work is
// seen as well. It knows what this wavex writes meanwhile, and leaves that out. Like the
// runner it sees that a file changed, not who did it.

// sentry is a runner that looks at files before and after what the inner one does.
type sentry struct {
	scheduler.Runner
	loop  string
	plan  string                              // its file; "": one that wavex writes itself
	wrote func(name string, text []byte) bool // this wavex wrote the projection so
}

func (r *Session) guarded(inner scheduler.Runner, files *loopdir.Writer) scheduler.Runner {
	s := sentry{Runner: inner, loop: r.config.Loop, wrote: files.Wrote}
	if !planfile.IsList(r.plan.Path) {
		s.plan = planfile.Path(r.plan)
	}
	return s
}

// Attempt makes the attempt, and tells in its result what was changed meanwhile.
func (s sentry) Attempt(ctx context.Context, req runner.Request) runner.Result {
	if req.Shell != "" {
		return s.Runner.Attempt(ctx, req) // the plan's author wrote it
	}
	before := s.look(req.Base)
	res := s.Runner.Attempt(ctx, req)
	for _, t := range s.changed(before, s.look(req.Base)) {
		if rel, err := filepath.Rel(req.Dir, s.plan); t.Why == whyPlan && err == nil && filepath.IsLocal(rel) {
			t.Path = filepath.ToSlash(rel)
		}
		told := func(o runner.Tamper) bool { // by the runner, which may name the plan otherwise
			return o.Path == t.Path || t.Why == whyPlan && o.Why == whyPlan
		}
		if !slices.ContainsFunc(res.Tampered, told) {
			res.Tampered = append(res.Tampered, t)
		}
	}
	return res
}

const (
	whyPlan = "it is the plan"
	whyOwn  = "it is wavex's own folder"
)

// maxSeen bounds how many files are looked at, maxRead, in bytes, how much of one.
const (
	maxSeen = 1_000
	maxRead = 1 << 20
)

// sight is what there is at one moment.
type sight struct {
	files   map[string]string // digests by path in .loop, slash-separated
	texts   map[string][]byte // of the projections
	plan    string            // digest
	base    string            // of what the task's changes are told against
	journal os.FileInfo       // nil: there is none
}

func (s sentry) look(base string) sight {
	now := sight{files: map[string]string{}, texts: map[string][]byte{}, plan: digestOf(s.plan, maxRead), base: digestOf(base, maxRead)}
	now.journal, _ = os.Stat(s.journal()) // nil: there is none
	_ = filepath.WalkDir(s.loop, func(at string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(s.loop, at)
		rel = filepath.ToSlash(rel)
		switch {
		case err != nil || rerr != nil:
			return nil // what cannot be read cannot be compared
		case d.IsDir() && slices.Contains([]string{"runs", "worktrees", "hook"}, rel):
			return fs.SkipDir // written all the time
		case len(now.files) >= maxSeen:
			return fs.SkipAll
		case slices.Contains(loopdir.Files(), rel):
			now.texts[rel], _ = wary.Read(at, loopdir.MaxFile) // what cannot be read is told of when it comes
		case d.Type().IsRegular() && !passing(rel):
			now.files[rel] = digestOf(at, maxRead)
		}
		return nil
	})
	return now
}

// passing are the files that wavex itself writes between two looks.
func passing(rel string) bool {
	return slices.Contains([]string{"journal.jsonl", "lock", "holder.json", "guard.lock", "hook.json", "hook.json.next"}, rel) ||
		strings.HasSuffix(rel, ".bad") || strings.HasPrefix(rel, ".") && rel != ".gitignore"
}

func (s sentry) journal() string { return filepath.Join(s.loop, "journal.jsonl") }

// changed lists what is not as it was, and not as this wavex wrote it.
func (s sentry) changed(before, after sight) []runner.Tamper {
	var out []runner.Tamper
	own := func(rel string) { out = append(out, runner.Tamper{Path: ".loop/" + rel, Why: whyOwn}) }
	if before.plan != after.plan {
		out = append(out, runner.Tamper{Path: filepath.ToSlash(s.plan), Why: whyPlan})
	}
	if s.recordChanged(before.journal, after.journal) {
		own("journal.jsonl")
	}
	if before.base != "" && before.base != after.base {
		own("runs")
	}
	for _, rel := range loopdir.Files() {
		text, there := after.texts[rel]
		was, wasThere := before.texts[rel]
		if there != wasThere || !bytes.Equal(text, was) {
			if there && !s.wrote(rel, text) || !there && wasThere {
				own(rel)
			}
		}
	}
	all := maps.Clone(before.files)
	maps.Copy(all, after.files)
	for _, rel := range slices.Sorted(maps.Keys(all)) {
		if before.files[rel] != after.files[rel] {
			own(rel)
		}
	}
	if len(out) > 2 { // as after git clean -fdx
		return []runner.Tamper{{Path: ".loop", Why: whyOwn}}
	}
	return out
}

// recordChanged tells whether the journal is another one, is shorter, or has got lines that
// are no records. What is changed inside it, its checksums tell when it is read.
func (s sentry) recordChanged(before, after os.FileInfo) bool {
	if before == nil {
		return false
	}
	if after == nil || !os.SameFile(before, after) || after.Size() < before.Size() {
		return true
	}
	f, err := wary.Open(s.journal())
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }() // read only
	text, err := io.ReadAll(io.NewSectionReader(f, before.Size(), maxRead))
	return err != nil || !record.Sound(text)
}

// digestOf identifies the first bytes of a file and its size; "" where there is nothing.
func digestOf(path string, most int64) string {
	f, err := wary.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return "unreadable"
	}
	defer func() { _ = f.Close() }() // read only
	h := sha256.New()
	st, err := f.Stat()
	if err == nil {
		_, err = io.Copy(h, io.LimitReader(f, most))
	}
	if err != nil {
		return "unreadable"
	}
	return fmt.Sprintf("%x %d", h.Sum(nil), st.Size())
}
