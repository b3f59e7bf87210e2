package tasklist

// This file writes a plan into a list. Subjects, descriptions and edges become fields of the task;
// fields without a place in a list go into metadata.wavex, from which plan.go reads them.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wavex/internal/jsonobject"
	"wavex/internal/plan"
)

// UnfitError refuses to export a plan to a list.
type UnfitError struct{ Why string }

func (e *UnfitError) Error() string { return e.Why }

// unfit returns the reason why no list can hold the tasks of a plan, or nil. Their ids become numbers, and references
// would name other tasks.
func unfit(p *plan.Plan) error {
	const noPlace = ", which a task list has no place for; run the plan by its file"
	if len(p.Groups) > 0 {
		return &UnfitError{fmt.Sprintf("task %s has a list (foreach)%s", p.Groups[0].ID, noPlace)}
	}
	if len(p.Params) > 0 {
		return &UnfitError{"the plan has parameters" + noPlace}
	}
	for i := range p.Tasks {
		if uses := p.Tasks[i].Uses(); len(uses) > 0 {
			return &UnfitError{fmt.Sprintf("task %s refers to the output of %s%s", p.Tasks[i].ID, uses[0], noPlace)}
		}
	}
	return nil
}

// Export writes the plan into the list, which must be empty, and returns the parts that a list
// cannot hold. native is p as JSON (from convert.Import); the prompts of p are already read from
// their files. request is the id of the request whose run the list shows, or "": a session does
// such tasks by itself.
func (l *List) Export(ctx context.Context, p *plan.Plan, native []byte, request string) (lost []string, err error) {
	if err := unfit(p); err != nil {
		return nil, err
	}
	if l.Exists() {
		tasks, bad, err := l.Read(ctx)
		if err != nil {
			return nil, err
		}
		if n := len(tasks) + len(bad); n > 0 {
			return nil, &UnfitError{fmt.Sprintf("the list %s has %d tasks already (%s); take another name, or delete those "+
				"tasks first", l.Name, n, l.Dir)}
		}
	}
	var file struct {
		Defaults json.RawMessage   `json:"defaults"`
		Tasks    []json.RawMessage `json:"tasks"`
	}
	if err := json.Unmarshal(native, &file); err != nil || len(file.Tasks) != len(p.Tasks) {
		return nil, fmt.Errorf("exporting %s: its JSON is not the plan: %w", p.Path, err)
	}
	var defaults jsonobject.Object
	if len(file.Defaults) > 0 {
		if defaults, err = parseObject(file.Defaults, 0); err != nil {
			return nil, err
		}
	}
	tasks := make([]*Task, len(p.Tasks))
	for i, src := range file.Tasks {
		if tasks[i], err = exportTask(p, i, src, defaults); err != nil {
			return nil, fmt.Errorf("exporting task %s: %w", p.Tasks[i].ID, err)
		}
	}
	_, err = l.Add(ctx, tasks, func(ids []string) {
		for i, t := range tasks {
			for _, b := range p.Graph.Blockers(i) {
				t.BlockedBy = append(t.BlockedBy, ids[b])
			}
			if ids[i] != p.Tasks[i].ID {
				t.Metadata.Set(metaPlanID, jsonobject.Quote(p.Tasks[i].ID))
			}
			if request != "" {
				t.Metadata.Set(metaLoop, jsonobject.Quote(request))
			}
		}
	})
	return omissions(p), err
}

// Exported returns the ids of the tasks that were exported for a request and its run, by their ids in the plan.
func (l *List) Exported(ctx context.Context, request, run string) (map[string]string, error) {
	tasks, _, err := l.Read(ctx)
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for _, t := range tasks {
		of := t.Metadata.Text(metaLoop)
		if of != "" && (of == request || of == run) && t.Metadata.Get(metaAdded) == nil {
			ids[cmp.Or(t.Metadata.Text(metaPlanID), t.ID)] = t.ID
		}
	}
	return ids, nil
}

// exportTask converts a task of a plan to a list task without edges.
func exportTask(p *plan.Plan, i int, src json.RawMessage, defaults jsonobject.Object) (*Task, error) {
	o, err := parseObject(src, 0)
	if err != nil {
		return nil, err
	}
	t := &Task{Subject: p.Tasks[i].Subject, Description: p.Tasks[i].Description, ActiveForm: p.Tasks[i].ActiveForm,
		Status: Pending}
	var rest jsonobject.Object
	for _, m := range o {
		switch m.Name {
		case "id", "subject", "description", "activeForm", "blockedBy", "addBlockedBy", "depends", "depends_on", "dependsOn",
			"dependencies":
		case "metadata":
			if t.Metadata, err = parseObject(m.Value, 0); err != nil {
				return nil, err
			}
		case "prompt":
			text := p.Tasks[i].Prompt // it may come from a file
			if strings.HasPrefix(text, "@") {
				text = "@" + text
			}
			rest.Set(m.Name, jsonobject.Quote(text))
		default:
			rest.Set(m.Name, m.Value)
		}
	}
	for _, m := range defaults {
		twin := map[string]string{"mcp": "mcpConfig", "mcpConfig": "mcp"}[m.Name]
		if m.Name != "dir" && rest.Get(m.Name) == nil && rest.Get(twin) == nil {
			rest.Set(m.Name, m.Value)
		}
	}
	// A single command goes where people look for it.
	if v := p.Tasks[i].Verify; len(v) == 1 && v[0] == (plan.Check{Run: v[0].Run}) && isVerifyTail(v[0].Run) {
		if text := withVerifyTail(t.Description, v[0].Run); text != t.Description || rest.Get("verify") == nil {
			t.Description = text
			rest.Set("verify", nil)
		}
	}
	t.Subject = cmp.Or(t.Subject, "Task "+p.Tasks[i].ID) // the CLI's list shows nothing else
	if len(rest) > 0 {
		t.Metadata.Set(metaFields, rest.Value())
	}
	return t, nil
}

// isVerifyTail reports whether a command survives a round trip through a "Verify:" line.
func isVerifyTail(run string) bool {
	return !strings.ContainsAny(run, "\r\n`") && strings.TrimSpace(run) == run && !strings.Contains(run, "Verify:") &&
		!strings.HasPrefix(run, "*") && !strings.HasPrefix(run, "_")
}

// withVerifyTail adds the verify command at the end of a description, unless the description has one
// already.
func withVerifyTail(description, run string) string {
	if strings.Contains(description, "Verify:") || !isVerifyTail(run) {
		return description
	}
	return strings.TrimLeft(strings.TrimRight(description, " \r\n")+"\n\nVerify: "+run, "\n")
}

// omissions names the parts of a plan that a list cannot hold.
func omissions(p *plan.Plan) []string {
	var lost []string
	add := func(is bool, what string) {
		if is {
			lost = append(lost, what)
		}
	}
	add(p.Request != "", "the request")
	add(p.Budget != plan.Limits{}, "the budget")
	add(p.Parallel != 0, "parallel")
	add(p.Schedule == "eager", "the eager schedule")
	add(p.Defaults.Dir != "", "defaults.dir")
	add(len(p.Criteria) > 0, "the plan's criteria")
	add(len(p.MustNot) > 0, "mustNot")
	add(len(p.Links) > 0, "links")
	add(len(p.ProtectPaths)+len(p.ProtectBranches) > 0, "protect")
	add(p.Isolation != "", "isolation")
	add(len(p.Share) > 0, "share")
	add(p.Setup.Run != "", "setup")
	add(p.Deliver != "", "deliver")
	add(slices.ContainsFunc(p.Declared, func(w plan.Wave) bool { return w.Title != "" }), "the titles of waves")
	add(slices.ContainsFunc(p.Declared, func(w plan.Wave) bool { return w.Sequential }), "that waves are not parallel")
	add(p.Rehearse != nil, "the plan's rehearse block")
	return lost
}
