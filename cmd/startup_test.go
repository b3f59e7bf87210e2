package cmd_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

// heavy lists packages whose init would delay every command, each with its replacement.
var heavy = map[string]string{
	"github.com/santhosh-tekuri/jsonschema/v6": "it reads its metaschemas before main, 3 ms; take github.com/google/jsonschema-go",
	"github.com/spf13/cobra/doc":               "it brings a Markdown parser, 0.3 ms; cmd/manpages is a program of its own",
}

// Work before main delays every command, including hooks that a session waits for. So heavy
// packages must not be linked, and a package must compile a pattern on its first use.
func TestNothingHeavyBeforeMain(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles", "wavex/cmd/wavex").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	ours, linked := 0, map[string]bool{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		linked[p.ImportPath] = true
		if why := heavy[p.ImportPath]; why != "" {
			t.Errorf("wavex has %s in it: %s", p.ImportPath, why)
		}
		if !strings.HasPrefix(p.ImportPath, "wavex/") {
			continue
		}
		ours++
		for _, name := range p.GoFiles {
			noPatterns(t, filepath.Join(p.Dir, name))
		}
	}
	if ours < 20 {
		t.Errorf("only %d packages of ours were looked at", ours)
	}
	littleHeapBeforeMain(t, linked)
}

// maxHeapBeforeMain bounds the bytes that linked packages allocate before main: 2.3 MB, half of it for messages of
// Temporal. Together with the bytes of main they must stay below 3.4 MB, where the first garbage collection begins. A
// collection takes as long as all packages before main.
const maxHeapBeforeMain = 2_600_000

// littleHeapBeforeMain starts this program as wavex, and adds up the allocations of the packages that wavex links.
func littleHeapBeforeMain(t *testing.T, linked map[string]bool) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "version")
	c.Args[0], c.Env = "wavex", append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("wavex version: %v\n%s", err, out)
	}
	total, packages := 0, 0
	for line := range strings.Lines(string(out)) {
		var name, unit string
		var at, took float64
		var bytes int
		_, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d %s", &name, &at, &took, &bytes, &unit)
		if err == nil && linked[name] {
			packages++
			total += bytes
		}
	}
	t.Logf("%d packages allocate %d bytes before main", packages, total)
	if total > maxHeapBeforeMain || packages < 100 {
		t.Errorf("%d packages allocate %d bytes before main, of at most %d", packages, total, maxHeapBeforeMain)
	}
}

// noPatterns finds package variables that compile a pattern. A pattern inside a function is
// compiled only when the function runs.
func noPatterns(t *testing.T, path string) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	testrepo.Must(t, err)
	for _, decl := range f.Decls {
		vars, ok := decl.(*ast.GenDecl)
		if !ok || vars.Tok != token.VAR {
			continue
		}
		ast.Inspect(vars, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "regexp" && sel.Sel.Name == "MustCompile" {
					t.Errorf("%s: a pattern is compiled before main; take textfmt.Pattern", files.Position(sel.Pos()))
				}
			}
			_, inside := n.(*ast.FuncLit)
			return !inside
		})
	}
}
