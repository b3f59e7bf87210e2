package plan

// This file is the entry point: it converts bytes to a plan and its diagnostics. It starts nothing
// and writes nothing.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/dag"
	"wavex/internal/plan/source"
)

// maxFile is the maximum size of a plan file, in bytes: that of a generated plan of a million tasks.
const maxFile = 230 << 20

// Options are the options of Parse. The zero value suits a plan that names no files.
type Options struct {
	// Dir is the folder in which the "@file" of prompts are looked up. If it is "", such a prompt
	// is a mistake.
	Dir string
	// Lenient turns the error that an imported file has another number of tasks or waves than it
	// says into a warning.
	Lenient bool
	// ValidateRehearse returns the mistake of a rehearse block, whose format another package defines. nil
	// accepts every block.
	ValidateRehearse func(block json.RawMessage) error
	Params           ParamOptions // values of the plan's parameters
}

// Parse reads a plan, JSON or YAML by the extension of name (.json, .yaml, .yml) or else by its content.
// Package convert reads plans of other tools. name stands for the file in diagnostics. All mistakes are
// diagnostics, in the order of the file; the plan is nil if one of them is an error.
func Parse(name string, data []byte, opts Options) (*Plan, []Diagnostic) {
	return parse(name, string(data), sha256.Sum256(data), opts)
}

// ReadFile returns the file as one string, which the plan's strings then share, and its digest. Its
// errors say that the plan cannot be read.
func ReadFile(path string) (src string, digest [sha256.Size]byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot read the plan: %w", err)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return "", digest, err
	}
	defer f.Close() // opened only for reading
	var b strings.Builder
	info, err := f.Stat()
	switch {
	case err == nil && info.IsDir():
		return "", digest, fmt.Errorf("%s is a directory; name the plan file in it", path)
	case err == nil && info.Mode()&os.ModeCharDevice != 0:
		return "", digest, fmt.Errorf("%s is a device; name the plan file", path)
	case err == nil && info.Mode().IsRegular():
		if info.Size() > maxFile {
			return "", digest, tooLarge(path)
		}
		b.Grow(int(info.Size()))
	}
	sum := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(&b, sum), struct{ io.Reader }{io.LimitReader(f, maxFile+1)},
		make([]byte, 1<<18))
	if err != nil {
		return "", digest, err
	}
	if n > maxFile {
		return "", digest, tooLarge(path)
	}
	sum.Sum(digest[:0])
	return b.String(), digest, nil
}

func tooLarge(path string) error {
	return fmt.Errorf("%s is larger than %d MB", path, maxFile>>20)
}

func parse(name, src string, digest [sha256.Size]byte, opts Options) (*Plan, []Diagnostic) {
	src = strings.TrimPrefix(src, "\ufeff")
	if IsYAML(name, src) {
		return Read(name, src, source.NewYAML(src), DiagnosticList{}, digest, opts)
	}
	return Read(name, src, source.NewJSON(src), DiagnosticList{}, digest, opts)
}

// Read reads a plan from the tokens of the file name with the text src. The tokens may be the
// output of an importer, with its reports in found.
func Read(name, src string, from source.Tokens, found DiagnosticList, digest [sha256.Size]byte,
	opts Options) (*Plan, []Diagnostic) {
	d := newDecoder(opts, src)
	d.src, d.DiagnosticList = from, found
	d.read()
	ds := d.Resolve(name, d.src.Pos)
	if d.errors > 0 {
		return nil, ds
	}
	p := d.plan
	p.Digest = hex.EncodeToString(digest[:])
	p.ids = d.ids
	if cap(p.Tasks) > 2*len(p.Tasks) {
		p.Tasks = slices.Clone(p.Tasks)
	}
	return p, ds
}

// IsYAML decides by the extension, or else by the first character: a JSON plan begins with a brace.
func IsYAML(name, src string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json":
		return false
	case ".yaml", ".yml":
		return true
	}
	first := strings.TrimLeft(src, " \t\r\n")
	return first != "" && first[0] != '{' && first[0] != '['
}

func newDecoder(opts Options, src string) *decoder {
	// Allocate once for the index of the tasks (each opens a brace) and the edges (each but the last of a
	// task has a comma): growing slices of millions would need twice the memory. growTasks grows the tasks,
	// since a large slice of pointers may be cleared at once: its unused part then counts as memory too.
	room := min(strings.Count(src, "{"), len(src)/64, 2<<20)
	edges := min(strings.Count(src, ","), len(src)/8, 16<<20)
	return &decoder{
		opts:          opts,
		plan:          &Plan{keys: new(keys)},
		length:        len(src),
		planType:      newObjectType("the plan", planFields()...),
		taskType:      newObjectType("a task", taskFields()...),
		defaultsType:  newObjectType("defaults", settingsFields()...),
		policyType:    newObjectType("policy", policyFields()...),
		limitType:     newObjectType("budget", limitFields()...),
		checkType:     newObjectType("a check", checkFields()...),
		setupType:     newObjectType("a setup", setupFields()...),
		fileType:      newObjectType("a file", fileFields()...),
		conditionType: newObjectType("a criterion", conditionFields()...),
		estimateType:  newObjectType("estimate", estimateFields()...),
		waveType:      newObjectType("a wave", waveFields()...),
		linkType:      newObjectType("a link", linkFields()...),
		paramType:     newObjectType("a parameter", paramFields()...),
		foreachType:   newObjectType("a foreach", foreachFields()...),
		ids:           newIndex(room),
		taskLocations: make([]source.Location, 0, room),
		edges:         dag.NewBuilder(edges),
		later:         laterTasks{most: max(room, 1<<16)},
	}
}

// read decodes the whole plan and judges it.
func (d *decoder) read() {
	top := d.src.Next()
	set, ok := d.planType.decode(d, d.plan, top)
	if ok && !d.full() && d.src.Problem() == nil {
		d.src.Finish()
	}
	broken := d.src.Problem()
	if broken != nil {
		d.addDiagnostic(broken.At, SeverityError, broken.Code, nil, "%s", broken.Message)
	}
	switch {
	case !ok || broken != nil:
	case !d.planType.has(set, "tasks"):
		d.errorf(top.At, CodeEmptyPlan, `the plan has no tasks; add "tasks" with at least one`)
	case len(d.plan.Tasks) == 0 && d.errors == 0:
		d.errorf(top.At, CodeEmptyPlan, "the plan has no tasks; add at least one")
	}
	if broken == nil { // half a file would make known tasks look unknown
		d.resolveBlockers()
		d.setParams()
		d.expandGroups(d.resolveReferences())
	}
	if d.errors == 0 {
		d.applyDeclaredWaves()
	}
	d.edges = nil
	if d.errors == 0 {
		d.overlaps()
		d.deniedChecks()
	}
}

// promptFile is the content of an "@file", or its problem.
type promptFile struct {
	text    string
	problem string
	tooMany bool // there is no room for it
}

// maxPrompt bounds an "@file", and maxPrompts all of them, in bytes.
const (
	maxPrompt  = 16 << 20
	maxPrompts = 128 << 20
)

// prompt reads a prompt: words, or "@" and a file beside the plan. "@@" stands for an @.
func (d *decoder) prompt(dst *string, t source.Token) {
	var s string
	if d.nonEmptyString(&s, t); s == "" {
		return
	}
	if strings.HasPrefix(s, "@@") {
		*dst = s[1:]
		return
	}
	name, isFile := strings.CutPrefix(s, "@")
	if !isFile {
		*dst = s
		return
	}
	if strings.ContainsAny(name, "\r\n") || name == "" {
		d.errorf(t.At, CodeMissingFile, `%s names no file; write "@@" for a prompt that begins with an @`, source.Quote(s))
		return
	}
	p, known := d.prompts[name]
	if !known {
		if d.prompts == nil {
			d.prompts = map[string]promptFile{}
		}
		p = readPrompt(d.opts.Dir, name, maxPrompts-d.promptBytes)
		d.promptBytes += len(p.text)
		d.prompts[name] = p
	}
	if p.problem != "" {
		code := CodeMissingFile
		if p.tooMany {
			code = CodeTooLarge
		}
		d.errorf(t.At, code, "prompt file %s: %s", source.Quote(name), p.problem)
		return
	}
	d.noteReferences(t.At, p.text)
	*dst = p.text
}

// readPrompt reads a file in dir, like the files of tasks: a path or a link that leads out of dir is refused.
// room is the number of bytes that it may have.
func readPrompt(dir, name string, room int) promptFile {
	file := filepath.FromSlash(name)
	switch {
	case dir == "":
		return promptFile{problem: "the plan has no directory to look in; put the words into prompt"}
	case !filepath.IsLocal(file):
		return promptFile{problem: "is outside of the plan's folder; copy it there"}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return promptFile{problem: err.Error()}
	}
	defer func() { _ = root.Close() }() // nothing is buffered
	info, err := root.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return promptFile{problem: fmt.Sprintf("does not exist (looked for %s); paths count from the plan's folder",
			filepath.ToSlash(filepath.Join(dir, file)))}
	case err != nil:
		return promptFile{problem: "cannot be read in the plan's folder; copy it there: " + err.Error()}
	case !info.Mode().IsRegular():
		return promptFile{problem: "is not a regular file"}
	case info.Size() > maxPrompt:
		return promptFile{problem: fmt.Sprintf("is larger than %d MB", maxPrompt>>20)}
	case info.Size() > int64(room):
		return promptFile{problem: fmt.Sprintf("is one too many: all of them have more than %d MB", maxPrompts>>20),
			tooMany: true}
	}
	data, err := root.ReadFile(file)
	if err != nil {
		return promptFile{problem: err.Error()}
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	switch {
	case strings.TrimSpace(text) == "":
		return promptFile{problem: "is empty; write what the agent is to do"}
	case strings.ToValidUTF8(text, "") != text || strings.IndexByte(text, 0) >= 0:
		return promptFile{problem: "is not UTF-8 text"}
	}
	return promptFile{text: text}
}
