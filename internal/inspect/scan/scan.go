// Package scan finds missing parts in work that claims to be done: stubs, links without a target,
// unused files. It reads source text; it runs nothing, and knows neither plans nor runs.
//
// It looks only at the given files and prefers missed gaps to false alarms. It leaves the code
// that it does not understand to the project's own checks: an empty result proves nothing.
package scan

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The types of gaps. Any other type is treated as a plain one. Files finds no gaps in exports and
// imports; compilers do, and documents of other tools have them.
const (
	Orphan        = "orphan"         // a new file without users
	BrokenLink    = "broken_link"    // a reference to a missing file
	Stub          = "stub"           // a function that only reports that it is not implemented
	MissingExport = "missing_export" // an imported name that the file does not export
	WrongImport   = "wrong_import"   // an import path without a target
	CIFailure     = "ci_failure"     // a command that must pass fails
	CheckFailure  = "check_failure"  // a file fails a check of its content
)

// Gap is one missing part.
type Gap struct {
	Type        string   `json:"type"`
	File        string   `json:"file,omitempty"`  // slash-separated, relative to the project
	Line        int      `json:"line,omitempty"`  // from 1; 0 means the whole file
	Task        string   `json:"task,omitempty"`  // the owner of the check or file; "" for the plan or no task
	Tasks       []string `json:"tasks,omitempty"` // all owners, if there are several; Task is the first
	Check       string   `json:"check,omitempty"`
	Description string   `json:"description"`
	Evidence    string   `json:"evidence,omitempty"`
}

// Key identifies a gap across verifications. It leaves out lines and outputs, which change, and
// the number of tasks that ask for the same.
func (g Gap) Key() string {
	return strings.Join([]string{g.Type, g.File, g.Check, g.Description}, "\x00")
}

// Strategy returns a sentence that says how to close a gap of this kind.
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

// maxFiles bounds the files of a project that are searched for uses of a file.
const maxFiles = 20_000

// maxText bounds the size of the files that are read, in bytes.
const maxText = 1 << 20

// Files looks at files of a project, slash-separated and relative to its root. created are the new
// ones among them; only these can be orphans. A file that cannot be read or parsed yields no gap.
// The result is sorted. Files in notUsers, such as the plan, name files without using them.
func Files(root fs.FS, files, created []string, notUsers ...string) []Gap {
	p := &project{root: root, notUsers: notUsers, searched: map[string]bool{}}
	var out []Gap
	for _, name := range slices.Compact(slices.Sorted(slices.Values(files))) {
		name = path.Clean(name)
		text, ok := p.read(name)
		if !ok {
			continue
		}
		switch path.Ext(name) {
		case ".md", ".markdown":
			out = append(out, p.scanMarkdown(name, text)...)
		default:
			out = append(out, p.scanCode(name, text, slices.Contains(created, name))...)
		}
	}
	slices.SortStableFunc(out, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.Description, b.Description))
	})
	return slices.CompactFunc(out, func(a, b Gap) bool { return a.Key() == b.Key() })
}
