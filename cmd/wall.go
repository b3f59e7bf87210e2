package cmd

import (
	"context"
	"fmt"
	"os"

	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/proc"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
	"wavex/runner"
)

// tryWall returns the wall of the session, or nil, and records why there is none. Nothing runs if a strict wall
// is asked for and missing.
func (r *invocation) tryWall(ctx context.Context) (*proc.Wall, error) {
	s := &r.config.Sandbox
	s.Wall, s.Reason = false, ""
	if s.Mode == event.SandboxStrict {
		w, err := proc.TryStrictWall(ctx, r.config.Dir, proc.Environ(os.Environ(), nil), s.Caches)
		if err != nil {
			return nil, usererr.Blocked(fmt.Errorf("sandbox strict: there is no wall: %w; see docs/containment.md, "+
				"or use --sandbox auto", err))
		}
		s.Wall = true
		return r.ofProject(w), nil
	}
	if s.Mode != event.SandboxAuto || r.agent.IsRehearsal() || !agent.NeedsAgent(r.plan) || r.config.Workers.Engine != "" {
		return nil, nil
	}
	w, err := proc.TryWall(ctx, r.config.Dir, proc.Environ(os.Environ(), nil))
	if err != nil {
		s.Reason = textfmt.OneLine(err.Error(), runner.ReasonMax)
		return nil, nil
	}
	s.Wall = true
	return r.ofProject(w), nil
}

// ofProject opens the repository of the project to the programs of a strict wall, and closes its own programs. No agent
// of the session runs yet, so files that agents write in the project do not change the open paths.
func (r *invocation) ofProject(w *proc.Wall) *proc.Wall {
	repository, closed := runner.Repository(r.config.Dir)
	return w.With([]string{repository}, closed)
}
