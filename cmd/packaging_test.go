package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// The formula must name the archives as goreleaser does, and install from the folders in them.
func TestFormula(t *testing.T) {
	t.Parallel()
	read := func(path ...string) []byte {
		b, err := os.ReadFile(filepath.Join(append([]string{".."}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
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
	if err := yaml.Unmarshal(read(".goreleaser.yaml"), &release); err != nil {
		t.Fatal(err)
	}
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
