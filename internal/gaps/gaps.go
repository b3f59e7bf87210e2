// Package gaps finds what is missing in work that claims to be done: stubs, links and
// imports that lead nowhere, names that are not exported, files that nobody uses. It
// reads source text; it runs nothing, and knows neither plans nor runs.
//
// It looks at the files it is told to and reports what can be seen in them with few
// false alarms. What it does not understand it leaves to the project's own checks: no
// gap found is no proof.
package gaps

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The types of gaps (LEDGER S4-30). Any other type is treated as a plain one.
const (
	Orphan        = "orphan"         // a new file that nothing uses
	BrokenLink    = "broken_link"    // a reference to a file that is not there
	Stub          = "stub"           // a function that only says that it is not implemented
	MissingExport = "missing_export" // a name is imported that its file does not export
	WrongImport   = "wrong_import"   // an import path that leads nowhere
	CIFailure     = "ci_failure"     // a command that has to pass fails
	CheckFailure  = "check_failure"  // a file is not what it has to be
)

// Gap is one thing that is missing.
type Gap struct {
	Type        string `json:"type"`
	File        string `json:"file,omitempty"` // slash-separated, relative to the project
	Line        int    `json:"line,omitempty"` // from 1; 0: the whole file
	Task        string `json:"task,omitempty"` // whose check or file it is; "": the plan's, or nobody's
	Check       string `json:"check,omitempty"`
	Description string `json:"description"`
	Evidence    string `json:"evidence,omitempty"`
}

// Key tells gaps apart from one look to the next: lines move, outputs differ, and it does
// not matter how many tasks ask for the same.
func (g Gap) Key() string {
	return strings.Join([]string{g.Type, g.File, g.Check, g.Description}, "\x00")
}

// Strategy is how a gap of this kind is closed, in a sentence for whoever closes it.
func (g Gap) Strategy() string {
	switch g.Type {
	case Orphan:
		return "Import it and use it where it belongs; if nothing needs it, remove it."
	case BrokenLink:
		return "Correct the path in the reference, or make the file it names."
	case Stub:
		return "Implement what it is for; another stub does not close the gap."
	case MissingExport:
		return "Export the name where it is imported from, or import the name that is meant."
	case WrongImport:
		return "Correct the path of the import."
	case CIFailure:
		return "Find the cause of the failure and mend that; do not weaken the check."
	case CheckFailure:
		return "Make the file what the check asks for."
	}
	return "Close the gap."
}

// maxFiles bounds how much of a project is looked through for uses of a file.
const maxFiles = 20_000

// maxText bounds, in bytes, the files that are read.
const maxText = 1 << 20

// Scan looks at files of a project, slash-separated and relative to its root; created are
// those among them that are new, which alone can be orphans. A file that cannot be read
// or parsed gives no gap. The result is sorted.
func Scan(root fs.FS, files, created []string) []Gap {
	p := &project{root: root}
	var out []Gap
	for _, name := range slices.Compact(slices.Sorted(slices.Values(files))) {
		name = path.Clean(name)
		text, ok := p.read(name)
		if !ok {
			continue
		}
		isNew := slices.Contains(created, name)
		switch path.Ext(name) {
		case ".go":
			out = append(out, p.golang(name, text, isNew)...)
		case ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts":
			out = append(out, p.script(name, text, isNew)...)
		case ".md", ".markdown":
			out = append(out, p.markdown(name, text)...)
		}
	}
	slices.SortStableFunc(out, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Description, b.Description))
	})
	return slices.CompactFunc(out, func(a, b Gap) bool { return a.Key() == b.Key() })
}
