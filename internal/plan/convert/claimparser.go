package convert

// This file converts unambiguous checks in words into checks that wavex can make: `X exists`, `X
// contains "Y"`, and commands. All other words become a criterion, which never passes by itself. In
// doubt, words stay words.

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

// maxClaim is the maximum length, in bytes, of words that are parsed.
const maxClaim = 1000

// taskFile is a file that a task leaves behind, or a file of the whole plan if task is nil.
type taskFile struct {
	task *importedTask
	path string
}

// claimParser holds the patterns, and the files that a basename may stand for: those that each task leaves behind, in
// the order of the plan and by basename, and those of the whole plan by basename, with the key nil.
type claimParser struct {
	exists, contains, denies, commanded, success, blanks *regexp.Regexp
	counts, refuses, searches                            *regexp.Regexp
	described                                            map[string]bool // words that only describe a quoted text
	own                                                  map[*importedTask][]string
	byBase                                               map[*importedTask]map[string][]string
	has                                                  map[taskFile]bool
}

func newClaimParser(f *importedPlan) *claimParser {
	const passed = `(?:passes|succeeds|works|exits? (?:with )?(?:code |status )?(?:0|zero)|returns (?:exit code )?0|exit code 0|(?:runs|completes|builds) (?:without|with no) (?:any )?errors?|has no errors?|is green)`
	c := &claimParser{
		exists: regexp.MustCompile(`(?is)^(.{1,300}?)\s+(?:exists|is created|is present)\b(.*)$`),
		contains: regexp.MustCompile(`(?is)^(.{1,300}?)\s+(contains?|includes?|has|have|mentions?|references?|defines?|` +
			`declares?|lists?|imports?|exports?)\s+(.+)$`),
		denies: regexp.MustCompile(`(?i)\b(?:not|no|never|none|nothing|neither|without|cannot|removed|absent|deleted|` +
			`missing|zero|fewer|less than|other than|instead|rather than|unlike|except)\b|n't\b|(?:^|\s)0(?:\s|$)`),
		blanks: regexp.MustCompile("\"[^\"\r\n]*\"|'[^'\r\n]*'|`[^`\r\n]*`|\\s+"),
		commanded: regexp.MustCompile(
			"(?is)^(run|running|execute|command)?([^`]{0,80}:\\**)?\\s*`([^`\\n]+)`\\s*(?:(?:→|->|=>|-|–|—|:|,)\\s*)?" +
				"(" + passed + ")?\\.?((?:\\s+(?:--|–|—)\\s|\\s+\\().*)?$"),
		// Commands that end well when the words after them say the contrary, and those that do not end or change more.
		counts: regexp.MustCompile(`(?is)\b(?:grep|rg|wc)\b.*\breturns? (?:0|zero)\b`),
		refuses: regexp.MustCompile(`(?i)\b(?:fail\w*|non-?zero|exits? (?:with )?(?:code )?[1-9]|expect\w*|should|start|` +
			`launch|open|manual\w*|before|after|output|if|not)\b`),
		searches:  regexp.MustCompile(`\b(?:grep|rg|test|wc|find|diff)\b`),
		success:   regexp.MustCompile(`(?is)^(.+?)\s+(?:(?:→|->|=>)\s*)?` + passed + `\.?$`),
		described: map[string]bool{},
		own:       map[*importedTask][]string{},
		byBase:    map[*importedTask]map[string][]string{},
		has:       map[taskFile]bool{},
	}
	for _, word := range strings.Fields("a an the and or both also text string word words phrase to of hook hooks type " +
		"shebang json yaml output reference section header heading title field key property attribute option flag setting " +
		"settings configuration config function method class command commands line comment block entry link import export " +
		"value variable constant name tag call called named titled") {
		c.described[word] = true
	}
	for _, t := range f.tasks {
		for _, file := range t.files {
			p := path.Clean(file.path.text)
			c.addFile(nil, p)
			if file.action != "read" && file.action != "delete" {
				c.own[t] = append(c.own[t], p)
				c.addFile(t, p)
			}
		}
	}
	return c
}

func (c *claimParser) addFile(t *importedTask, p string) {
	if c.has[taskFile{t, p}] {
		return
	}
	c.has[taskFile{t, p}] = true
	if c.byBase[t] == nil {
		c.byBase[t] = map[string][]string{}
	}
	c.byBase[t][path.Base(p)] = append(c.byBase[t][path.Base(p)], p)
}

func (f *importedPlan) convertClaim(c *claimParser, t *importedTask, claim claim) {
	text := c.oneLine(claim.text)
	at := claim.at
	// Other kinds say nothing beside the words.
	if !slices.Contains([]string{"", "file", "content", "manual", "grep", "console", "command"}, claim.kind) {
		t.section("Check ("+claim.kind+")", cmp.Or(text, claim.command))
	}
	if claim.command != "" {
		t.checks = append(t.checks, source.Object(at).Set("run", source.Text(claim.command, at)))
		switch {
		case text == "" || c.isSuccess(text):
		case claim.kind == "grep":
			// A match alone does not prove the statement.
			f.addManualCheck(t, phrase{text + " (as " + claim.command + " shows)", at})
		default:
			t.section("Check", claim.command+" ("+text+")")
		}
		return
	}
	if text == "" {
		f.Warn(at, plan.CodeNotCarried, "an empty check was left out")
		return
	}
	if claim.kind == "manual" || len(text) > maxClaim {
		f.addManualCheck(t, phrase{text, at})
		return
	}
	if run, more, ok := c.command(text, claim.kind); ok {
		if more {
			t.section("Check", text)
		}
		t.checks = append(t.checks, source.Object(at).Set("run", source.Text(run, at)))
		return
	}
	checks, whole := c.files(t, text, claim.kind, at)
	t.checks = append(t.checks, checks...)
	switch {
	case !whole:
		f.addManualCheck(t, phrase{text, at})
	case !c.isPlain(text):
		t.section("Check", text) // the words that only describe are for the agent
	}
}

// oneLine returns a text with single blanks between words. Blanks in quotes are part of a command or of
// the text of a file, and stay.
func (c *claimParser) oneLine(s string) string {
	return strings.TrimSpace(c.blanks.ReplaceAllStringFunc(s, func(part string) string {
		if strings.TrimSpace(part) == "" {
			return " "
		}
		return part
	}))
}

// isSuccess reports whether a text says no more than that a command succeeds.
func (c *claimParser) isSuccess(text string) bool {
	m := c.success.FindStringSubmatch("it " + text)
	return m != nil && (m[1] == "it" || m[1] == "it it")
}

// isPlain reports whether a check has all words of a text about a file.
func (c *claimParser) isPlain(text string) bool {
	m := c.contains.FindStringSubmatch(text)
	if m == nil {
		return true
	}
	_, around := splitQuoted(m[3])
	if strings.TrimRight(m[3], ".,;") == strings.TrimRight(around, ".,;") {
		around = "" // one word without quotes
	}
	words := strings.Fields(strings.NewReplacer(",", " ", ".", " ", ";", " ").Replace(strings.ToLower(around)))
	return !slices.ContainsFunc(words, func(w string) bool { return w != "and" && w != "or" }) &&
		slices.Contains([]string{"contain", "contains", "include", "includes", "has", "have"}, strings.ToLower(m[2]))
}

func (f *importedPlan) addManualCheck(t *importedTask, w phrase) {
	t.manual = append(t.manual, w)
	f.Warn(w.at, plan.CodeManualCheck, "task %s: %s is a check in words; it became a criterion that nothing passes by itself", source.Quote(t.id.text), source.Quote(w.text))
}

// condition returns a criterion of the plan, with a check if its words are one.
func (f *importedPlan) condition(c *claimParser, w phrase) *source.Node {
	text := c.oneLine(w.text)
	n := source.Object(w.at).Set("text", source.Text(text, w.at))
	if strings.HasPrefix(text, mustLook) {
		return w.observation()
	} else if len(text) > maxClaim {
		return n
	}
	if run, _, ok := c.command(text, ""); ok {
		return n.Set("check", source.Object(w.at).Set("run", source.Text(run, w.at)))
	}
	if checks, whole := c.files(nil, text, "", w.at); whole && len(checks) == 1 {
		return n.Set("check", checks[0])
	}
	return n
}

// files returns the statements about files in the words. whole reports whether the words contain
// nothing else.
func (c *claimParser) files(t *importedTask, text, kind string,
	at source.Location) (checks []*source.Node, whole bool) {
	if m := c.exists.FindStringSubmatch(text); m != nil {
		if file, ok := c.subject(t, m[1]); ok {
			rest := strings.Trim(m[2], " .")
			return []*source.Node{source.Object(at).Set("file", source.Text(file, at))}, rest == ""
		}
	}
	m := c.contains.FindStringSubmatch(text)
	if m == nil {
		return nil, false
	}
	file, ok := c.subject(t, m[1])
	if !ok {
		return nil, false
	}
	quoted, around := splitQuoted(m[3])
	if c.denies.MatchString(around) {
		return nil, false
	}
	// The words around quoted texts may say of what kind these are.
	words := strings.FieldsFunc(strings.ToLower(around), func(r rune) bool { return strings.ContainsRune(" \t,.;:()", r) })
	whole = !slices.ContainsFunc(words, func(w string) bool { return !c.described[w] })
	holds := func(field, value string) *source.Node {
		return source.Object(at).Set("file", source.Text(file, at)).Set(field, source.Text(value, at))
	}
	switch word := strings.TrimRight(m[3], ".,;"); {
	case len(quoted) == 0 && word != "" && !strings.ContainsAny(word, " \t\"`'"):
		return []*source.Node{holds("contains", word)}, true
	case len(quoted) == 0 && kind == "file":
		return []*source.Node{source.Object(at).Set("file", source.Text(file, at))}, false
	case len(quoted) == 0:
		return nil, false
	case len(quoted) > 1 && strings.Contains(" "+around+" ", " or "):
		if !whole || strings.Contains(" "+around+" ", " and ") {
			return nil, false
		}
		for i := range quoted {
			quoted[i] = regexp.QuoteMeta(quoted[i])
		}
		return []*source.Node{holds("matches", strings.Join(quoted, "|"))}, true
	case !whole:
		quoted = quoted[:1] // the others may belong to another statement
	}
	for _, q := range quoted {
		checks = append(checks, holds("contains", q))
	}
	return checks, whole
}

// splitQuoted returns the quoted parts of a text, in the kind of quotes that comes first, and the
// text around them.
func splitQuoted(s string) (quoted []string, around string) {
	i := strings.IndexAny(s, "\"`'")
	if i < 0 || s[i] == '\'' && i > 0 && s[i-1] != ' ' && s[i-1] != '(' {
		return nil, s
	}
	parts := strings.Split(s, s[i:i+1])
	if len(parts)%2 == 0 {
		return nil, s // not closed
	}
	for k, p := range parts {
		switch {
		case k%2 == 0:
			around += p
		case p != "":
			quoted = append(quoted, p)
		}
	}
	return quoted, around
}

// subject returns the file that the words name: a path, a basename among the files of the task or
// else of the plan, or a phrase like "the script" for the task's only file.
func (c *claimParser) subject(t *importedTask, s string) (string, bool) {
	fields := strings.Fields(s)
	if len(fields) > 1 && slices.Contains([]string{"the", "a", "this"}, strings.ToLower(fields[0])) {
		fields = fields[1:]
	}
	if len(fields) == 2 && slices.Contains([]string{"file", "script", "module", "document", "config"},
		strings.ToLower(fields[0])) {
		fields = fields[1:]
	}
	if len(fields) != 1 {
		return "", false
	}
	name := strings.TrimPrefix(strings.Trim(fields[0], "`\"'"), "./")
	switch strings.ToLower(name) {
	case "file", "script", "it", "module", "document", "config", "component", "hook", "command", "template":
		if own := c.own[t]; len(own) == 1 {
			return own[0], true
		}
		return "", false
	}
	if name == "" || strings.ContainsAny(name, "*?<>|:\\\"'(){}[]$") || strings.ContainsAny(name[:1], "/~") ||
		strings.Contains(name, "..") {
		return "", false
	}
	if t != nil && c.has[taskFile{t, name}] {
		return name, true
	}
	for _, in := range []*importedTask{t, nil} {
		var fit string
		for _, f := range c.byBase[in][path.Base(name)] {
			switch {
			case f != name && !strings.HasSuffix(f, "/"+name):
			case fit != "":
				return "", false // ambiguous
			default:
				fit = f
			}
		}
		if fit != "" {
			return fit, true
		}
	}
	dot := strings.LastIndexByte(name, '.')
	looksLikeFile := dot >= 0 && len(name)-dot > 1 && len(name)-dot <= 9
	return name, strings.Contains(name, "/") || t != nil && looksLikeFile
}

// command returns the command in the words: one in backticks, or words that begin with a common
// program and continue without prose. more reports whether the words say more than that it passes.
func (c *claimParser) command(text, kind string) (run string, more, ok bool) {
	if c.counts.MatchString(text) {
		return "", false, false
	}
	if m := c.commanded.FindStringSubmatch(text); m != nil {
		run, label, prose := strings.TrimSpace(m[3]), strings.Trim(m[2], ": "), strings.TrimSpace(m[5])
		more = label != "" || prose != ""
		ok = startsWithProgram(run) || label == "" && (m[1] != "" || m[4] != "")
		if more {
			ok = ok && !c.refuses.MatchString(label+" "+prose) &&
				!(c.searches.MatchString(run) && (c.denies.MatchString(prose) || strings.Contains(prose, "empty")))
		}
		return run, more, ok && !endless().MatchString(run) && !destroys().MatchString(run)
	}
	if kind == "content" || kind == "file" {
		return "", false, false
	}
	if m := c.success.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	if !startsWithProgram(text) || !isCheckCommand(text) && isEnglish(text) {
		return "", false, false
	}
	words := strings.Fields(text)
	for i, word := range words[1:] {
		if isOutcome(words, i+1) {
			return "", false, false
		}
		switch strings.ToLower(strings.Trim(word, ",.;")) {
		case "is", "are", "shows", "show", "should", "must", "outputs", "output", "returns", "prints", "produces", "displays",
			"works", "passes", "contains",
			"includes", "has", "have", "no", "not", "the", "and", "or", "a", "an", "with", "when", "without", "for", "to", "of",
			"that", "gives", "reports",
			"succeeds", "fails", "exits", "→", "->", "=>", "verify", "check", "then", "cleanly", "successfully":
			return "", false, false
		}
	}
	return text, false, true
}

// isEnglish reports whether a text that begins as a program is named goes on as a sentence: "go through the form".
func isEnglish(text string) bool {
	words := strings.Fields(text)
	switch words[0] {
	case "make":
		return len(words) > 1 &&
			slices.Contains([]string{"it", "sure", "the", "them", "this", "that", "every", "everything"}, words[1])
	case "go", "test", "ruby", "cat", "diff", "node", "ls", "swift", "bundle", "dart":
		return len(words) > 2 && !slices.ContainsFunc(words[1:], func(w string) bool {
			return strings.Trim(w, "abcdefghijklmnopqrstuvwxyz,") != "" && w != "--"
		})
	}
	return false
}

// isOutcome reports whether a word of a text, which begins with a program, tells how the command ends. It may be
// an argument instead: a target or script (make clean, npm run clean), or the value of an option before others.
func isOutcome(words []string, i int) bool {
	switch strings.ToLower(strings.Trim(words[i], ",.;")) {
	case "pass", "succeed", "runs", "clean", "empty", "ok", "green", "present":
	default:
		return false
	}
	switch before := words[i-1]; before {
	case "run":
		return false
	case "pytest", "tsc", "jest", "vitest":
		return true
	default:
		return i > 1 && words[0] != "make" && (!strings.HasPrefix(before, "-") || i == len(words)-1)
	}
}

// startsWithProgram reports whether a text begins with the name of a common program for checks.
func startsWithProgram(text string) bool {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return false
	}
	switch word := fields[0]; word {
	case "npm", "npx", "pnpm", "yarn", "bun", "deno", "node", "tsc", "eslint", "jest", "vitest", "go", "cargo", "python",
		"python3", "pytest", "ruff", "mypy",
		"make", "cmake", "mvn", "gradle", "dotnet", "git", "grep", "egrep", "rg", "bash", "sh", "test", "curl", "docker",
		"terraform", "kubectl", "ls", "cat", "jq", "uv", "uvx", "poetry", "php", "composer", "ruby", "bundle", "swift",
		"flutter", "dart", "xcodebuild", "diff":
		return len(fields) > 1 || word == "make" || word == "pytest" || word == "tsc" || word == "jest" || word == "vitest"
	default:
		return strings.HasPrefix(word, "./") && len(word) > 2
	}
}
