package policy

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"wavex/internal/jsonobject"
)

// This file decides on calls by the rules of an attempt.

// New returns a Judge with the rules of an attempt. It reads the file system to follow symbolic links.
func New(r Rules) Judge {
	j := &judge{rules: r, root: spellings(r.Root), temp: spellings(r.Temp...), files: spellings(r.Files...),
		deny: parsePatterns(r.Deny), ask: parsePatterns(r.Ask), repeats: &repeats{r.Repeat, map[string]*recent{}}}
	for _, rule := range r.Allowed {
		if at := editable(rule, slashed(r.Dir), slashed(r.Home)); at != "" {
			j.files = append(j.files, spellings(at)...)
		}
	}
	for _, c := range r.Closed {
		z := zone{Closed: c, paths: spellings(c.Path)}
		z.In, z.Patterns, z.Except = folded(c.In)[0], folded(slices.Clone(c.Patterns)...), spellings(c.Except...)
		j.zones = append(j.zones, z)
	}
	return j
}

// judge is a Judge.
type judge struct {
	rules     Rules
	root      []string // the spellings of Rules.Root
	temp      []string // directories for temporary files
	files     []string // files that the task declares, or that a permission rule of the plan allows to edit
	zones     []zone
	deny, ask patterns
	repeats   *repeats
}

// zone is a closed path.
type zone struct {
	Closed
	paths []string // the spellings of Path
}

// Before decides on a call that has not run.
func (j *judge) Before(c Call) Decision { return j.repeats.before(c, j.decide(c)) }

// After gets the result of a call that Before let pass.
func (j *judge) After(c Call, r Result) { j.repeats.after(c, r) }

// decide decides on a call by itself.
func (j *judge) decide(c Call) (d Decision) {
	if p := j.deny.denyingTool(c.Tool); p != nil && !slices.Contains(j.rules.Allowed, c.Tool) {
		return denial("deny: "+p.text, c.Tool,
			"the plan denies the tool "+c.Tool+"; do the task without it, or say in your report why it needs it")
	}
	d.Act = Pass
	var asked []string
	if p := j.ask.denyingTool(c.Tool); p != nil {
		asked = append(asked, p.text)
	}
	switch {
	case slices.Contains(editingTools, c.Tool):
		d = j.edit(c)
	case RunsCommand(c.Tool):
		d, asked = j.command(jsonobject.Value(c.Input).Get("command").Text(), asked)
	}
	if d.Act == Pass && len(asked) > 0 {
		d = Decision{Act: Ask, Rule: asked[0], Target: Target(c), Others: strings.Join(asked[1:], "\n")}
	}
	return d
}

// editingTools are the tools that write the file in their input.
var editingTools = []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}

func denial(rule, target, reason string) Decision {
	return Decision{Act: Deny, Rule: rule, Target: target, Reason: reason}
}

// edit decides on a call of an editing tool.
func (j *judge) edit(c Call) Decision {
	to := cmp.Or(jsonobject.Value(c.Input).Get("file_path").Text(), jsonobject.Value(c.Input).Get("notebook_path").Text())
	if to == "" {
		return Decision{Act: Pass}
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(cmp.Or(c.Dir, j.rules.Dir), to)
	}
	all := spellings(to)
	name := j.name(slashed(to))
	for _, at := range all {
		if z := j.closed(at); z != nil {
			return denial(z.Rule, name, name+" must stay as it is: "+z.Why+
				"; do the task without changing it, or say in your report why it cannot be done so")
		}
	}
	if j.rules.Edits == EditsOff || j.rules.Edits == "" {
		return Decision{Act: Pass}
	}
	for _, at := range all {
		if !under(j.root, at) && !under(j.temp, at) && !under(j.files, at) {
			return denial("edits: "+j.rules.Edits, name, name+" is outside of "+j.rules.Root+
				"; write there, or in a temporary directory")
		}
	}
	isDeclared := func(at string) bool {
		return under(j.files, at) || under(j.temp, at) && !under(j.root, at)
	}
	if j.rules.Edits == EditsFiles && !slices.ContainsFunc(all, isDeclared) {
		var names []string
		for _, f := range j.rules.Files[:min(len(j.rules.Files), 20)] {
			names = append(names, j.name(slashed(f)))
		}
		return denial("edits: "+EditsFiles, name, name+" is not among the files that the task declares to write ("+
			cmp.Or(strings.Join(names, ", "), "it declares none")+"); change only those")
	}
	return Decision{Act: Pass}
}

// command decides on a command line, and adds the patterns of calls in it that a person decides on to asked.
func (j *judge) command(text string, asked []string) (Decision, []string) {
	d := Decision{Act: Pass}
	if slices.Contains(j.rules.Checks, strings.TrimSpace(text)) {
		return d, asked
	}
	for _, words := range commands(text) {
		p := j.deny.denying(words)
		if p != nil && d.Act == Pass &&
			!slices.ContainsFunc(j.rules.Allowed, func(rule string) bool { return allows(rule, words) }) {
			d = denial("deny: "+p.text, strings.ReplaceAll(strings.Join(words, " "), unknown, "…"),
				"the plan denies "+p.text+"; do the task without it, and say in your report if something needs it")
		}
		if p = j.ask.denying(words); p != nil && !slices.Contains(asked, p.text) {
			asked = append(asked, p.text)
		}
	}
	return d, asked
}

// name returns a path relative to the agent's directory if it is below it.
func (j *judge) name(at string) string {
	if rel, ok := strings.CutPrefix(at, slashed(j.rules.Dir)+"/"); ok {
		return rel
	}
	return at
}

// closed returns the closed path that a path is or is in, or nil.
func (j *judge) closed(at string) *Closed {
	for i := range j.zones {
		z := &j.zones[i]
		for _, dir := range z.paths {
			if under([]string{dir}, at) && z.closes(strings.TrimPrefix(at[len(dir):], "/")) &&
				!under(z.Except, at) {
				return &z.Closed
			}
		}
	}
	return nil
}

// closes reports whether it closes a path relative to Path.
func (c *Closed) closes(rel string) bool {
	if c.In == "" {
		return len(c.Patterns) == 0 || Matches(c.Patterns, rel)
	}
	for rest, found := "/"+rel, true; ; rest = "/" + rest {
		if _, rest, found = strings.Cut(rest, "/"+c.In+"/"); !found || Matches(c.Patterns, rest) {
			return found
		}
	}
}

// Matches reports whether one of the patterns, of path.Match, matches a slash-separated relative path or a folder that
// it is in. "." matches all of them, and so does a pattern that cannot be parsed.
func Matches(patterns []string, rel string) bool {
	for _, pattern := range patterns {
		for part := rel; part != "." && part != "/" && part != ""; part = path.Dir(part) {
			if ok, err := path.Match(pattern, part); err != nil || ok || pattern == "." {
				return true
			}
		}
	}
	return false
}

// foldsCase says that paths that differ in case are usually one file.
const foldsCase = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// folded changes a list of paths so that equal ones are the same file.
func folded(list ...string) []string {
	for i := range list {
		if foldsCase {
			list[i] = strings.ToLower(list[i])
		}
	}
	return list
}

// under reports whether a path is one of the directories or below one.
func under(dirs []string, at string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		return at == d || strings.HasPrefix(at, strings.TrimSuffix(d, "/")+"/")
	})
}

// slashed returns a path with slashes.
func slashed(at string) string { return path.Clean(filepath.ToSlash(at)) }

// spellings returns absolute paths, and those that differ without symbolic links.
func spellings(paths ...string) (out []string) {
	for _, at := range paths {
		out = append(out, slashed(at))
		if real := resolve(slashed(at)); real != slashed(at) {
			out = append(out, real)
		}
	}
	return folded(out...)
}

// resolve returns an absolute path without symbolic links. Its end may be missing.
func resolve(at string) string {
	rest := ""
	for range 255 { // as many links, and folders that are missing, are enough
		if real, err := filepath.EvalSymlinks(filepath.FromSlash(at)); err == nil {
			return path.Join(slashed(real), rest)
		}
		to, err := os.Readlink(filepath.FromSlash(at)) // to a missing file
		dir, base := path.Split(at)                    // uncleaned: behind a linked folder, .. is another one
		switch {
		case err != nil:
			at, rest = cmp.Or(strings.TrimRight(dir, "/"), "/"), path.Join(base, rest)
		case filepath.IsAbs(to):
			at = filepath.ToSlash(to)
		default:
			at = dir + filepath.ToSlash(to)
		}
	}
	return path.Join(at, rest)
}
