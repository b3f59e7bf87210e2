package plan

// This file writes and reads the outline of a plan: enough to show a run whose plan was moved or
// edited since. It knows nothing of runs, nor where an outline is stored.

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"wavex/dag"
)

// outlineVersion is the version of the outline's file format.
const outlineVersion = 1

// ErrNoOutline means that a plan has too many edges for an outline, or lists that come with the run.
var ErrNoOutline = errors.New("the plan has too many edges for an outline, or lists that come with the run")

// maxOutlineEdges is the maximum number of edges of an outline. A plan of waves without edges stands
// for more edges than its file names.
const maxOutlineEdges = 1 << 20

// outlineHead is the first line of an outline.
type outlineHead struct {
	Version int `json:"outline"`
	*Plan
	Tasks int `json:"tasks"`
}

// outlineTask is each further line: a task without its prompt and its description.
type outlineTask struct {
	Task
	Key      string  `json:"key"`
	Floor    int     `json:"floor,omitempty"`
	Blockers []int32 `json:"blockers,omitempty"` // indices
	Line     int     `json:"line,omitempty"`
	Column   int     `json:"column,omitempty"`
}

// Outline writes the plan, one JSON object per line, without the parts that only agents read. The
// error is ErrNoOutline, with nothing written, or that of w.
func (p *Plan) Outline(w io.Writer) error {
	if p.Graph.Edges() > maxOutlineEdges || len(p.lateGroups()) > 0 {
		return ErrNoOutline
	}
	b := bufio.NewWriterSize(w, 64<<10)
	to := json.NewEncoder(b)
	to.SetEscapeHTML(false)
	if err := to.Encode(outlineHead{outlineVersion, p, len(p.Tasks)}); err != nil {
		return err
	}
	sums := p.sums()
	for i := range p.Tasks {
		t := outlineTask{Task: p.Tasks[i], Key: hex.EncodeToString(sums[i][:]), Blockers: p.Graph.Blockers(i),
			Line: p.Tasks[i].Pos.Line, Column: p.Tasks[i].Pos.Column}
		if i < len(p.taskWaves) {
			t.Floor = p.taskWaves[i]
		}
		if err := to.Encode(t); err != nil {
			return err
		}
	}
	return b.Flush()
}

// ReadOutline returns the plan of an outline, with its graph, its waves and its keys, but without
// prompts. Such a plan cannot run. It returns an error if r holds no outline, or not a whole one.
func ReadOutline(r io.Reader) (*Plan, error) {
	from := json.NewDecoder(bufio.NewReaderSize(r, 64<<10))
	p := &Plan{ids: newIndex(0), keys: new(keys)}
	h := outlineHead{Plan: p}
	if err := from.Decode(&h); err != nil {
		return nil, fmt.Errorf("reading the outline of a plan: %w", err)
	}
	if h.Version != outlineVersion || h.Tasks < 1 {
		return nil, fmt.Errorf("reading the outline of a plan: version %d with %d tasks is not valid", h.Version, h.Tasks)
	}
	declared := p.Declared
	p.Declared = nil
	for _, w := range declared {
		p.declare(w)
	}
	edges := dag.NewBuilder(0)
	for i := range h.Tasks {
		var t outlineTask
		err := from.Decode(&t)
		if err == nil {
			err = p.addOutlineTask(t, h.Tasks, edges)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the outline of a plan: task %d of %d: %w", i+1, h.Tasks, err)
		}
	}
	p.Graph = edges.Build(len(p.Tasks))
	if len(p.Graph.Cycles()) > 0 {
		return nil, errors.New("reading the outline of a plan: its tasks block each other in a circle")
	}
	return p, nil
}

// addOutlineTask adds a task of an outline to the plan. all is the number of tasks of the outline.
func (p *Plan) addOutlineTask(t outlineTask, all int, edges *dag.Builder) error {
	i := len(p.Tasks)
	key, err := hex.DecodeString(t.Key)
	if err != nil || len(key) != sha256.Size {
		return fmt.Errorf("%q is no key", t.Key)
	}
	if _, ok := p.ids.add(t.ID, i); !ok || t.ID == "" {
		return fmt.Errorf("the id %q is invalid or taken", t.ID)
	}
	if t.Floor < 0 || t.Floor > MaxWave {
		return fmt.Errorf("there is no wave %d", t.Floor)
	}
	for _, b := range t.Blockers {
		if b < 0 || int(b) >= all {
			return fmt.Errorf("there is no blocker %d", b)
		}
		edges.Edge(i, int(b))
	}
	if t.Floor > 0 {
		if p.taskWaves == nil {
			p.taskWaves = make([]int, all)
		}
		p.taskWaves[i] = t.Floor
	}
	p.presetKeys = append(p.presetKeys, digest(key))
	t.Pos = Pos{Line: t.Line, Column: t.Column}
	p.Tasks = append(p.Tasks, t.Task)
	return nil
}
