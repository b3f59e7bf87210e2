package plan

// This file reads how attempts are started, as defaults or as a task's overrides, and merges the
// two. It does not convert settings to flags of the CLI.

import (
	"cmp"
	"path/filepath"
	"reflect"
	"strings"

	"wavex/internal/plan/source"
)

// mcpNone turns a default off for one task. It never occurs in merged settings.
const mcpNone = "none"

func settingsFields() []field[Settings] {
	return []field[Settings]{
		{"model", func(d *decoder, s *Settings, t source.Token) { d.nonEmptyString(&s.Model, t) }},
		{"fallbackModel", func(d *decoder, s *Settings, t source.Token) { d.nonEmptyString(&s.FallbackModel, t) }},
		{"permissionMode", func(d *decoder, s *Settings, t source.Token) {
			d.enum(&s.PermissionMode, t, "acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")
		}},
		{"allowedTools", func(d *decoder, s *Settings, t source.Token) { d.stringList(&s.AllowedTools, t) }},
		{"disallowedTools", func(d *decoder, s *Settings, t source.Token) { d.stringList(&s.DisallowedTools, t) }},
		{"timeout", func(d *decoder, s *Settings, t source.Token) { d.duration(&s.Timeout, t) }},
		{"idleTimeout", func(d *decoder, s *Settings, t source.Token) { d.duration(&s.IdleTimeout, t) }},
		{"maxRetries", func(d *decoder, s *Settings, t source.Token) {
			if n, ok := d.count(t, 0); ok {
				s.MaxRetries = &n
			}
		}},
		{"retrySession", func(d *decoder, s *Settings, t source.Token) {
			d.enum(&s.RetrySession, t, "auto", "same", "fresh")
		}},
		{"maxTurns", func(d *decoder, s *Settings, t source.Token) { s.MaxTurns, _ = d.count(t, 1) }},
		{"agent", func(d *decoder, s *Settings, t source.Token) { d.nonEmptyString(&s.Agent, t) }},
		{"appendSystemPrompt", func(d *decoder, s *Settings, t source.Token) { d.nonEmptyString(&s.AppendSystemPrompt, t) }},
		{"mcpConfig", mcpField},
		{"mcp", mcpField},
		{"settingSources", sourcesField},
		{"dir", func(d *decoder, s *Settings, t source.Token) { d.relativePath(&s.Dir, t) }},
	}
}

func mcpField(d *decoder, s *Settings, t source.Token) {
	if s.MCPConfig != "" {
		d.errorf(t.At, CodeConflict, "mcp and mcpConfig are the same field; keep one")
	}
	d.nonEmptyString(&s.MCPConfig, t)
}

// sourcesField reads the CLI's comma list, or the same as a list.
func sourcesField(d *decoder, s *Settings, t source.Token) {
	var list []string
	at := t.At
	d.stringList(&list, t)
	if len(list) == 1 {
		list = strings.Split(list[0], ",")
	}
	for i, name := range list {
		list[i] = strings.TrimSpace(name)
		switch list[i] {
		case "user", "project", "local":
		default:
			d.errorf(at, CodeBadValue, `%s is not a settings source; use "user", "project" and "local", separated by commas`,
				source.Quote(list[i]))
			return
		}
	}
	s.SettingSources = strings.Join(list, ",")
}

// Settings returns how attempts of task i are started: the task's own values, otherwise the plan's
// defaults. A task's list replaces the default list and does not add to it; an empty list in a task
// removes the default. The lists are shared with the plan and must not be modified.
func (p *Plan) Settings(i int) Settings {
	s := p.Defaults
	if own := p.Tasks[i].Settings; own != nil {
		all, given := reflect.ValueOf(&s).Elem(), reflect.ValueOf(*own)
		for i := range given.NumField() {
			if v := given.Field(i); !v.IsZero() {
				all.Field(i).Set(v)
			}
		}
	}
	if s.MCPConfig == mcpNone {
		s.MCPConfig = ""
	}
	return s
}

// Title returns the name of a task beside its id: its subject, else its command; "" if it has
// neither.
func (t *Task) Title() string { return cmp.Or(t.Subject, t.Command) }

// ActiveTitle returns the title of the task while it runs: its active form, else its title.
func (t *Task) ActiveTitle() string { return cmp.Or(t.ActiveForm, t.Title()) }

// WorkDir returns the directory, below that of the project, in which the task works and is checked.
func (t *Task) WorkDir(project string) string {
	if dir := t.SubDir(); dir != "" {
		return filepath.Join(project, filepath.FromSlash(dir))
	}
	return project
}

// SubDir returns the part of WorkDir below the project, slash-separated; "" for the project itself.
func (t *Task) SubDir() string {
	if t.Settings == nil {
		return ""
	}
	return t.Settings.Dir
}
