package plan

// This file resolves the references in the texts of a plan that has parameters or outputs. In other plans they are
// plain text.
// In words the value stands in the place of the reference; commands get it as an environment variable.

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"wavex/internal/plan/reference"
	"wavex/internal/plan/source"
	"wavex/internal/textfmt"
)

// referenceText is a text of the plan that may have references.
type referenceText struct {
	at         source.Location
	path, text string
}

// noteReferences remembers a text, whose references are looked at when the whole plan is read.
func (d *decoder) noteReferences(at source.Location, text string) {
	if reference.Has(text) {
		d.referenceTexts = append(d.referenceTexts, referenceText{at, pathString(d.path), text})
	}
}

// referenceField matches the fields with references. Its groups tell the kinds: words, one line, a path, a command.
var referenceField = textfmt.Pattern(
	`^(?:defaults|tasks\[\d+\](?:\.steps\[\d+\])?)\.(?:` +
		`(description|prompt|appendSystemPrompt|criteria\[\d+\](?:\.text)?|(?:.*\.)?contains)|` +
		`(subject|activeForm|model)|` +
		`(dir|files\[\d+\](?:\.path)?|(?:criteria\[\d+\]\.)?(?:verify|check)(?:\[\d+\])?\.file)|` +
		`(command|foreach\.command|(?:criteria\[\d+\]\.)?(?:verify|check)(?:\[\d+\])?(?:\.run)?))$`)

// resolveReferences replaces the references of the plan, and reports those that are unknown or do not fit.
// It returns the resolver of the items of lists, or nil.
func (d *decoder) resolveReferences() *resolver {
	if len(d.referenceTexts) == 0 && len(d.foreach) == 0 || !d.readsReferences() {
		return nil
	}
	r := resolver{values: map[string]any{}, missing: map[string]bool{}, parsed: map[parseKey]parsed{},
		commands: map[parseKey]shellText{}}
	for _, p := range d.plan.Params {
		if r.values[p.Name] = nil; p.Value == nil {
			r.missing[p.Name] = true
			continue
		}
		v, err := decodeJSON(p.Value)
		if err != nil {
			return nil // reported by setParams
		}
		r.values[p.Name] = v
	}
	for _, t := range d.referenceTexts {
		if !d.full() {
			d.checkReferences(&r, t)
		}
	}
	for i, f := range d.foreach {
		d.checkForeach(i, f)
	}
	if d.errors > 0 {
		return nil
	}
	def := &d.plan.Defaults
	def.Model, def.AppendSystemPrompt = r.words(def.Model), r.words(def.AppendSystemPrompt)
	for i := range d.plan.Tasks {
		if d.foreach[i] == nil {
			r.task(&d.plan.Tasks[i])
		}
	}
	return &r
}

// checkReferences reports the mistakes in the references of one text.
func (d *decoder) checkReferences(r *resolver, t referenceText) {
	wrong := func(format string, args ...any) {
		d.add(t.at, SeverityError, CodeBadReference, t.path, format, args...)
	}
	r.inGroup = d.foreach[taskOf(t.path)] != nil
	defer func() { r.inGroup = false }()
	p, err := r.parse(t.text)
	if err != nil {
		wrong("%s", err)
		return
	}
	refs, ofItem, kind := p.Refs(), false, referenceField().FindStringSubmatch(t.path)
	if len(refs) == 0 {
		return
	}
	if kind == nil || strings.HasPrefix(t.path, "defaults.dir") {
		wrong("this field has no references; write the value itself, or $${ for the characters ${")
		return
	}
	sh := r.shellOf(d.taskAt(t.path), t, kind)
	if sh.err != nil {
		wrong("%s; values cannot be put into what is no command of a shell", sh.err)
		return
	}
	for _, ref := range refs {
		switch _, known := r.values[ref.Path[min(1, len(ref.Path)-1)].Name]; {
		case ref.Path[0].Name == "item" && (!r.inGroup || strings.HasSuffix(t.path, ".foreach.command")):
			wrong("the reference ${%s}: there is no item here; only a task with foreach has one", ref.Text)
			return
		case ref.Path[0].Name == "item":
			ofItem = true // looked at for each item
			continue
		case isLate(ref):
			if err := d.checkLate(ref, t.path); err != nil {
				wrong("%s", err)
				return
			}
			continue
		case !known:
			wrong("the reference ${%s}: the plan has no parameter %s%s", ref.Text, source.Quote(ref.Path[1].Name),
				suggestName(ref.Path[1].Name, paramNames(d.plan.Params)))
			return
		}
		value, err := r.value(ref)
		if err == nil && !r.isMissing(ref) {
			err = sh.fits(ref, value)
		}
		if err != nil {
			wrong("%s", err)
			return
		}
	}
	if run := VerifyCommand(t.text); strings.HasSuffix(t.path, ".description") && hasLate(run) {
		wrong("the check behind Verify cannot have values that come with the run; make it a command task")
		return
	}
	if !ofItem {
		d.checkExpanded(r, d.taskAt(t.path), t, kind)
	}
}

// taskAt returns the task or the step of a path in a diagnostic; nil: none.
func (d *decoder) taskAt(path string) *Task {
	i, tasks := taskOf(path), d.plan.Tasks
	if step := stepOf(path); step > 0 {
		i, tasks = step-1, d.steps[i]
	}
	if i < 0 || i >= len(tasks) {
		return nil
	}
	return &tasks[i]
}

// maxVariable bounds the value of an environment variable, in bytes. The kernel's limit is 128 KB.
const maxVariable = 96 << 10

// checkExpanded applies the rules of a field to its final text: that it is one line, or a path, or not empty.
func (d *decoder) checkExpanded(r *resolver, task *Task, t referenceText, kind []string) {
	path := d.path
	defer func() { d.path = path }()
	d.path = []step{{name: t.path, path: true}}
	var text string
	token := source.Token{Kind: source.KindString, Text: r.words(t.text), At: t.at}
	switch {
	case kind[2] != "":
		d.singleLine(&text, token)
	case kind[3] != "":
		d.relativePath(&text, token)
	case token.Text == "" && strings.HasSuffix(t.path, ".contains"):
		d.errorf(t.at, CodeBadValue, "%s is empty, and every file contains nothing; leave contains out to check "+
			"that the file exists", source.Quote(t.text))
	case strings.TrimSpace(token.Text) != "":
	case strings.Contains(t.path, ".criteria[") && kind[1] != "" && !strings.HasSuffix(t.path, ".contains"):
		d.errorf(t.at, CodeBadValue, "%s is empty; a criterion says what must be true", source.Quote(t.text))
	case strings.HasSuffix(t.path, ".prompt") && task != nil && task.Subject == "":
		d.errorf(t.at, CodeBadValue, "%s is empty, and the task has no subject; nothing says what the agent is to do",
			source.Quote(t.text))
	}
}

// resolver replaces references by values of parameters, and of an item.
type resolver struct {
	values   map[string]any  // by name
	missing  map[string]bool // they have no value in this reading, and their references stay
	inGroup  bool            // the current text is of a task with foreach
	item     any             // the current item
	late     Late            // of the current task
	parsed   map[parseKey]parsed
	commands map[parseKey]shellText
}

// parseKey is a text, and whether it is of a task with foreach.
type parseKey struct {
	text    string
	inGroup bool
}

type parsed struct {
	template *reference.Template
	err      error
}

// parse parses a text once: the texts of a task are used for each item of its list.
func (r *resolver) parse(text string) (*reference.Template, error) {
	key := parseKey{text, r.inGroup}
	p, known := r.parsed[key]
	if !known {
		if p.template, p.err = reference.Parse(text); r.inGroup {
			p.template, p.err = reference.ParseItem(text)
		}
		r.parsed[key] = p
	}
	return p.template, p.err
}

// value returns the text of a reference.
func (r *resolver) value(ref *reference.Ref) (string, error) {
	text, err := ref.Eval(map[string]any{"params": r.values, "item": r.item})
	if isLate(ref) || err != nil && r.isMissing(ref) {
		return "${" + ref.Text + "}", nil
	}
	return text, err
}

// isMissing reports whether a reference is to a parameter without a value.
func (r *resolver) isMissing(ref *reference.Ref) bool {
	return ref.Path[0].Name == "params" && r.missing[ref.Path[1].Name]
}

// words returns a text with the values in the place of the references.
func (r *resolver) words(text string) string {
	if !reference.Has(text) {
		return text
	}
	p, err := r.parse(text)
	if err != nil {
		return text // reported
	}
	out, err := p.Expand(r.value)
	if err != nil {
		return text // reported
	}
	return out
}

// command returns a command with variables in the place of the references, and adds these to env.
func (r *resolver) command(text string, env map[string]string) string {
	if !reference.Has(text) {
		return text
	}
	p, err := r.parse(text)
	if err != nil {
		return text // reported
	}
	sh := r.shell(text, p)
	for _, ref := range p.Refs() {
		value, err := r.value(ref)
		name := variable(ref)
		switch {
		case err != nil:
			return text // reported
		case isLate(ref):
			r.late.env[name] = ref
			r.late.numbers[name] = sh.numbers[name] || r.late.numbers[name]
		default:
			env[name] = value
		}
	}
	return sh.text
}

// shellOf returns the command in a text of a task or a step: the whole text, or the check that its description ends in.
func (r *resolver) shellOf(task *Task, t referenceText, kind []string) shellText {
	command := t.text
	if kind[4] == "" {
		command = VerifyCommand(t.text)
		if task == nil || t.text != task.Description || !slices.Contains(task.Verify, Check{Run: command}) {
			return shellText{}
		}
	}
	p, err := r.parse(command)
	if err != nil || p.Refs() == nil {
		return shellText{} // an error is reported
	}
	return r.shell(command, p)
}

// shell returns a command with variables in the place of the references, which p has.
func (r *resolver) shell(text string, p *reference.Template) shellText {
	key := parseKey{text, r.inGroup}
	sh, known := r.commands[key]
	if !known {
		names := map[string]bool{}
		out, _ := p.Expand(func(ref *reference.Ref) (string, error) { // no error of its own
			names[variable(ref)] = false
			return "${" + variable(ref) + "}", nil
		})
		sh = quoteVariables(out, names)
		r.commands[key] = sh
	}
	return sh
}

// variable returns the name of the environment variable of a reference.
func variable(ref *reference.Ref) string {
	if len(ref.Path) > 1 && ref.Text == "params."+ref.Path[1].Name {
		return "WAVEX_PARAM_" + ref.Path[1].Name
	}
	if ref.Text == "item" {
		return "WAVEX_ITEM"
	}
	if len(ref.Path) == 2 && ref.Text == "item."+ref.Path[1].Name && isParamName(ref.Path[1].Name) {
		return "WAVEX_ITEM_" + ref.Path[1].Name
	}
	sum := sha256.Sum256([]byte(ref.Text))
	return "WAVEX_VALUE_" + hex.EncodeToString(sum[:4])
}

func (r *resolver) task(t *Task) {
	r.late = Late{description: r.template(t.Description), prompt: r.template(t.Prompt), env: map[string]*reference.Ref{},
		numbers: map[string]bool{}}
	for _, text := range []*string{&t.Subject, &t.Description, &t.ActiveForm, &t.Prompt} {
		*text = r.words(*text)
	}
	if s := t.Settings; s != nil {
		s.Model, s.AppendSystemPrompt = r.words(s.Model), r.words(s.AppendSystemPrompt)
		s.Dir = r.path(s.Dir)
	}
	for i := range t.Files {
		t.Files[i].Path = r.path(t.Files[i].Path)
	}
	env := map[string]string{}
	t.Command = r.command(t.Command, env)
	for i := range t.Verify {
		r.check(&t.Verify[i], env)
	}
	for i := range t.Criteria {
		t.Criteria[i].Text = r.words(t.Criteria[i].Text)
		if c := t.Criteria[i].Check; c != nil {
			r.check(c, env)
		}
	}
	if len(env) > 0 {
		t.Env = env
	}
	r.late.item = t.Item()
	if l := r.late; l.description != nil || l.prompt != nil || len(l.env) > 0 {
		t.Late = &l
	}
}

// template returns a text without its references to parameters, or nil if it has no others.
func (r *resolver) template(text string) *reference.Template {
	p, err := r.parse(text)
	if err != nil || !slices.ContainsFunc(p.Refs(), isLate) {
		return nil
	}
	p, err = p.With(func(ref *reference.Ref) (string, bool, error) {
		value, err := r.value(ref)
		return value, !isLate(ref), err
	})
	if err != nil {
		return nil // reported
	}
	return p
}

// hasLate reports whether a text has references whose values come with the run.
func hasLate(text string) bool {
	p, err := reference.Parse(text)
	return err == nil && slices.ContainsFunc(p.Refs(), isLate)
}

func (r *resolver) path(text string) string {
	if out := r.words(text); out != text {
		return path.Clean(out)
	}
	return text
}

func (r *resolver) check(c *Check, all map[string]string) {
	env := map[string]string{}
	c.Run, c.File, c.Contains = r.command(c.Run, env), r.path(c.File), r.words(c.Contains)
	c.Env = encodeEnv(env)
	maps.Copy(all, env)
}

// encodeEnv returns variables as NAME=VALUE, sorted, separated by NUL, which no variable has.
func encodeEnv(env map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return strings.Join(list, "\x00")
}

// Environ returns the variables of the check's command, as NAME=VALUE.
func (c *Check) Environ() []string {
	if c.Env == "" {
		return nil
	}
	return strings.Split(c.Env, "\x00")
}

// shellText is a command with variables in the place of its references.
type shellText struct {
	text    string
	numbers map[string]bool // its variables; true: a shell takes it for a part of an expression
	err     error           // the command is not shell text
}

// fits reports a value that the command cannot get.
func (s shellText) fits(r *reference.Ref, value string) error {
	if number, used := s.numbers[variable(r)]; used {
		return fitsVariable(r, value, number)
	}
	return nil
}

// quoteVariables puts the variables that a command uses outside of quotes into double quotes, so that each stays one
// word of the command. Commands that are no POSIX shell text are read as bash does.
func quoteVariables(command string, names map[string]bool) shellText {
	out := shellText{text: command, numbers: names}
	at, err := unquoted(command, syntax.LangPOSIX, names)
	bash, bashErr := unquoted(command, syntax.LangBash, names) // /bin/sh may be bash, with its expressions
	if err != nil {
		at, out.err = bash, bashErr
	}
	for _, i := range slices.Backward(at) {
		out.text = out.text[:i] + `"` + out.text[i:]
	}
	return out
}

// unquoted returns the places around variables outside of quotes, ascending. It sets those in expressions to true.
func unquoted(command string, lang syntax.LangVariant, names map[string]bool) (at []int, err error) {
	f, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, err
	}
	type state struct{ quoted, expression bool }
	around := []state{{}} // of the nodes around, the innermost last
	syntax.Walk(f, func(node syntax.Node) bool {
		in := around[len(around)-1]
		switch n := node.(type) {
		case nil:
			around = around[:len(around)-1]
			return true
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
			in = state{true, true}
		case *syntax.BinaryTest:
			in.expression = n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr
		case *syntax.Assign:
			in.expression = n.Index != nil
		case *syntax.DblQuoted:
			in.quoted = true
		case *syntax.Redirect:
			in.quoted = in.quoted || n.Hdoc != nil
		case *syntax.CmdSubst, *syntax.ProcSubst: // its commands are not within the quotes around it
			in = state{}
		case *syntax.ParamExp:
			if n.Param != nil {
				number, ours := names[n.Param.Value]
				if ours && !in.quoted {
					at = append(at, int(n.Pos().Offset()), int(n.End().Offset()))
				}
				if ours {
					names[n.Param.Value] = number || in.expression
				}
			}
			in.expression = in.expression || n.Index != nil || n.Slice != nil
		}
		around = append(around, in)
		return true
	})
	slices.Sort(at)
	return at, nil
}
