package wall

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"wavex/internal/userfiles"
)

// Behind the wall a program neither outlives the run nor reaches the user's files: files that exist are closed, and
// those that it makes are removed. Each way lands without the wall (cmd/testdata/script/outlives.txtar).
func TestOutlives(t *testing.T) {
	t.Parallel()
	script, err := txtar.ParseFile("../../cmd/testdata/script/outlives.txtar")
	must(t, err)
	dir, ways := t.TempDir(), []string(nil)
	for _, f := range script.Files {
		must(t, os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600))
		if f.Name == "ways.txt" {
			ways = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
		}
	}
	if len(ways) < 40 {
		t.Fatalf("%d ways", len(ways))
	}
	for part := range slices.Chunk(ways, 6) {
		t.Run(part[0], func(t *testing.T) {
			t.Parallel()
			for _, way := range part {
				tryWay(t, dir, way)
			}
		})
	}
}

// tryWay tries a way behind the wall, in a home directory that a script makes.
func tryWay(t *testing.T, scripts, way string) {
	root := t.TempDir()
	home, project := filepath.Join(root, "home"), filepath.Join(root, "project")
	must(t, errors.Join(os.Mkdir(home, 0o700), os.Mkdir(project, 0o700)))
	env := []string{"HOME=" + home, "PATH=" + home + "/bin:" + os.Getenv("PATH"), "XDG_CONFIG_HOME=", "GOENV="}
	run := func(command string, wrapper ...string) string {
		return sh(t, wrapper, project, "export '"+strings.Join(env, "' '")+"'; "+command)
	}
	run("sh " + scripts + "/home.sh")
	before := run("sh " + scripts + "/state.sh ~")
	g := userfiles.New(env, project, filepath.Join(root, "kept"), true, func(err error) { t.Error(err) })
	g.Changes(0, 1)
	said := run(way, wall0.With(nil, userfiles.Paths(env, project)).Wrapper(nil, project)...)
	told := g.Changes(0, -1)
	if after := run("sh " + scripts + "/state.sh ~"); after != before || !strings.Contains(before, ".gitconfig") {
		t.Errorf("%s landed:\n%s\nwas\n%s\nit said %s\ntold %v", way, after, before, said, told)
	}
	for _, c := range told {
		if strings.Contains(before, strings.TrimPrefix(c.Path, "~")+"\n") && !strings.HasPrefix(c.Path, "~/.zshenv") {
			t.Errorf("%s: the wall did not close %s", way, c)
		}
	}
}
