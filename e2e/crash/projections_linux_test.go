package crash

// This file checks the files in .loop beside the journal: they are readable after any kill, and
// the same when they are written again.

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"wavex/internal/loop"
	"wavex/internal/statefiles"
)

var projections = map[string]func() []byte{
	loop.WorkflowFile: statefiles.WorkflowSchema, loop.LinearFile: statefiles.LinearSchema,
	loop.ProgressFile: nil,
}

// mustProject asserts that each existing projection is whole and valid.
func (p project) mustProject() map[string][]byte {
	p.t.Helper()
	out := map[string][]byte{}
	for name, schema := range projections {
		text, err := os.ReadFile(filepath.Join(p.loop(), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // killed before it was first written
		}
		if err != nil {
			p.t.Fatal(err)
		}
		out[name] = text
		if schema == nil {
			if !strings.HasPrefix(string(text), "# Loop Progress: ") {
				p.t.Errorf("%s begins %.60q", name, text)
			}
			continue
		}
		if err := validate(schema(), text); err != nil {
			p.t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	return out
}

func validate(schema, text []byte) error {
	shape, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", shape); err != nil {
		return err
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

// mustRebuild asserts that a rebuild from the journal gives the same projections, byte for byte.
func (p project) mustRebuild() {
	p.t.Helper()
	before := p.mustProject()
	for name := range projections {
		if before[name] == nil {
			p.t.Errorf("%s was never written", name)
		}
		if err := os.Remove(filepath.Join(p.loop(), name)); err != nil {
			p.t.Error(err)
		}
	}
	if e := p.start(nil, "status", "--rebuild").end(); e.exit != 0 {
		p.t.Fatalf("status --rebuild: exit %d\n%s", e.exit, e.stderr)
	}
	for name, text := range p.mustProject() {
		if !bytes.Equal(text, before[name]) {
			p.t.Errorf("%s was\n%s\nand is, written again,\n%s", name, before[name], text)
		}
	}
}
