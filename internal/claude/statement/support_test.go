package statement

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

// fixture holds a program, a store, and a counter of probes.
type fixture struct {
	Store
	program Program
	probes  int
	found   Report
}

// setup creates a program that prints a version.
func setup(t *testing.T, version, text string) *fixture {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude")
	testrepo.Must(t, os.WriteFile(path, []byte(text), 0o755))
	v, _ := ParseVersion(version)
	b := &fixture{program: Program{Path: path, Version: v}}
	b.Store = Store{Dir: filepath.Join(t.TempDir(), "wavex", "claude"),
		probe: func(context.Context, Target) Report {
			b.probes++
			return b.found
		}}
	b.found = Report{Support: all(Holds), Why: map[ID]string{}}
	return b
}

// all returns the same verdict for every statement.
func all(v Support) SupportSet {
	out := SupportSet{}
	for _, s := range All() {
		out[s.ID] = v
	}
	return out
}

func TestPublishedIsBuiltIn(t *testing.T) {
	t.Parallel()
	for _, r := range Releases() {
		version := r.Version
		b := setup(t, version, "")
		testrepo.Must(t, os.Truncate(b.program.Path, r.Size))
		c := b.Ensure(t.Context(), b.program)
		if b.probes != 0 || c.Source != BuiltIn || len(c.Support) != len(All()) || c.Notice() != "" {
			t.Errorf("%s: %d probes, source %d, %q", version, b.probes, c.Source, c.Notice())
		}
		if _, err := os.Stat(b.Dir); err == nil {
			t.Errorf("%s: something is kept", version)
		}
	}
}

// A wrapper prints the version of the program that it starts, but may change its behaviour.
func TestWrapperOfTestedVersionIsProbed(t *testing.T) {
	t.Parallel()
	b := setup(t, Newest(), "#!/bin/sh\n")
	b.found.Support[Denied] = Fails
	b.found.Why[Denied] = "sh ./other.sh was carried out"
	delete(b.found.Support, PartialUsage)
	b.Ensure(t.Context(), b.program)
	c := b.Ensure(t.Context(), b.program) // it is refused, whatever else is unknown
	why, advice := c.Refusal()
	if b.probes != 1 || !strings.Contains(why, "sh ./other.sh was carried out") ||
		!strings.Contains(advice, "@"+Newest()) {
		t.Errorf("%d probes, %q, %q", b.probes, why, advice)
	}
}

// A statement that fails is told where it holds on the newest tested version or on the one that the program reports.
func TestWrapperOfOldestVersion(t *testing.T) {
	t.Parallel()
	for _, version := range []string{Oldest(), Newest(), "2.1.400"} {
		b := setup(t, version, "#!/bin/sh\n")
		b.found.Support[TurnCost] = Fails
		if n := b.Ensure(t.Context(), b.program).Notice(); !strings.Contains(n, string(TurnCost)) {
			t.Errorf("%s: %q", version, n)
		}
	}
}

// The verdicts on a program are found again by its file, by its content, and by its version.
func TestCached(t *testing.T) {
	t.Parallel()
	b := setup(t, "2.1.400", "one")
	b.found.Support[TurnCost] = Fails
	ready := func(probes int, what string) CLI {
		t.Helper()
		c := b.Ensure(t.Context(), b.program)
		if b.probes != probes || c.Support[TurnCost] != Fails ||
			c.Support[Cap] != Holds {
			t.Errorf("%s: %d probes, %v", what, b.probes, c.Support)
		}
		return c
	}
	if n := ready(1, "first").Notice(); !strings.Contains(n,
		"newer than any tested version (2.1.332); does not hold: turn-cost; ") {
		t.Errorf("%q", n)
	}
	if c := ready(1, "again"); c.Source != Cached || c.Notice() != "" || c.Fallbacks() != "; does not hold: turn-cost" {
		t.Errorf("source %d, %q, %q", c.Source, c.Notice(), c.Fallbacks())
	}
	copied := filepath.Join(t.TempDir(), "copy")
	testrepo.Must(t, os.WriteFile(copied, []byte("one"), 0o755))
	b.program.Path = copied
	ready(1, "a copy")
	testrepo.Must(t, os.WriteFile(copied, []byte("another"), 0o755))
	ready(2, "another content")
	b.program.Version[2]++ // a wrapper that now starts another CLI
	ready(3, "another version")
	kept, err := filepath.Glob(filepath.Join(b.Dir, "*.json"))
	if err != nil || len(kept) != 3 {
		t.Fatal(kept, err)
	}
	for _, path := range kept {
		testrepo.Must(t, os.WriteFile(path, []byte(`{"revision":3,"ver`), 0o600))
	}
	ready(4, "a damaged file")
}

// An Unknown verdict is probed again, a limited number of times.
func TestUnknownIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, "2.1.400", "")
	b.found = Report{Support: SupportSet{Cap: Holds},
		Err: errors.New("no answer\nin time")}
	for n := 1; n <= maxTries+2; n++ {
		c := b.Ensure(t.Context(), b.program)
		if b.probes != min(n, maxTries) || c.Support[Denied] == Holds ||
			c.Support[Cap] != Holds {
			t.Errorf("start %d: %d probes, %v", n, b.probes, c.Support)
		}
		if why, _ := c.Refusal(); why != "" {
			t.Errorf("refused: %s", why)
		}
		if got := strings.Contains(c.Notice(), "no answer; in time"); got != (n <= maxTries) {
			t.Errorf("start %d: %s", n, c.Notice())
		}
	}
}

// A store without a folder keeps nothing, and otherwise works the same.
func TestNoCache(t *testing.T) {
	t.Parallel()
	b := setup(t, "2.1.400", "")
	b.Dir = ""
	for n := range 2 {
		if c := b.Ensure(t.Context(), b.program); b.probes != n+1 || c.Support[Cap] != Holds {
			t.Errorf("%d probes, %v", b.probes, c.Support)
		}
	}
}

func TestNative(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	testrepo.Must(t, err)
	if script := setup(t, "", "#!/bin/sh\nexec claude \"$@\"\n"); !native(self) || native(script.program.Path) ||
		native(script.program.Path+"-none") {
		t.Error("programs and scripts are mistaken for each other")
	}
}

// A file that has not changed is not read again.
func TestDigestIsCached(t *testing.T) {
	t.Parallel()
	b := setup(t, "", "content")
	const want = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"
	if got := b.digest(b.program.Path); got != want {
		t.Fatalf("digest %s", got)
	}
	st, err := os.Stat(b.program.Path)
	testrepo.Must(t, err)
	mark := strings.Repeat("0", len(want))
	testrepo.Must(t, os.WriteFile(filepath.Join(b.Dir, identity(b.program.Path, st)+".sha256"), []byte(mark), 0o600))
	if got := b.digest(b.program.Path); got != mark {
		t.Errorf("it was hashed again: %s", got)
	}
}
