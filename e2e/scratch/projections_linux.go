package scratch

// This file checks the files in .loop beside the journal: they are readable after any kill, and
// the same when they are written again.

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"wavex/internal/jsonschema/jsonschematest"
	"wavex/internal/loop"
	"wavex/internal/statefiles"
)

var projections = map[string]func() []byte{
	loop.WorkflowFile: statefiles.WorkflowSchema, loop.LinearFile: statefiles.LinearSchema,
	loop.ProgressFile: nil,
}

// MustProject asserts that each existing projection is whole and valid.
func (p Project) MustProject() map[string][]byte {
	p.T.Helper()
	out := map[string][]byte{}
	for name, schema := range projections {
		text, err := os.ReadFile(filepath.Join(p.Loop(), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // killed before it was first written
		}
		if err != nil {
			p.T.Fatal(err)
		}
		out[name] = text
		if schema == nil {
			if !strings.HasPrefix(string(text), "# Loop Progress: ") {
				p.T.Errorf("%s begins %.60q", name, text)
			}
			continue
		}
		if err := jsonschematest.New(p.T, schema()).Validate(text); err != nil {
			p.T.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	return out
}

// MustRebuild asserts that a rebuild from the journal gives the same projections, byte for byte.
func (p Project) MustRebuild() {
	p.T.Helper()
	before := p.MustProject()
	for name := range projections {
		if before[name] == nil {
			p.T.Errorf("%s was never written", name)
		}
		if err := os.Remove(filepath.Join(p.Loop(), name)); err != nil {
			p.T.Error(err)
		}
	}
	if e := p.Start(nil, "status", "--rebuild").End(); e.Exit != 0 {
		p.T.Fatalf("status --rebuild: exit %d\n%s", e.Exit, e.Stderr)
	}
	for name, text := range p.MustProject() {
		if !bytes.Equal(text, before[name]) {
			p.T.Errorf("%s was\n%s\nand is, written again,\n%s", name, before[name], text)
		}
	}
}
