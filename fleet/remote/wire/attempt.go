package wire

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"wavex/budget"
	"wavex/internal/plan"
	"wavex/runner"
)

// Request asks a worker for one attempt.
type Request struct {
	Setup     plan.Setup `json:"setup,omitzero"`      // of the plan, for worktrees
	Subject   string     `json:"subject,omitempty"`   // of the task's commit
	NoVerify  bool       `json:"no_verify,omitempty"` // commit without the repository's hooks
	Rehearsal bool       `json:"rehearsal,omitempty"` // the rehearsal agent makes the attempt
	NoWall    bool       `json:"no_wall,omitempty"`   // no wall around the agent, also where one is possible
	// SameVersion is for a worker with the version of wavex that the sender has.
	SameVersion bool `json:"same_version,omitempty"`
	// Attempt has no paths of the coordinator: Dir is slash-separated below the top of the repository, and texts name
	// large outputs of other tasks in OutputsDir.
	Attempt runner.Request `json:"attempt"`
}

// OutputsDir stands for the directory of large outputs in the texts and in the environment of a request. A worker has
// its own.
const OutputsDir = "/wavex-outputs/"

// MoveOutputs replaces the directory from by to in the paths of large outputs that the texts and the environment of a
// request have. Both end in a separator. It returns the names of these files, sorted.
func MoveOutputs(req *runner.Request, from, to string) []string {
	var names []string
	move := func(text string) string {
		var out strings.Builder
		for {
			before, rest, found := strings.Cut(text, from)
			out.WriteString(before)
			if !found {
				return out.String()
			}
			dir := from
			const digest = 64
			if name := rest[:min(len(rest), digest+len(".json"))]; strings.HasSuffix(name, ".json") &&
				isObjectID(strings.TrimSuffix(name, ".json")) && len(name) == digest+len(".json") {
				names, dir = append(names, name), to
			}
			out.WriteString(dir)
			text = rest
		}
	}
	req.Prompt, req.FullPrompt = move(req.Prompt), move(req.FullPrompt)
	req.Env = maps.Clone(req.Env)
	for name, value := range req.Env {
		req.Env[name] = move(value)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// These are the files of messages in commits: the detached body of a request, and the bodies of the last progress with
// a turn and of the result, which are always there.
const (
	RequestFile  = "message/request.json"
	ProgressFile = "message/progress.json"
	ResultFile   = "message/result.json"
)

// Progress is the last sign of life of an attempt.
type Progress struct {
	Worker string     `json:"worker"`
	Kind   string     `json:"kind,omitempty"` // as in runner.Observation; "": the attempt has not begun
	Text   string     `json:"text,omitempty"`
	Cost   budget.USD `json:"cost,omitempty"` // so far, in micro-dollars: a lower bound
	// Turn is the end of the agent's turn. Its work and its logs are pushed.
	Turn *runner.Turn `json:"turn,omitempty"`
}

// Check returns an error if the request is not one that a worker can carry out inside the repository.
func (r *Request) Check(id string) error {
	a := &r.Attempt
	switch {
	case strings.TrimRight(id, "+") != ID(a.Run, a.Task, a.Attempt):
		return fmt.Errorf("the request is for attempt %d of %s of run %s", a.Attempt, a.Task, a.Run)
	case !isObjectID(a.Commit) || a.WIP != "" && !isObjectID(a.WIP):
		return errors.New("a commit is not named by its id")
	}
	paths := []string{"."}
	if mcp := a.Settings.MCPConfig; mcp != "" {
		paths = append(paths, mcp)
	}
	for _, f := range a.Files {
		paths = append(paths, f.Path)
	}
	for _, c := range a.Checks {
		paths = append(paths, c.File)
	}
	for _, g := range a.Guards {
		paths = append(paths, g.Path)
	}
	for _, p := range paths {
		if at := path.Join(a.Dir, p); path.IsAbs(p) || path.IsAbs(a.Dir) || !filepath.IsLocal(filepath.FromSlash(at)) {
			return fmt.Errorf("%q in %q is outside of the repository", p, a.Dir)
		}
	}
	return nil
}

// ID returns the id of an attempt: wavex/RUN/TASK/ATTEMPT, at most 1000 bytes.
func ID(run, task string, attempt int) string {
	const most = 400 // of run and task each
	return fmt.Sprintf("wavex/%s/%s/%d", escape(run, most), escape(task, most), attempt)
}

// NextID returns the id under which an attempt is started after none took it as id: an engine starts no id twice. It
// returns "" after the last one.
func NextID(id string) string {
	const most = 1000
	if len(id) == most {
		return ""
	}
	return id + "+"
}

// Run returns the run of an attempt's id, or "" if the id has none that can be part of a ref.
func Run(id string) string {
	parts := strings.Split(id, "/")
	if len(parts) != 4 || parts[0] != "wavex" || strings.ContainsAny(parts[1], "%~^:?*[\\") {
		return ""
	}
	return parts[1]
}

// escape returns a text without slashes, spaces and control characters. A text that would be longer than most ends in
// its digest.
func escape(s string, most int) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c > ' ' && c < 0x7f && c != '/' && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if out := b.String(); len(out) <= most {
		return out
	}
	sum := digest([]byte(s))
	return b.String()[:most-len(sum)-2] + "%%" + sum
}
