package gitwork

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/proc/proctest"
)

// Settings are read as git reads them.
func TestSettings(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	r.git("config", "Core.HooksPath", "first")
	r.git("config", "--add", "core.hookspath", "a b\nc=d")
	r.git("config", "filter.Some.Name.clean", "cat")
	config, err := os.OpenFile(r.dir+"/.git/config", os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = config.WriteString("[commit]\n\tgpgSign\n")
	must(t, errors.Join(err, config.Close()))
	all, err := newGit(r.dir, r.env).readSettings(t.Context())
	must(t, err)
	equal(t, "the last value", all.value("core.hookspath"), "a b\nc=d")
	equal(t, "a setting without value", fmt.Sprint(all["commit.gpgsign"]), "[true false]") // the last one is newGit's
	equal(t, "a missing one", all.value("core.missing"), "")
	equal(t, "a name with dots", all.matches("filter.Some.Name.", ""), true)
	equal(t, "another name", all.matches("filter.some.name.", ""), false)
	for value, want := range map[string]bool{"true": true, "Yes": true, "on": true, "1": true, "-1": true, "0": false,
		"false": false, "off": false, "": false} {
		equal(t, value, isTrue(value), want)
	}
}

// A git before 2.31, which does not know GIT_CONFIG_COUNT, has the settings of wavex, also after others are added.
func TestOwnSettings(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	r.git("config", "gc.auto", "1")
	g := newGit(r.dir, r.env).withoutHooks()
	g.program = filepath.Join(t.TempDir(), "git")
	proctest.Script(t, g.program, "#!/bin/sh\nunset GIT_CONFIG_COUNT\nexec git \"$@\"\n")
	all, err := g.readSettings(t.Context())
	must(t, err)
	equal(t, "gc.auto", all.value("gc.auto"), "0")
	equal(t, "core.hooksPath", all.value("core.hookspath"), os.DevNull)
}

// A folder without repository is known without git.
func TestHasRepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"sub/a": "1\n"})
	equal(t, "a folder of a checkout", HasRepository(r.dir+"/sub"), true)
	equal(t, "a folder beside it", HasRepository(t.TempDir()), false)
	bare := t.TempDir()
	r.gitIn(bare, "init", "-q", "--bare")
	equal(t, "a bare repository, which has no checkout", HasRepository(bare), false)
	// git passes by a folder that is not a repository, and finds the repository above.
	within := r.dir + "/sub/within"
	must(t, os.MkdirAll(within+"/.git", 0o755))
	equal(t, "an empty .git below a checkout", HasRepository(within), true)
	none := t.TempDir()
	for _, name := range []string{"empty/.git", "half/.git/objects", "half/.git/refs"} {
		must(t, os.MkdirAll(filepath.Join(none, name), 0o755))
	}
	for _, name := range []string{"empty", "half"} {
		dir := filepath.Join(none, name)
		equal(t, name, HasRepository(dir), false)
		equal(t, name+", as git says", newGit(dir, os.Environ()).run(t.Context(), "rev-parse") == nil, false)
	}
	file := filepath.Join(none, "file")
	must(t, os.MkdirAll(file, 0o755))
	must(t, os.WriteFile(filepath.Join(file, ".git"), nil, 0o644))
	equal(t, "a .git file, at which git stops", HasRepository(file), true)
}

// The filters of the session's start count, and a change that git would not take back is an error.
func TestFiltersOfTheStart(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"filter.up.clean":   "as it was",
		"filter.new.clean":  "",
		"filter.up.process": "error",
		"filter.q=y.clean":  "error",
	} {
		r := newRepo(t, files{"a": "1\n"})
		r.git("config", "filter.up.clean", "as it was")
		g := r.open(r.options("r1")).g
		then, err := g.readSettings(t.Context())
		must(t, err)
		r.git("config", setting, "evil")
		now, err := g.withFiltersOf(t.Context(), then)
		got := "error"
		if err == nil {
			all, err := now.readSettings(t.Context())
			must(t, err)
			got = all.value(setting)
		}
		equal(t, setting, got, want)
	}
}
