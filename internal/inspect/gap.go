package inspect

import "strings"

// The types of gaps. Any other type is treated as a plain one. wavex finds links and failures by itself; documents of
// other tools have the rest.
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
