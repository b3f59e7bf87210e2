package runner

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"wavex/budget"
	"wavex/internal/proc"
)

// This file is what a conversation does to share its process with others: which process
// it may have, what is said before the prompt, and when the process is kept. The processes
// are Warm's.

// The requests around a conversation. What they do was observed on claude 2.1.197: settings
// given so take the place of those given so before, permissions and the variables of tool commands
// among them, and do not reach those of the command line.
const (
	readyID = "wavex-ready"
	restID  = "wavex-rest"
)

// restLine takes the permissions back. Its answer comes when everything before it was said.
const restLine = `{"type":"control_request","request_id":"` + restID + `","request":{"subtype":"apply_flag_settings","settings":{"permissions":{"allow":[]}}}}` + "\n"

// restPatience is how long a process may take to answer that.
const restPatience = 5 * time.Second

// clearCommand begins a new session. The CLI does it without the model.
const clearCommand = "/clear"

// warming is what a conversation needs for that.
type warming struct {
	pool    *Warm
	flags   []string          // after the program; without session, rules and cap
	rules   []string          // of permission
	vars    map[string]string // that differ between attempts
	session string            // the one to continue, or the id of a new one
	resume  bool
	cap     budget.USD
	taken   bool // the process had waited
	anew    bool // and must begin a new session
}

// readOnce are files of a project that the CLI reads when it starts, or may: one that was
// started before they changed does not serve the task that comes after.
var readOnce = []string{".claude/agents", ".claude/output-styles", ".claude/settings.json", ".claude/settings.local.json", ".mcp.json"}

// shape is what a process must have in common with the conversation.
func (w *warming) shape(argv []string, dir string) string {
	names := make([]string, 0, len(w.vars))
	for k := range w.vars {
		names = append(names, k)
	}
	slices.Sort(names)
	var read []string
	for _, path := range readOnce {
		read = append(read, fileDigest(dir, path))
	}
	return strings.Join(slices.Concat(argv, w.flags, []string{dir}, read, names), "\x00")
}

// patience is how long the process may take to get ready for the prompt.
func (w *warming) patience() time.Duration {
	if w.taken {
		return w.pool.patience
	}
	return w.pool.starting
}

// begin gives the conversation a process: one that waits, or a new one.
func (t *talk) begin(s *sink, errs *record) error {
	w := t.warm
	if w == nil {
		var err error
		t.c, err = launch(proc.Spec{Argv: t.argv, Dir: t.dir, Env: t.env, Mark: t.mark}, s, errs)
		return err
	}
	shape := w.shape(t.agent.Argv, t.dir)
	if c := w.pool.take(shape, w.session, w.resume, w.cap); c != nil {
		w.anew = c.left.served > 0 && !w.resume
		line, err := c.left.line(w.anew)
		if err != nil {
			return err
		}
		if _, err := s.raw.Write(line); err != nil {
			s.rawErr = err
		}
		t.facts.line(line, false)
		t.facts.version, t.facts.notional, t.facts.limit = c.left.version, c.left.notional, c.left.limit
		t.c, w.taken = c, true
		c.p.Remark(t.mark)
		c.attach(s, errs)
		return nil
	}
	limit := startCap(w.cap)
	like := breed{shape: shape, limit: limit, spec: proc.Spec{Dir: t.dir, Env: t.env, Mark: t.mark}}
	like.spec.Argv = capped(slices.Concat(t.agent.Argv, w.flags), limit)
	spec := like.spec
	spec.Argv = slices.Concat(spec.Argv, sessionFlags(w.session, w.resume))
	c, err := launch(spec, s, errs)
	if err != nil {
		w.pool.end()
		return err
	}
	c.shape, c.limit = shape, limit
	t.c = c
	like.spec.Mark, like.spec.Env = idleMark(t.mark), without(t.env, w.vars)
	w.pool.more(like)
	return nil
}

// words is what is said to the process, one after the other; each but the prompt, which is
// the last, is answered before the next. The second is for a process that must begin anew:
// hooks that a new session starts have the variables of this attempt then.
func (t *talk) words() ([][]byte, error) {
	prompt, err := userTurn(t.prompt)
	if err != nil || t.warm == nil {
		return [][]byte{prompt}, err
	}
	clear, err := userTurn(clearCommand)
	if err != nil {
		return nil, err
	}
	type object map[string]any
	ready, err := json.Marshal(object{"type": "control_request", "request_id": readyID, "request": object{
		"subtype": "apply_flag_settings", "settings": object{
			"permissions": object{"allow": slices.Concat([]string{}, t.warm.rules)}, "env": t.warm.vars}}})
	return [][]byte{append(ready, '\n'), clear, prompt}, err
}

// keeps tells whether the process is to be kept after this end of a turn: a good one, that
// leaves it money for another.
func (t *talk) keeps(r *resultLine) bool {
	return t.warm != nil && !t.closed && t.asked && r.subtype == "success" && !r.isError && !r.cut && r.hasCost &&
		r.session != "" && (t.c.limit == 0 || r.cost < t.c.limit) && t.warm.pool.wants()
}

// dismiss ends a process that will not do what it is asked.
func (t *talk) dismiss() {
	t.close()
	if !t.await(t.agent.StopWait.Close, 3*time.Second, false) {
		t.terminate()
	}
}

// without is an environment without some variables.
func without(env []string, vars map[string]string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, drop := vars[name]
		return drop
	})
}

// settle gives the process back, or says that it is gone. It is called once the conversation
// has been looked at.
func (t *talk) settle() {
	w := t.warm
	if w == nil || t.c == nil {
		return
	}
	if !t.kept {
		w.pool.end()
		return
	}
	f := t.facts
	t.c.left = standing{served: t.c.left.served + 1, session: f.session, spent: f.result.cost, usage: f.result.usage, clears: f.clears,
		version: f.version, notional: f.notional, limit: f.limit}
	t.c.p.Remark(idleMark(t.mark))
	w.pool.give(t.c)
}

// idleMark is the mark of a process that waits: of its run, and of no attempt.
func idleMark(mark string) string {
	run, _, _ := strings.Cut(mark, "/")
	return run + "/~warm"
}

// startCap is the money cap of a process that is to serve several attempts. It is a
// little less than the first one's: the caps of those that follow vary, and a process whose
// cap is above an attempt's cannot serve it. A small cap is given whole.
func startCap(limit budget.USD) budget.USD {
	if limit < budget.Dollar/2 {
		return limit
	}
	return limit - limit/10
}
