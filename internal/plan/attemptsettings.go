package plan

// This file reads how attempts are started, as defaults or as a task's overrides, and merges the
// two. It does not convert settings to flags of the CLI.

import (
	"cmp"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"wavex/internal/plan/source"
	"wavex/internal/policy"
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
		{"policy", func(d *decoder, s *Settings, t source.Token) { d.policyType.decode(d, s, t) }},
		{"dir", func(d *decoder, s *Settings, t source.Token) { d.relativePath(&s.Dir, t) }},
	}
}

func policyFields() []field[Settings] {
	return []field[Settings]{
		{"edits", func(d *decoder, s *Settings, t source.Token) {
			d.enum(&s.PolicyEdits, t, policy.EditsWorktree, policy.EditsFiles, policy.EditsOff)
		}},
		{"deny", func(d *decoder, s *Settings, t source.Token) { d.deny(s, t) }},
		{"ask", func(d *decoder, s *Settings, t source.Token) { s.PolicyAsk = d.patterns(t).texts }},
		{"askTimeout", func(d *decoder, s *Settings, t source.Token) { d.duration(&s.PolicyAskTimeout, t) }},
		{"repeat", func(d *decoder, s *Settings, t source.Token) {
			if n, ok := d.count(t, 0); ok {
				s.PolicyRepeat = &n
			}
		}},
	}
}

// patterns are the patterns of calls of one field, and where each stands.
type patterns struct {
	texts []string // nil: the field cannot be read
	at    []source.Location
	paths [][]step
}

// patterns reads a list of patterns of calls, or one.
func (d *decoder) patterns(t source.Token) patterns {
	seen := patterns{texts: []string{}}
	read := func(_ int, e source.Token) {
		text, ok := d.str(e)
		if !ok {
			return
		}
		if _, err := policy.ParsePattern(text); err != nil {
			d.errorf(e.At, CodeBadValue, "%s is no pattern of calls: %v", source.Quote(text), err)
			return
		}
		seen.texts, seen.at = append(seen.texts, text), append(seen.at, e.At)
		seen.paths = append(seen.paths, slices.Clone(d.path))
	}
	if t.Kind == source.KindString {
		read(0, t)
	} else if !d.list(t, "a list of strings", read) {
		return patterns{}
	}
	return seen
}

// deny reads the patterns of denied calls.
func (d *decoder) deny(s *Settings, t source.Token) {
	seen := d.patterns(t)
	if seen.texts != nil {
		s.PolicyDeny = seen.texts
	}
	if len(seen.at) == 0 {
		return
	}
	if d.denied == nil {
		d.denied = map[*string]patterns{}
	}
	d.denied[&s.PolicyDeny[0]] = seen
}

// deniedChecks reports each pattern that denies a check of a task that it is for.
func (d *decoder) deniedChecks() {
	told := map[source.Location]bool{}
	for i := range d.plan.Tasks {
		if len(d.denied) == 0 {
			return
		}
		list := d.plan.Settings(i).PolicyDeny
		if len(list) == 0 {
			continue
		}
		for _, c := range d.plan.Tasks[i].Verify {
			found := policy.Denied(list, c.Run)
			seen := d.denied[&list[0]]
			k := slices.Index(seen.texts, found)
			if k < 0 || told[seen.at[k]] {
				continue
			}
			told[seen.at[k]] = true
			d.addDiagnostic(seen.at[k], SeverityError, CodeConflict, seen.paths[k],
				"%s denies the check %s of task %s; change one of the two", source.Quote(found), source.Quote(c.Run),
				source.Quote(d.plan.Tasks[i].ID))
		}
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
func (p *Plan) Settings(i int) Settings { return p.SettingsOf(&p.Tasks[i]) }

// SettingsOf returns what Settings does, for a task of AllTasks.
func (p *Plan) SettingsOf(t *Task) Settings {
	s := p.Defaults
	if own := t.Settings; own != nil {
		s = s.with(own)
	}
	if s.MCPConfig == mcpNone {
		s.MCPConfig = ""
	}
	return s
}

// with returns the settings with the given ones of own in their place.
func (s Settings) with(own *Settings) Settings {
	all, given := reflect.ValueOf(&s).Elem(), reflect.ValueOf(*own)
	for i := range given.NumField() {
		if v := given.Field(i); !v.IsZero() {
			all.Field(i).Set(v)
		}
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
