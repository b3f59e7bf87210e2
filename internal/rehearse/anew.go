package rehearse

// A process that serves one attempt after the other: /clear begins a new session, and
// settings give it the variables of the next assignment, as in the CLI.

import (
	"encoding/json"
	"errors"
	"strings"
)

// clears tells whether the user turn is the command that begins a new session.
func (a *agent) clears() bool {
	var text string
	return json.Unmarshal(a.heard.Message.Content, &text) == nil && strings.TrimSpace(text) == "/clear"
}

// clear begins a new session. The CLI answers with a result of no turns.
func (a *agent) clear() error {
	a.session = a.id()
	if err := a.remember(); err != nil {
		return err
	}
	t := &turn{agent: a, b: &Block{}, started: a.now()}
	r := t.line("success")
	r.Result = new(string)
	t.conclude(r)
	return nil
}

// errStart is why an assignment is not taken by a process that runs already.
var errStart = errors.New("the assignment is about how a process starts")

// reassign sets variables, and reads the assignment that they name.
func (a *agent) reassign(env map[string]string) error {
	path, given := env[FileVar]
	task, block := a.task, a.block
	if given && path != a.getenv(FileVar) {
		var err error
		if task, block, err = assigned(path); err != nil {
			return err
		}
		switch block.ForAttempt(task.Attempt).Outcome {
		case DiesBeforePrompt, HangAtStart, LostSession:
			return errStart
		}
		a.served = 0
	}
	a.task, a.block = task, block
	for k, v := range env {
		a.env = append(a.env, k+"="+v)
	}
	return nil
}
