// Package convert reads plans of other tools, and issues of GitHub, as wavex plans. It starts nothing and knows
// nothing of runs.
package convert

// This file calls the importer of a plan's form. The decoder reads the importer's output like any
// plan, with positions in the foreign file. detectform.go recognises the forms; the importers know their
// meaning.

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"path/filepath"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

// Load reads a plan file of any form. opts is as for plan.Parse, but Dir is the plan's own folder. All
// mistakes are diagnostics, in the order of the file; the plan is nil if one of them is an error. The
// error is that of plan.ReadFile.
func Load(path string, opts plan.Options) (*plan.Plan, []plan.Diagnostic, error) {
	src, digest, err := plan.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	opts.Dir = PromptDir(path)
	p, ds := detect(path, src, opts).read(digest)
	if p != nil {
		p.Path = path
	}
	return p, ds, nil
}

// Import returns a plan file as a native plan in indented JSON, and its form. A native JSON file is
// returned unchanged, YAML as JSON. The bytes are nil if a diagnostic is an error; warnings name
// the parts that are not carried over. "@file" prompts keep their names.
func Import(name string, data []byte, opts plan.Options) ([]byte, Form, []plan.Diagnostic) {
	o := detect(name, string(data), opts)
	var root *source.Node
	if tree, ok := o.tokens.(*source.Tree); ok {
		root = tree.Root // reading consumes it
	}
	p, ds := o.read(sha256.Sum256(data))
	switch {
	case p == nil:
		return nil, o.form, ds
	case root == nil:
		return indented([]byte(o.src)), o.form, ds
	}
	for _, t := range root.Get("tasks").Elements() {
		if id := t.Get("id"); id != nil && id.Kind == source.KindNumber {
			id.Kind = source.KindString // JSON has no 007
		}
	}
	return indented(root.AppendJSON(nil)), o.form, ds
}

func indented(data []byte) []byte {
	out, err := json.MarshalIndent(json.RawMessage(data), "", "  ")
	if err != nil { // cannot happen: it was parsed before
		return data
	}
	return append(out, '\n')
}

// planFile is a file whose form is known.
type planFile struct {
	name, src   string
	opts        plan.Options
	form        Form
	tokens      source.Tokens
	diagnostics plan.DiagnosticList
}

func (o planFile) read(digest [sha256.Size]byte) (*plan.Plan, []plan.Diagnostic) {
	return plan.Read(o.name, o.src, o.tokens, o.diagnostics, digest, o.opts)
}

// detect recognises the form and chooses the source of the plan.
func detect(name, src string, opts plan.Options) planFile {
	src = strings.TrimPrefix(src, "\ufeff")
	o := planFile{name: name, src: src, opts: opts}
	if form := detectMarkdown(name, src); form != "" {
		o.markdown(form)
		return o
	}
	if plan.IsYAML(name, src) {
		s := source.NewYAML(src)
		o.form, o.tokens = FormYAML, s
		if s.Failure != nil || len(src) > maxImport {
			return o
		}
		o.data(func() source.Tokens {
			unread := *s
			return &unread
		})
		return o
	}
	o.form, o.tokens = FormJSON, source.NewJSON(src)
	o.data(func() source.Tokens { return source.NewJSON(src) })
	return o
}

// data refuses the pipeline of another runner, and imports the plan of another tool, in JSON or YAML. unread returns a
// source at its start.
func (o *planFile) data(unread func() source.Tokens) {
	name, at := "", source.Location(0)
	if len(o.src) <= maxImport {
		name, at = markedName(unread())
	}
	if name != "" && name != string(FormSteps) {
		o.tokens = &source.Tree{Position: unread().Pos, Failure: &source.Problem{At: at, Code: plan.CodeSyntax,
			Message: "this is " + name + ", which wavex does not run; " +
				`make a plan whose tasks name its commands as "command" or "verify"`}}
		return
	}
	if form := detectForm(unread(), Form(name)); form != "" {
		o.tree(form, unread())
	}
}

// tree imports a plan whose format is JSON or YAML.
func (o *planFile) tree(form Form, s source.Tokens) {
	size := source.MaxNodes
	first := s.Next()
	root := source.ReadTree(s, first, &size)
	if form == FormBeads {
		root = readLines(s, root, &size)
	}
	if root != nil {
		s.Finish()
	}
	wrong := s.Problem()
	if wrong == nil && (root == nil || size < 0) {
		wrong = &source.Problem{At: first.At, Code: plan.CodeTooLarge,
			Message: "too many values for a plan that has to be imported"}
	}
	o.form = form
	if wrong != nil {
		o.tokens = &source.Tree{Position: s.Pos, Failure: wrong}
		return
	}
	f := &importedPlan{DiagnosticList: &o.diagnostics, form: string(form), lenient: o.opts.Lenient, at: root.At}
	f.refuseTwice(root)
	switch form {
	case FormPhaseDoc:
		f.readPhaseDoc(root)
	case FormStories:
		f.readStories(root)
	case FormSteps:
		f.readSteps(root)
	case FormTaskMaster:
		f.readTaskMaster(root)
	case FormBeads:
		f.readBeads(root)
	}
	o.tokens = &source.Tree{Root: f.tree(), Position: s.Pos}
}

// refuseTwice reports the fields of objects that are given twice with different values: one of them would be lost.
func (f *importedPlan) refuseTwice(n *source.Node) {
	first := map[string]*source.Node{}
	texts := map[string][]byte{} // of those that are given again
	n.Each(func(name, v *source.Node) {
		other := first[name.Text]
		if other == nil {
			first[name.Text] = v
			return
		}
		if texts[name.Text] == nil {
			texts[name.Text] = other.AppendJSON(nil)
		}
		if !bytes.Equal(texts[name.Text], v.AppendJSON(nil)) {
			f.Error(name.At, plan.CodeDuplicateField, "field %s is given twice; keep one", source.Quote(name.Text))
		}
	})
	for _, item := range n.Items {
		f.refuseTwice(item)
	}
}

func (o *planFile) markdown(form Form) {
	at := source.NewCursor(o.src)
	where := func(p source.Location) plan.Pos { return at.Pos(int(p)) }
	o.form = form
	if wrong := textProblem(o.src); wrong != nil {
		o.tokens = &source.Tree{Position: where, Failure: wrong}
		return
	}
	f := &importedPlan{DiagnosticList: &o.diagnostics, form: string(form), lenient: o.opts.Lenient}
	switch form {
	case FormPhase:
		f.readPhase(o.src)
	case FormSpecKit, FormOpenSpec, FormKiro, FormChecklist:
		f.readBoxes(o.src, form)
	default:
		o.tokens = &source.Tree{Position: where, Failure: &source.Problem{At: 0, Code: plan.CodeSyntax,
			Message: "this markdown is no plan that is known: it has no <task> blocks and no boxes, - [ ]; " +
				"wavex plan makes a plan of words"}}
		return
	}
	o.tokens = &source.Tree{Root: f.tree(), Position: where}
}

// ImportFile is like Import, for a file. The error is that of plan.ReadFile.
func ImportFile(path string, opts plan.Options) ([]byte, Form, []plan.Diagnostic, error) {
	src, _, err := plan.ReadFile(path)
	if err != nil {
		return nil, "", nil, err
	}
	opts.Dir = cmp.Or(opts.Dir, PromptDir(path))
	out, form, ds := Import(path, []byte(src), opts)
	return out, form, ds, nil
}

// PromptDir returns the folder in which the "@file" of a plan's prompts are looked up.
func PromptDir(path string) string { return filepath.Dir(path) }
