package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const sizesHeader = "" +
	"# Ceilings of internal/lint for the whole repository. \"make ceilings\" lowers them to the current counts.\n" +
	"# A number is raised by hand only, with the reason in the commit message. A room is packages with a common\n" +
	"# budget of production lines: those of Go files that are no tests, blank lines and comments included.\n"

// sizes holds counts of the whole repository, or their ceilings, by name.
type sizes map[string]int

// rest is the room of the packages of internal that no other room names, and all the room of the root module.
const rest, all = "lines of other packages of internal", "lines of the root module"

// Counts of the root module: the lines of its tests, and the imports of its packages by each other.
const tests, imports = "lines of tests", "imports between packages"

// product names the directories whose packages are counted.
var product = []string{"cmd", "scheduler", "dag", "runner", "budget", "counsel", "internal"}

// parseSizes reads lines of a name and a number. A merge may leave two lines for one name; the lower number counts.
func parseSizes(text string) (sizes, error) {
	s := sizes{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		n, err := strconv.Atoi(line[at+1:])
		if at < 0 || err != nil || n < 0 {
			return nil, fmt.Errorf("sizes.txt: want a name and a number: %s", line)
		}
		name := strings.TrimSpace(line[:at])
		if other, twice := s[name]; twice {
			n = min(n, other)
		}
		s[name] = n
	}
	return s, nil
}

func (s sizes) String() string {
	var b strings.Builder
	b.WriteString(sizesHeader)
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%-62s %6d\n", name, s[name])
	}
	return b.String()
}

// check returns a line for each count over its ceiling or without one, and for each ceiling without a count.
func (s sizes) check(now sizes) []string {
	var wrong []string
	for name, n := range now {
		if most, listed := s[name]; !listed {
			wrong = append(wrong, fmt.Sprintf("%s: %d; sizes.txt has no ceiling for it", name, n))
		} else if n > most {
			wrong = append(wrong, fmt.Sprintf("%s: %d, ceiling %d: take something out", name, n, most))
		}
	}
	for name := range s {
		if _, counted := now[name]; !counted {
			wrong = append(wrong, name+": sizes.txt has a ceiling and nothing is counted; remove it")
		}
	}
	slices.Sort(wrong)
	return wrong
}

// lower returns the ceilings lowered to the counts.
func (s sizes) lower(now sizes) sizes {
	lowered := sizes{}
	for name, most := range s {
		if n, counted := now[name]; counted {
			lowered[name] = min(n, most)
		}
	}
	return lowered
}

// countLines counts the production lines of the rooms that s names, and the packages of the product. It leaves out
// fleet, a module of its own, which is counted as one room.
func (s sizes) countLines(root string, files []string) (sizes, error) {
	now, packages := sizes{"packages": 0, rest: 0, all: 0, tests: 0}, map[string]bool{}
	rooms := map[string]string{} // by package
	for name := range s {
		if list, ok := strings.CutPrefix(name, "lines of "); ok && name != rest && name != all && name != tests {
			now[name] = 0
			for _, of := range strings.Split(list, ", ") {
				rooms[of] = name
			}
		}
	}
	for _, file := range files {
		if !strings.HasSuffix(file, ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if os.IsNotExist(err) {
			continue // deleted, and the deletion is not committed
		}
		if err != nil {
			return nil, err
		}
		lines := bytes.Count(text, []byte("\n"))
		names := strings.SplitN(file, "/", 3)
		if strings.HasSuffix(file, "_test.go") {
			if names[0] != "fleet" {
				now[tests] += lines
			}
			continue
		}
		room, listed := rooms[names[0]]
		if names[0] == "internal" {
			room, listed = rooms[names[1]]
			if !listed {
				room, listed = rest, true
			}
		}
		if listed {
			now[room] += lines
		}
		if names[0] != "fleet" {
			now[all] += lines
		}
		if slices.Contains(product, names[0]) && !strings.Contains(file, "/testdata/") {
			packages[filepath.Dir(file)] = true
		}
	}
	now["packages"] = len(packages)
	return now, nil
}

// count adds the counts of everything but lines.
func (s sizes) count(t *testing.T, root string, files []string) {
	t.Helper()
	read := func(file string) []byte {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	_, help, _ := bytes.Cut(read("docs/cli.md"), []byte("\n## wavex run\n"))
	help, _, _ = bytes.Cut(help, []byte("\n## "))
	s["flags of run"] = len(regexp.MustCompile(`(?m)^ +(-\w, )?--\w`).FindAll(help, -1))
	s["keys of the schema of plans"] = countKeys(t, read("internal/plan/schema.json"), "properties")
	var events struct {
		OneOf []any `json:"oneOf"`
	}
	if err := json.Unmarshal(read("internal/event/events.schema.json"), &events); err != nil {
		t.Fatal(err)
	}
	s["types of events"] = len(events.OneOf)
	s["words of the documentation"] = 0
	for _, file := range files {
		if strings.HasPrefix(file, "docs/") && strings.HasSuffix(file, ".md") || file == "README.md" {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); err == nil {
				s["words of the documentation"] += len(bytes.Fields(read(file)))
			}
		}
	}
	s[imports] = 0
	all := loadProduction(t)
	s["files that switch over events"] = countSwitching(all)
	for _, p := range all {
		for path := range p.Imports {
			if strings.HasPrefix(path, "wavex/") && !strings.HasPrefix(p.PkgPath, "wavex/fleet") {
				s[imports]++
			}
		}
		if p.Name == "scheduler" {
			state := p.Types.Scope().Lookup("State").Type().Underlying().(*types.Struct)
			s["fields of scheduler.State, embedded ones included"] = countFields(state)
		}
	}
}

// countSwitching counts the files of the root module that tell events apart by their types: in a switch, an assertion
// or a type argument.
func countSwitching(all map[string]*packages.Package) int {
	body := all["wavex/internal/event"].Types.Scope().Lookup("Body").Type().Underlying().(*types.Interface)
	files := map[*ast.File]bool{}
	for path, p := range all {
		for _, file := range p.Syntax {
			for n := range ast.Preorder(file) {
				var named []ast.Expr
				switch n := n.(type) {
				case *ast.TypeAssertExpr:
					named = append(named, n.Type)
				case *ast.IndexExpr:
					named = append(named, n.Index)
				case *ast.CaseClause:
					named = n.List
				}
				for _, e := range named {
					of := p.TypesInfo.Types[e]
					if of.IsType() && types.Implements(of.Type, body) && !strings.HasPrefix(path, "wavex/fleet") &&
						strings.HasPrefix(of.Type.String(), "wavex/internal/event.") && !types.IsInterface(of.Type) {
						files[file] = true
					}
				}
			}
		}
	}
	return len(files)
}

// countKeys counts the members of all objects in a JSON text that are called name.
func countKeys(t *testing.T, text []byte, name string) int {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	n := 0
	var visit func(any)
	visit = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if of, ok := v[name].(map[string]any); ok {
				n += len(of)
			}
			for _, member := range v {
				visit(member)
			}
		case []any:
			for _, item := range v {
				visit(item)
			}
		}
	}
	visit(value)
	return n
}

// countFields counts the fields of a struct: of an embedded struct its fields, and not the struct.
func countFields(s *types.Struct) int {
	n := 0
	for field := range s.Fields() {
		of, isStruct := field.Type().Underlying().(*types.Struct)
		if field.Embedded() && isStruct {
			n += countFields(of)
		} else {
			n++
		}
	}
	return n
}

// TestSourceSizes holds that the repository does not grow.
func TestSourceSizes(t *testing.T) {
	t.Parallel()
	files, err := listFiles(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/sizes.txt")
	if err != nil {
		t.Fatal(err)
	}
	most, err := parseSizes(string(text))
	if err != nil {
		t.Fatal(err)
	}
	now, err := most.countLines(root, files)
	if err != nil {
		t.Fatal(err)
	}
	now.count(t, root, files)
	if *update {
		most = most.lower(now)
		if err := os.WriteFile("testdata/sizes.txt", []byte(most.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range most.check(now) {
		t.Error(line)
	}
}
