package policy

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"wavex/internal/lazyregexp"
)

// This file decides on calls by the rules of an attempt.

// New returns a Judge with the rules of an attempt. It reads the file system to follow symbolic links.
func New(r Rules) Judge {
	j := &judge{rules: r, deny: parsePatterns(r.Deny), ask: parsePatterns(r.Ask), env: map[string]string{},
		repeats: newRepeats(r.Repeat)}
	j.root = slashed(r.Root)
	j.realRoot = resolve("/", strings.TrimPrefix(j.root, "/"), 0)
	if r.Home != "" {
		j.env["HOME"] = slashed(r.Home)
	}
	if len(r.Temp) > 0 {
		j.env["TMPDIR"] = slashed(r.Temp[0])
	}
	for _, dir := range r.Temp {
		j.temp = append(j.temp, spellings(dir)...)
	}
	j.open = append(j.temp, j.root, j.realRoot)
	for _, f := range r.Files {
		j.files = append(j.files, spellings(f)...)
	}
	for _, rule := range r.Allowed {
		if at := editable(rule, slashed(r.Dir), slashed(r.Home)); at != "" {
			j.files = append(j.files, spellings(at)...)
		}
	}
	for i := range r.Closed {
		c := &r.Closed[i]
		var except []string
		for _, e := range c.Except {
			except = append(except, spellings(e)...)
		}
		for _, at := range spellings(c.Path) {
			z := zone{closed: c, except: except, path: splitPath(at), in: c.In}
			for k, part := range z.path {
				z.path[k] = quoteMeta.Replace(part)
			}
			for _, p := range c.Patterns {
				if p != "." {
					z.below = append(z.below, strings.Split(p, "/"))
				}
			}
			if slices.Contains(c.Patterns, ".") {
				z.below = nil
			}
			j.zones = append(j.zones, z)
		}
	}
	return j
}

var quoteMeta = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// judge is a Judge.
type judge struct {
	rules          Rules
	root, realRoot string   // Rules.Root, and the same without symbolic links
	open           []string // directories that may be written
	temp           []string // those for temporary files
	files          []string // files that the task declares, or that a permission rule of the plan allows to edit
	zones          []zone
	deny, ask      patterns
	env            map[string]string
	repeats        *repeats
}

// zone is a closed path, in one of its spellings.
type zone struct {
	closed *Closed
	except []string
	path   []string   // patterns of path.Match
	in     string     // if not "", below is relative to directories of this name in path
	below  [][]string // the same, below path; nil: everything
}

// Before decides on a call that has not run.
func (j *judge) Before(c Call) Decision {
	d := j.decide(c)
	return j.repeats.before(c, d)
}

// After gets the result of a call that Before let pass.
func (j *judge) After(c Call, r Result) { j.repeats.after(c, r) }

// decide decides on a call by itself.
func (j *judge) decide(c Call) (d Decision) {
	if p := j.deny.denyingTool(c.Tool); p != nil && !slices.Contains(j.rules.Allowed, c.Tool) {
		return denial("deny: "+p.text, c.Tool,
			"the plan denies the tool "+c.Tool+"; do the task without it, or say in your report why it needs it")
	}
	dir := cmp.Or(c.Dir, j.rules.Dir)
	d.Act = Pass
	var asked []string
	if p := j.ask.denyingTool(c.Tool); p != nil {
		asked = append(asked, p.text)
	}
	switch {
	case slices.Contains(editingTools, c.Tool):
		d = j.edit(c, dir)
	case RunsCommand(c.Tool):
		var inCommand []string
		d, inCommand = j.command(gjson.GetBytes(c.Input, "command").Str, slashed(dir))
		asked = append(asked, inCommand...)
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
func (j *judge) edit(c Call, dir string) Decision {
	to := gjson.GetBytes(c.Input, "file_path").Str
	if c.Tool == "NotebookEdit" {
		to = gjson.GetBytes(c.Input, "notebook_path").Str
	}
	if to == "" {
		return Decision{Act: Pass}
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	d := j.write(slashed(to), false, false)
	if d.Act == Pass && j.rules.Edits == EditsFiles && !j.isDeclared(slashed(to)) {
		names := make([]string, len(j.rules.Files))
		for i, f := range j.rules.Files {
			names[i] = j.name(slashed(f))
		}
		list := "it declares none"
		if len(names) > 0 {
			list = strings.Join(names[:min(len(names), 20)], ", ")
		}
		return denial("edits: "+EditsFiles, j.name(slashed(to)), j.name(slashed(to))+
			" is not among the files that the task declares to write ("+list+"); change only those")
	}
	return d
}

// isDeclared reports whether the task declares a file, or if it is in a directory for temporary files.
func (j *judge) isDeclared(to string) bool {
	return slices.ContainsFunc(j.spellings(to), func(at string) bool {
		return under(j.files, at) || under(j.temp, at) && !under([]string{j.root, j.realRoot}, at)
	})
}

// command decides on a command line. asked are the patterns of calls in it that a person decides on.
func (j *judge) command(text, dir string) (d Decision, asked []string) {
	d.Act = Pass
	checked := slices.Contains(j.rules.Checks, strings.TrimSpace(text))
	lookAt(text, dir, j.env, func(e effect) {
		if d.Act != Pass {
			return
		}
		switch {
		case e.enter != never:
			d = j.enter(e)
		case e.path != "":
			d = j.write(e.path, e.tree, true)
		case e.code != "":
			d = j.code(e.code, e.dir)
		case !checked:
			d = j.simple(e.words)
			if p := j.ask.denying(e.words); p != nil && !slices.Contains(asked, p.text) {
				asked = append(asked, p.text)
			}
		}
	})
	return d, asked
}

// simple decides on a simple command.
func (j *judge) simple(words []string) Decision {
	p := j.deny.denying(words)
	if p == nil || slices.ContainsFunc(j.rules.Allowed, func(rule string) bool { return allows(rule, words) }) {
		return Decision{Act: Pass}
	}
	return denial("deny: "+p.text, strings.ReplaceAll(strings.Join(words, " "), unknown, "…"),
		"the plan denies "+p.text+"; do the task without it, and say in your report if something needs it")
}

// writingCode matches code that writes, deletes or renames files: a mode of open, or the name of a function.
var writingCode = lazyregexp.New(`open(Sync)?\((.{0,120},)?\s*(mode\s*=\s*)?['"](r\+|[wax]\+?)[bt]?\+?['"]|` +
	`['"]\+?>|\bwrite(_text|_bytes|File|FileSync)?\(|` +
	`File\.write|appendFile|createWriteStream|FileUtils|\bunlink|os\.remove|\brename|os\.replace|\bshutil\.|\btruncate|` +
	`symlink|\blink(Sync)?\(|\bmkdir|makedirs|\brm(Sync|tree|dir|_rf|_r)?\(|removedirs|copyFile|cpSync|` +
	`File\.delete|O_[A-Z]`)

// output matches code that writes to the terminal.
var output = lazyregexp.New(`(stdout|stderr)(\.buffer)?\.write`)

// reading matches code that reads the file that a string names.
var reading = lazyregexp.New(`(\bopen\(|\.readFile(Sync)?\(|\bFile\.(read|foreach|readlines)\(|\brequire\()` +
	inQuotes + `(\s*,\s*['"](r[bt]?|utf-?8)['"])?(\s*,\s*encoding\s*=\s*['"][\w-]+['"])?\s*\)|` +
	`\bPath\(` + inQuotes + `\)\.(read_text|read_bytes|exists|is_file|is_dir)\(`)

const inQuotes = `\s*("[^"\n]{1,300}"|'[^'\n]{1,300}')`

// quoted matches a string in code.
var quoted = lazyregexp.New(`"[^"\n]{1,300}"|'[^'\n]{1,300}'`)

// code decides on code of another language: if it writes files, the closed paths that it names count.
func (j *judge) code(text, dir string) Decision {
	if dir == "" || !writingCode().MatchString(output().ReplaceAllString(text, "")) {
		return Decision{Act: Pass}
	}
	for _, q := range quoted().FindAllString(reading().ReplaceAllString(text, "()"), 200) {
		if at := q[1 : len(q)-1]; !strings.ContainsAny(at, "*?[ \t\\") {
			if !path.IsAbs(at) {
				at = path.Join(dir, at)
			}
			if c := j.closed(path.Clean(at), false); c != nil {
				return j.isClosed(c, at)
			}
		}
	}
	return Decision{Act: Pass}
}

// write decides on a path that is written. tree means that all below it is too.
func (j *judge) write(to string, tree, byCommand bool) Decision {
	all := []string{path.Clean(to)}
	if !strings.ContainsAny(to, "*?["+unknown) {
		all = j.spellings(to)
	}
	for _, at := range all {
		if c := j.closed(at, tree); c != nil {
			return j.isClosed(c, to)
		}
	}
	if j.rules.Edits == EditsOff || j.rules.Edits == "" || strings.HasPrefix(to, "/dev/") && byCommand {
		return Decision{Act: Pass}
	}
	for _, at := range all {
		if !under(j.open, at) && !under(j.files, at) {
			return denial("edits: "+j.rules.Edits, to, strings.ReplaceAll(to, unknown, "…")+" is outside of "+j.rules.Root+
				"; write there, or in a temporary directory")
		}
	}
	return Decision{Act: Pass}
}

// enter decides on entries of unknown names that come into a directory. Only closed directories of a name count:
// ordinary copies go into the others.
func (j *judge) enter(e effect) Decision {
	dir, names := path.Split(e.path)
	for _, at := range j.spellings(path.Clean(dir)) {
		if e.enter == ifMissing && isDir(at) {
			continue
		}
		parts := splitPath(path.Join(at, names))
		for i := range j.zones {
			if z := &j.zones[i]; z.in != "" && z.holdsIn(parts, false) && !under(z.except, at) {
				return j.isClosed(z.closed, path.Clean(dir))
			}
		}
	}
	return Decision{Act: Pass}
}

// isDir reports whether a path is a directory, or a link to one.
func isDir(at string) bool {
	info, err := os.Stat(filepath.FromSlash(at))
	return err == nil && info.IsDir()
}

// isClosed returns the decision on a call that writes a closed path.
func (j *judge) isClosed(c *Closed, to string) Decision {
	to = strings.ReplaceAll(j.name(to), unknown, "…")
	return denial(c.Rule, to, to+" must stay as it is: "+c.Why+
		"; do the task without changing it, or say in your report why it cannot be done so")
}

// name returns a path relative to the agent's directory if it is below it.
func (j *judge) name(at string) string {
	if rel, ok := strings.CutPrefix(at, slashed(j.rules.Dir)+"/"); ok {
		return rel
	}
	return at
}

// closed returns the closed path that a path is or is in, or which it holds if tree is set; nil: none.
func (j *judge) closed(at string, tree bool) *Closed {
	parts := splitPath(at)
	for i := range j.zones {
		if z := &j.zones[i]; z.holds(parts, tree) && !under(z.except, at) {
			return z.closed
		}
	}
	return nil
}

// holds reports whether a path is in the zone, or the zone in the path if tree is set.
func (z *zone) holds(parts []string, tree bool) bool {
	if z.in != "" {
		return z.holdsIn(parts, tree)
	}
	if len(z.below) == 0 {
		return overlap(z.path, parts, tree)
	}
	if len(parts) <= len(z.path) && !tree || !overlap(z.path, parts, tree) {
		return false
	}
	rest := parts[min(len(parts), len(z.path)):]
	return slices.ContainsFunc(z.below, func(p []string) bool { return overlap(p, rest, tree) })
}

// holdsIn is holds for the directories of a name. Of a path that holds such a directory, nothing tells it.
func (z *zone) holdsIn(parts []string, tree bool) bool {
	if len(parts) <= len(z.path) || !overlap(z.path, parts, false) {
		return false
	}
	for i := len(z.path); i < len(parts); i++ {
		if overlap([]string{z.in}, parts[i:i+1], false) &&
			slices.ContainsFunc(z.below, func(p []string) bool { return overlap(p, parts[i+1:], tree) }) {
			return true
		}
	}
	return false
}

// overlap reports whether a path is in a closed one, or the closed one in it if tree is set.
func overlap(closed, parts []string, tree bool) bool {
	if len(parts) < len(closed) && !tree {
		return false
	}
	for i := range min(len(closed), len(parts)) {
		c, p := closed[i], parts[i]
		if foldsCase {
			c, p = strings.ToLower(c), strings.ToLower(p)
		}
		if c == p {
			continue
		}
		if !strings.ContainsAny(c, `*?[\`) && !strings.ContainsAny(p, "*?[") {
			return false
		}
		is, err := path.Match(c, p)
		if err != nil && strings.ContainsAny(c, "*?[") {
			is = true // a pattern that cannot be parsed closes everything
		}
		if !is && strings.ContainsAny(p, "*?[") && !(strings.HasPrefix(c, ".") && !strings.HasPrefix(p, ".")) {
			is, _ = path.Match(p, c) // a pattern that cannot be parsed matches nothing
		}
		if !is {
			return false
		}
	}
	return true
}

// foldsCase says that paths that differ in case are usually one file.
const foldsCase = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

func splitPath(at string) []string {
	return strings.FieldsFunc(at, func(r rune) bool { return r == '/' })
}

// under reports whether a path is one of the directories or below one.
func under(dirs []string, at string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		return at == d || strings.HasPrefix(at, strings.TrimSuffix(d, "/")+"/")
	})
}

// slashed returns a path with slashes.
func slashed(at string) string { return path.Clean(filepath.ToSlash(at)) }

// spellings returns an absolute path, and the same without symbolic links if that differs.
func spellings(at string) []string {
	at = slashed(at)
	return compact(at, resolve("/", strings.TrimPrefix(at, "/"), 0))
}

// spellings is like the function, but quick for paths below Root.
func (j *judge) spellings(at string) []string {
	if rel, ok := strings.CutPrefix(at, j.root+"/"); ok {
		return compact(at, resolve(j.realRoot, rel, 0))
	}
	return spellings(at)
}

func compact(at, real string) []string {
	if real == at {
		return []string{at}
	}
	return []string{at, real}
}

// maxLinks bounds the symbolic links in one path.
const maxLinks = 40

// resolve returns the path rel in dir, which has no symbolic link, without symbolic links. Its end may be missing.
func resolve(dir, rel string, links int) string {
	for rel != "" {
		part, rest, _ := strings.Cut(rel, "/")
		next := path.Join(dir, part)
		to, err := os.Readlink(filepath.FromSlash(next))
		switch {
		case errors.Is(err, fs.ErrNotExist) || links >= maxLinks:
			return path.Join(next, rest)
		case err == nil && filepath.IsAbs(to):
			to = slashed(to)
			return resolve("/", strings.TrimPrefix(path.Join(to, rest), "/"), links+1)
		case err == nil:
			return resolve("/", strings.TrimPrefix(path.Join(dir, filepath.ToSlash(to), rest), "/"), links+1)
		}
		dir, rel = next, rest
	}
	return dir
}
