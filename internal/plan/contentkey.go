package plan

// This file computes the content keys of tasks: the same work has the same key, however the file is
// written. It knows nothing of runs.

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
)

type digest = [sha256.Size]byte

type keys struct {
	once sync.Once
	sums []digest
}

// Key returns the content key of task i, sha256 in hex. It covers the task's id, words, command,
// files, checks, criteria and output, the resolved settings that change an attempt's work, and the keys of
// its blockers. It does not depend on formatting, the order of tasks and of blockers, limits of
// time, turns, retries and money, declared waves, metadata and rehearse blocks. If waves are
// barriers, their edges count. The first call computes all keys; Key is safe for concurrent use. A
// plan that is built by hand cannot store the keys, so use Keys to get many of them.
func (p *Plan) Key(i int) string { return hex.EncodeToString(p.sums()[i][:]) }

// Keys returns the keys of all tasks, in plan order.
func (p *Plan) Keys() []string {
	sums := p.sums()
	out := make([]string, len(sums))
	for i := range sums {
		out[i] = hex.EncodeToString(sums[i][:])
	}
	return out
}

func (p *Plan) sums() []digest {
	if p.keys == nil { // built by hand, as only tests do
		return p.digests()
	}
	p.keys.once.Do(func() { p.keys.sums = p.digests() })
	return p.keys.sums
}

// digests computes the keys wave by wave, so that blockers come first.
func (p *Plan) digests() []digest {
	sums := make([]digest, len(p.Tasks))
	preset := copy(sums, p.presetKeys)
	var h hasher
	for _, tasks := range p.TasksByWave() {
		for _, i := range tasks {
			if i >= preset {
				sums[i] = h.task(p, i, sums)
			}
		}
	}
	return sums
}

// hasher writes a task as unique bytes: every text and every list begins with its length.
type hasher struct {
	buf      []byte
	blockers []digest
}

func (h *hasher) text(s string) {
	h.buf = binary.AppendUvarint(h.buf, uint64(len(s)))
	h.buf = append(h.buf, s...)
}

func (h *hasher) count(n int) { h.buf = binary.AppendUvarint(h.buf, uint64(n)) }

func (h *hasher) texts(list []string) {
	h.count(len(list))
	for _, s := range list {
		h.text(s)
	}
}

func (h *hasher) check(c Check) {
	for _, s := range []string{c.Run, c.File, c.Contains, c.Matches} {
		h.text(s)
	}
	if c.Env != "" {
		h.text("env")
		h.text(c.Env)
	}
}

// env adds variables to the key. A key without variables is that of a wavex that knew none.
func (h *hasher) env(vars map[string]string) {
	if len(vars) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		h.text("env " + name)
		h.text(vars[name])
	}
}

// values adds what a task gets from others and gives to them. The key of one with neither is that of a wavex that knew
// no such values.
func (h *hasher) values(p *Plan, i int) {
	t := &p.Tasks[i]
	if t.Late != nil {
		for _, r := range t.Late.refs() {
			h.text("reference " + r.Text)
		}
	}
	h.env(t.Env)
	if t.Lines {
		h.text("lines")
	}
	if p.waiting[i] {
		h.text("waits for a list")
	}
	if t.Output != nil {
		h.text("output")
		h.text(canonicalJSON(t.Output))
	}
}

func (h *hasher) task(p *Plan, i int, sums []digest) digest {
	t := &p.Tasks[i]
	h.buf = append(h.buf[:0], "wavex task 1\n"...)
	for _, s := range []string{t.ID, t.Subject, t.Description, t.Prompt, t.Command} {
		h.text(s)
	}
	h.count(len(t.Files))
	for _, f := range t.Files {
		h.text(f.Path)
		h.text(f.Action)
	}
	h.count(len(t.Verify))
	for _, c := range t.Verify {
		h.check(c)
	}
	h.count(len(t.Criteria))
	for _, c := range t.Criteria {
		h.text(c.Text)
		h.text(c.Verification)
		if c.Check == nil {
			h.count(0)
			continue
		}
		h.count(1)
		h.check(*c.Check)
	}
	s := p.Settings(i)
	for _, v := range []string{s.Model, s.FallbackModel, s.PermissionMode, s.Agent, s.AppendSystemPrompt, s.MCPConfig,
		s.SettingSources, s.Dir} {
		h.text(v)
	}
	h.texts(s.AllowedTools)
	h.texts(s.DisallowedTools)
	h.values(p, i)

	// Use the blockers in the order of their keys, not of the file.
	h.blockers = h.blockers[:0]
	for _, b := range p.Graph.Blockers(i) {
		h.blockers = append(h.blockers, sums[b])
	}
	slices.SortFunc(h.blockers, func(a, b digest) int { return bytes.Compare(a[:], b[:]) })
	h.count(len(h.blockers))
	for _, b := range h.blockers {
		h.buf = append(h.buf, b[:]...)
	}
	return sha256.Sum256(h.buf)
}
