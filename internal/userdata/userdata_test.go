package userdata

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"wavex/internal/testrepo"
	"wavex/internal/usererr"
)

func TestMain(m *testing.M) { testrepo.Main(m) }

// The user's data is in the folder that the environment names, never in the current folder.
func TestDir(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, c := range []struct{ own, xdg, want string }{
		{filepath.Join(home, "own"), filepath.Join(home, "xdg"), filepath.Join(home, "own")},
		{"", filepath.Join(home, "xdg"), filepath.Join(home, "xdg", "wavex")},
		{"", "", filepath.Join(home, ".local", "share", "wavex")},
		{"", "data", filepath.Join(home, ".local", "share", "wavex")}, // the XDG specification: ignore a relative path
	} {
		t.Setenv(EnvVar, c.own)
		t.Setenv("XDG_DATA_HOME", c.xdg)
		if got := Dir(); got != c.want && (runtime.GOOS == "linux" || c.own != "") {
			t.Errorf("%q, %q: %s, want %s", c.own, c.xdg, got, c.want)
		}
	}
	t.Setenv(EnvVar, "")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("HOME", "")
	t.Setenv("USERPROFILE", "")
	if got := Dir(); got != "" {
		t.Errorf("without a home: %s", got)
	}
	if notes, err := Maxims(); err != nil || len(notes) != 0 {
		t.Errorf("without a home: %v, %v", notes, err)
	}
	if got := LearningFiles("/p"); len(got) != 1 {
		t.Errorf("without a home: %q", got)
	}
}

// The user's own rules come first, then the others by name; hidden files and folders are skipped.
func TestMaxims(t *testing.T) {
	root := t.TempDir()
	t.Setenv(EnvVar, root)
	if notes, err := Maxims(); err != nil || notes == nil || len(notes) != 0 {
		t.Errorf("without any: %v, %v", notes, err)
	}
	testrepo.Files{"maxims/b.md": "two", "maxims/custom.md": "mine", "maxims/a.md": "one", "maxims/.DS_Store": "x",
		"maxims/old/c.md": "three", "maxims/é.md": ""}.Write(t, root)
	testrepo.Files{"shared.md": "linked"}.Write(t, root)
	testrepo.Must(t, os.Symlink(filepath.Join(root, "shared.md"), filepath.Join(root, "maxims", "c.md")))
	notes, err := Maxims()
	var got []string
	for _, n := range notes {
		got = append(got, n.Title+" "+n.Text)
	}
	if want := "[maxims/custom.md mine maxims/a.md one maxims/b.md two maxims/c.md linked maxims/é.md ]"; err != nil ||
		fmt.Sprint(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// Maxims that exist and cannot be read prevent planning, and reading them never blocks.
func TestMaximsThatCannotBeRead(t *testing.T) {
	for name, lay := range map[string]func(t *testing.T, root string){
		"a file for the folder": func(t *testing.T, root string) { testrepo.Files{"maxims": "x"}.Write(t, root) },
		"a file for the root": func(t *testing.T, root string) {
			testrepo.Must(t, os.Remove(root))
			testrepo.Must(t, os.WriteFile(root, nil, 0o600))
		},
		"a link that dangles": func(t *testing.T, root string) {
			testrepo.Must(t, os.MkdirAll(filepath.Join(root, "maxims"), 0o755))
			testrepo.Must(t, os.Symlink("nowhere", filepath.Join(root, "maxims", "a.md")))
		},
		"a pipe": func(t *testing.T, root string) {
			testrepo.Must(t, os.MkdirAll(filepath.Join(root, "maxims", "x"), 0o755))
			testrepo.NamedPipe(t, filepath.Join(root, "maxims", "a.md"))
			if runtime.GOOS == "windows" {
				testrepo.Must(t, os.Symlink("nowhere", filepath.Join(root, "maxims", "a.md")))
			}
		},
		"very large": func(t *testing.T, root string) {
			testrepo.Files{"maxims/a.md": ""}.Write(t, root)
			testrepo.Must(t, os.Truncate(filepath.Join(root, "maxims", "a.md"), 1<<33)) // sparse
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			testrepo.Must(t, os.Mkdir(root, 0o755))
			t.Setenv(EnvVar, root)
			lay(t, root)
			var blocked *usererr.BlockedError
			if notes, err := Maxims(); notes != nil || !errors.As(err, &blocked) || !strings.Contains(err.Error(), "maxims") {
				t.Errorf("%v, %v", notes, err)
			}
		})
	}
}

// Learnings are the project's and the user's. Lines that cannot be read are counted; files that
// cannot be read are an error.
func TestLearnings(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	t.Setenv(EnvVar, root)
	var said []string
	say := func(text string) { said = append(said, text) }
	if all, err := Learnings(dir, say); err != nil || len(all) != 0 || said != nil {
		t.Errorf("without any: %v, %v", all, err)
	}
	const one, other = `{"kind":"failure","context":"here","failure":"f","prevention":"p"}`,
		`{"kind":"failure","context":"there","failure":"g","prevention":"q"}`
	files := LearningFiles(dir)
	if len(files) != 2 || filepath.Dir(files[0]) != ProjectDir(dir) || filepath.Dir(files[1]) != root {
		t.Fatalf("%q", files)
	}
	testrepo.Files{filepath.Base(files[0]): one + "\nnonsense\n\x00\n"}.Write(t, ProjectDir(dir))
	testrepo.Files{filepath.Base(files[1]): other + "\n"}.Write(t, root)
	all, err := Learnings(dir, say)
	if err != nil || len(all) != 2 || all[0].Context != "here" || all[1].Context != "there" {
		t.Errorf("%+v, %v", all, err)
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], files[0]+": 2 lines cannot be read") {
		t.Errorf("it says %q", said)
	}
	testrepo.Must(t, os.Remove(files[0]))
	testrepo.Must(t, os.Mkdir(files[0], 0o755))
	var blocked *usererr.BlockedError
	if all, err := Learnings(dir, say); all != nil || !errors.As(err, &blocked) {
		t.Errorf("%v, %v", all, err)
	}
}

// Trusted folders are kept one by one, whatever their names. A file of other content trusts nothing, and one that is no
// file is refused.
func TestTrustedFolders(t *testing.T) {
	root := filepath.Join(t.TempDir(), "new")
	t.Setenv(EnvVar, root)
	if got, err := Trusted().All(); err != nil || len(got) != 0 {
		t.Errorf("without any: %q, %v", got, err)
	}
	want := []string{"/a b", "/a\nb", `C:\é`}
	for _, folder := range want {
		testrepo.Must(t, Trusted().Add(folder))
	}
	text, err := os.ReadFile(string(Trusted()))
	testrepo.Must(t, err)
	testrepo.Must(t, os.WriteFile(string(Trusted()), append([]byte("/c\n\n\"/d\n"), text...), 0o600))
	if got, err := Trusted().All(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	testrepo.Must(t, os.Remove(string(Trusted())))
	testrepo.Must(t, os.Mkdir(string(Trusted()), 0o755))
	if _, err := Trusted().All(); err == nil {
		t.Error("a folder in place of the file was read")
	}
	if err := Trusted().Add("/a"); err == nil {
		t.Error("a folder in place of the file was written")
	}
}
