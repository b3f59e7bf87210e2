package lint

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"

	"wavex/e2e/rig"
)

// production returns the packages that the program consists of, by path, with their syntax and types: those of the root
// module, and with rig.Whole those of fleet, whose libraries take minutes to compile.
var production = sync.OnceValues(func() (map[string]*packages.Package, error) {
	dir := root
	if rig.Whole() {
		dir = "../../fleet"
	}
	all, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedFiles |
		packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo}, "wavex/...")
	ours := map[string]*packages.Package{}
	for _, p := range all {
		ours[p.PkgPath] = p
	}
	found := map[string]*packages.Package{}
	var add func(path string)
	add = func(path string) {
		if p := ours[path]; p != nil && found[path] == nil {
			found[path] = p
			for imported := range p.Imports {
				add(imported)
			}
		}
	}
	add("wavex/cmd/wavex")
	add("wavex/fleet/cmd/wavex")
	return found, err
})

// loadProduction returns the result of production. It fails the test if a package has errors.
func loadProduction(t *testing.T) map[string]*packages.Package {
	t.Helper()
	found, err := production()
	if err != nil || len(found) == 0 {
		t.Fatalf("loading the packages below cmd/wavex: %d found, %v", len(found), err)
	}
	for _, p := range found {
		for _, err := range p.Errors {
			t.Fatal(err)
		}
	}
	return found
}

// parseFileOrder returns the listed files of each package, from the top down.
func parseFileOrder(text string) map[string][]string {
	order := map[string][]string{}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		lines := slices.DeleteFunc(strings.Split(paragraph, "\n"),
			func(line string) bool { return strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") })
		if len(lines) > 0 {
			order[lines[0]] = strings.Fields(strings.Join(lines[1:], " "))
		}
	}
	return order
}

// arrow is one or more references from a file to package-level identifiers of another file.
type arrow struct{ from, to string }

// fileArrows returns the arrows between the files of p. Methods and fields are not counted: the reference to their
// type is. Files for other platforms are not read and have no arrows.
func fileArrows(p *packages.Package) map[arrow]bool {
	arrows := map[arrow]bool{}
	for id, object := range p.TypesInfo.Uses {
		if object.Parent() != p.Types.Scope() {
			continue
		}
		a := arrow{filepath.Base(p.Fset.Position(id.Pos()).Filename), filepath.Base(p.Fset.Position(object.Pos()).Filename)}
		if a.from != a.to {
			arrows[a] = true
		}
	}
	return arrows
}

// TestFileOrder holds that files refer to files below them: in each package, and in all packages together, fewer than
// a fifth of the arrows between files point up in the order of testdata/files.txt.
func TestFileOrder(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/files.txt")
	if err != nil {
		t.Fatal(err)
	}
	found, order := loadProduction(t), parseFileOrder(string(text))
	arrows, up := 0, 0
	for _, path := range slices.Sorted(maps.Keys(found)) {
		p, name := found[path], strings.TrimPrefix(path, "wavex/")
		place := map[string]int{}
		for i, file := range order[name] {
			if _, twice := place[file]; twice {
				t.Errorf("testdata/files.txt lists %s/%s twice: remove one", name, file)
			}
			place[file] = i
		}
		stale := maps.Clone(place)
		for _, file := range slices.Concat(p.GoFiles, p.IgnoredFiles) {
			file = filepath.Base(file)
			if _, listed := place[file]; !listed && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("testdata/files.txt lacks %s/%s: enter it above the files that it uses", name, file)
			}
			delete(stale, file)
		}
		for file := range stale {
			t.Errorf("testdata/files.txt lists %s/%s, which does not exist: remove it", name, file)
		}
		delete(order, name)
		var against []string
		all := fileArrows(p)
		for a := range all {
			if place[a.from] > place[a.to] {
				against = append(against, a.from+" -> "+a.to)
			}
		}
		arrows, up = arrows+len(all), up+len(against)
		t.Logf("%-28s %2d files, %3d arrows, %2d up", name, len(place), len(all), len(against))
		if len(against) > 0 && 5*len(against) >= len(all) {
			slices.Sort(against)
			t.Errorf("%s: a fifth or more of the arrows point up; move a declaration, or reorder testdata/files.txt:\n\t%s",
				name, strings.Join(against, "\n\t"))
		}
	}
	for name := range order {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil && !rig.Whole() {
			continue // of fleet, or used by it only
		}
		t.Errorf("testdata/files.txt lists %s, which is no package of the program: remove it", name)
	}
	t.Logf("all: %d arrows, %d up", arrows, up)
	if 5*up >= arrows {
		t.Errorf("%d of %d arrows point up, a fifth or more", up, arrows)
	}
}
