package policy

import (
	"path"
	"slices"
	"strings"
)

// Rules hold the policy of one attempt. They are plain data.
type Rules struct {
	Dir  string `json:"dir"`  // absolute; where the agent begins to work
	Root string `json:"root"` // absolute; the directory that Edits is about, Dir or one above it
	Home string `json:"home,omitempty"`
	// Temp are absolute directories beside Root that may be written.
	Temp  []string `json:"temp,omitempty"`
	Edits string   `json:"edits"`           // EditsOff, EditsWorktree or EditsFiles
	Files []string `json:"files,omitempty"` // absolute paths that the task declares to write

	Closed []Closed `json:"closed,omitempty"`
	Deny   []string `json:"deny,omitempty"` // see Pattern
	Ask    []string `json:"ask,omitempty"`  // the same; a person decides on these calls
	// Allowed are the permission rules of the plan. Those for commands win over Deny, those for editing tools over Edits.
	Allowed []string `json:"allowed,omitempty"`
	// Checks are command lines that Deny and Ask do not hit: the task's own checks.
	Checks []string `json:"checks,omitempty"`
	Repeat int      `json:"repeat,omitempty"` // equal calls in a row after which the next is denied; 0: any number
}

// Closed is a path that no editing tool may write, with all below it.
type Closed struct {
	Path string `json:"path"` // absolute
	// In, if not "", restricts it to directories of this name below Path, at any depth. Patterns are relative to them.
	In string `json:"in,omitempty"`
	// Patterns, if there are any, restrict it to the paths below Path that one of them matches, and those below
	// them: patterns of path.Match for slash-separated paths relative to Path.
	Patterns []string `json:"patterns,omitempty"`
	Except   []string `json:"except,omitempty"` // absolute paths below Path that are open
	Rule     string   `json:"rule"`             // Decision.Rule
	Why      string   `json:"why"`              // "the plan protects it"
}

// The values of Rules.Edits: where editing tools may write.
const (
	EditsOff      = "off"      // anywhere
	EditsWorktree = "worktree" // in Root and in Temp
	EditsFiles    = "files"    // the files that the task declares, and Temp
)

// DeniesPush reports whether the agent may run git push in no form, not even as a check.
func (r *Rules) DeniesPush() bool {
	return Denied(r.Deny, "git push") != "" && !slices.ContainsFunc(r.Allowed, allowsPush) &&
		!slices.ContainsFunc(r.Checks, func(check string) bool { return Denied([]string{"git push"}, check) != "" })
}

// allowsPush reports whether a permission rule allows git push in some form. A * may stand for several words.
func allowsPush(rule string) bool {
	list := commands(strings.ReplaceAll(ruleText(rule), "*", "* * *"))
	if len(list) != 1 {
		return false
	}
	c := splitCommand(list[0])
	isGit, _ := path.Match(path.Base(c.words[0]), "git")
	isPush, _ := path.Match(c.words[min(1, len(c.words)-1)], "push")
	return isGit && isPush
}

// editable returns the file or directory that a permission rule for an editing tool names, such as Edit(//etc/app/**),
// or "". dir and home are slash-separated.
func editable(rule, dir, home string) string {
	tool, at, _ := strings.Cut(rule, "(")
	at, ends := strings.CutSuffix(at, ")")
	if !ends || !slices.Contains(editingTools, tool) {
		return ""
	}
	if i := strings.IndexAny(at, "*?["); i >= 0 {
		at = at[:strings.LastIndex(at[:i], "/")+1]
	}
	switch {
	case strings.HasPrefix(at, "//"):
		return path.Clean(at)
	case strings.HasPrefix(at, "~/"):
		return path.Join(home, at[2:])
	}
	return path.Join(dir, at)
}
