package cmd_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"wavex/internal/testrepo"
)

// The formula must name the archives as goreleaser does, and install from the folders in them.
func TestFormula(t *testing.T) {
	t.Parallel()
	read := func(path ...string) []byte {
		b, err := os.ReadFile(filepath.Join(append([]string{".."}, path...)...))
		testrepo.Must(t, err)
		return b
	}
	var release struct {
		Project string `yaml:"project_name"`
		Builds  []struct {
			OS   []string `yaml:"goos"`
			Arch []string `yaml:"goarch"`
		} `yaml:"builds"`
		Archives []struct {
			Formats  []string `yaml:"formats"`
			Template string   `yaml:"name_template"`
			Files    []struct {
				Dst string `yaml:"dst"`
			} `yaml:"files"`
		} `yaml:"archives"`
	}
	testrepo.Must(t, yaml.Unmarshal(read(".goreleaser.yaml"), &release))
	a := release.Archives[0]
	if a.Template != "" || !slices.Equal(a.Formats, []string{"tar.gz"}) {
		t.Fatalf("the archives have other names than the formula knows: %+v", a)
	}
	text := string(read("docs", "packaging", "wavex.rb.tmpl"))
	want := []string{"HOMEPAGE", "URL", "VERSION"}
	for _, system := range release.Builds[0].OS {
		for _, arch := range release.Builds[0].Arch {
			if system == "windows" {
				continue
			}
			want = append(want, "SHA256_"+strings.ToUpper(system+"_"+arch))
			if name := "/" + release.Project + "_{{ VERSION }}_" + system + "_" + arch +
				".tar.gz\""; !strings.Contains(text, name) {
				t.Errorf("the formula does not have %s", name)
			}
		}
	}
	var names []string
	for _, m := range regexp.MustCompile(`\{\{ (\w+) \}\}`).FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	slices.Sort(want)
	if names = slices.Compact(names); !slices.Equal(names, want) {
		t.Errorf("the formula asks for %v, want %v", names, want)
	}
	for _, f := range a.Files {
		if f.Dst != "" && !strings.Contains(text, `"`+f.Dst+"/") {
			t.Errorf("the formula installs nothing of %s", f.Dst)
		}
	}
}

// `make module` changes the path of the module everywhere, and may do so again.
func TestModulePath(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"git", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	files, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "-z").Output()
	if err != nil {
		t.Skip("not a checkout")
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(files), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("..", name))
		if errors.Is(err, fs.ErrNotExist) { // removed, not yet committed
			continue
		}
		to := filepath.Join(dir, name)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	run("git", "init", "-q")
	run("git", "add", "-A")
	for _, path := range []string{"example.org/some/wavex", "example.com/other"} {
		run("make", "-s", "module", "TO="+path)
		if got := strings.TrimSpace(run("go", "list", "-m")); got != path {
			t.Errorf("the module is %s, want %s", got, path)
		}
		run("go", "list", "-deps", "-test", "./...") // fails for an import of a package that is not there
		run("go", "list", "-C", "fleet", "-deps", "-test", "./...")
		for file, want := range map[string]string{"Dockerfile": "-X " + path + "/cmd.version=",
			".goreleaser.yaml": "-X " + path + "/cmd.version=", "README.md": "go install " + path + "/cmd/wavex@latest",
			"cmd/imports_test.go": `"` + path + `/"`} {
			if data, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(data), want) {
				t.Errorf("%s lacks %q (%v)", file, want, err)
			}
		}
	}
}
