package convert

// This file writes phase plans in markdown, in the form that import_phase.go reads. It names every
// part of a plan that a phase plan cannot represent, instead of dropping it silently.

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"wavex/internal/plan"
)

// omissions collects the parts without a place in the form, each kind once.
type omissions struct{ list []string }

func (l *omissions) add(is bool, what string) {
	if is && !slices.Contains(l.list, what) {
		l.list = append(l.list, what)
	}
}

func (l *omissions) plan(p *plan.Plan) {
	l.add(p.Budget != plan.Limits{}, "the budget")
	l.add(p.Parallel != 0, "parallel")
	l.add(p.Schedule == "eager", "the eager schedule")
	l.add(!isZeroSettings(p.Defaults), "the defaults")
	l.add(len(p.MustNot) > 0, "mustNot")
	for _, k := range p.Links { // imported ones are also part of the request's words
		l.add(!strings.Contains(p.Request, k.From) || !strings.Contains(p.Request, k.To), "links")
	}
	l.add(p.Rehearse != nil, "rehearse blocks")
	l.add(p.Isolation+p.Setup != "" || p.Share != nil, "isolation")
	l.add(p.ProtectPaths != nil || p.ProtectBranches != nil, "what is protected")
	for _, c := range p.Criteria {
		l.add(c.Check != nil || c.Verification != "", "checks and verifications of criteria")
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		l.add(t.Command != "", "that a task is a command (it became words)")
		l.add(t.Settings != nil, "settings of tasks")
		l.add(t.BudgetUSD != 0, "budgets of tasks")
		l.add(t.Estimate != plan.Estimate{}, "estimates")
		l.add(t.Reversibility != "2A", "reversibility")
		l.add(len(t.Exclusive) > 0, "what tasks use alone")
		l.add(len(t.Aspects) > 0, "aspects")
		l.add(t.ActiveForm != "", "active forms")
		l.add(t.Rehearse != nil, "rehearse blocks")
		for _, c := range t.Criteria {
			l.add(c.Check != nil || c.Verification != "observation", "checks and verifications of criteria")
		}
		for _, c := range t.Verify {
			l.add(c.Timeout != 0, "timeouts of checks")
			l.add(c.NoRecheck, "that checks are true at their own time only")
		}
	}
}

// isZeroSettings reports whether no setting was given.
func isZeroSettings(s plan.Settings) bool {
	return s.AllowedTools == nil && s.DisallowedTools == nil && s.Model+s.FallbackModel+s.PermissionMode+s.Agent+
		s.AppendSystemPrompt+s.MCPConfig+s.SettingSources+s.Dir+s.RetrySession == "" &&
		s.Timeout == 0 && s.IdleTimeout == 0 && s.MaxRetries == nil && s.MaxTurns == 0
}

// PhaseNumber splits a name like "Phase 2: Title", as in imports of phase plans. Without a number
// the title is the whole name.
func PhaseNumber(p *plan.Plan) (number, title string) {
	if m := regexp.MustCompile(`^Phase ([\w.]+)(?:: (.*))?$`).FindStringSubmatch(p.Name); m != nil {
		return m[1], m[2]
	}
	return "", p.Name
}

// tasksByWave returns the tasks by wave, in plan order, and the description of each wave.
func tasksByWave(p *plan.Plan) (members [][]int, about map[int]plan.Wave) {
	wave, total := p.Waves()
	members = make([][]int, total+1)
	for i, w := range wave {
		members[w] = append(members[w], i)
	}
	about = map[int]plan.Wave{}
	for _, w := range p.Declared {
		about[w.Number] = w
	}
	return members, about
}

// agentText returns the whole text of a task for an agent.
func agentText(t *plan.Task) string {
	var parts []string
	for _, s := range []string{t.Description, t.Prompt} {
		if s = strings.Trim(s, "\n"); s != "" {
			parts = append(parts, s)
		}
	}
	if t.Command != "" {
		parts = append(parts, "Run: "+t.Command)
	}
	return strings.Join(parts, "\n\n")
}

func blockerIDs(p *plan.Plan, i int) []string {
	list := []string{}
	for _, b := range p.Graph.Blockers(i) {
		list = append(list, p.Tasks[b].ID)
	}
	return list
}

// WritePhase returns the plan as a phase plan in markdown, and the names of the parts that are not
// carried.
func WritePhase(p *plan.Plan) (out []byte, notCarried []string) {
	l := &omissions{}
	l.plan(p)
	var b strings.Builder
	number, title := PhaseNumber(p)
	members, about := tasksByWave(p)
	waves := 0
	for _, m := range members {
		if len(m) > 0 {
			waves++
		}
	}
	b.WriteString("---\n")
	if number != "" {
		b.WriteString("phase: " + number + "\n")
	}
	if title != "" {
		b.WriteString("title: " + title + "\n")
	}
	fmt.Fprintf(&b, "wave_count: %d\ntask_count: %d\n---\n\n", waves, len(p.Tasks))
	if p.Name != "" {
		b.WriteString("# " + p.Name + "\n\n")
	}
	if s := strings.Trim(p.Request, "\n"); s != "" {
		b.WriteString("## Goal\n\n" + escapeMarkdown(s) + "\n\n")
	}
	if len(p.Criteria) > 0 {
		b.WriteString("## Must-Haves (Goal-Backward)\n\n")
		for _, c := range p.Criteria {
			b.WriteString("- [ ] " + strings.Join(strings.Fields(c.Text), " ") + "\n")
		}
		b.WriteString("\n")
	}
	claims := claimParserOf(p)
	for w, m := range members {
		if len(m) == 0 {
			continue
		}
		mode := "Parallel"
		if about[w].Sequential {
			mode = "Sequential"
		}
		if about[w].Title != "" {
			mode += " - " + about[w].Title
		}
		fmt.Fprintf(&b, "## Wave %d (%s)\n\n", w, mode)
		for _, i := range m {
			writeTask(p, &b, i, w, claims, l)
		}
	}
	return []byte(b.String()), l.list
}

// escapeMarkdown indents a whole text if one of its lines would be read as markup of a phase plan.
func escapeMarkdown(s string) string {
	plain := true
	for _, line := range strings.Split(s, "\n") {
		plain = plain && (line == "" || !strings.ContainsAny(strings.TrimLeft(line,
			" ")[:min(1, len(strings.TrimLeft(line, " ")))], "#`~<-"))
	}
	if plain {
		return s
	}
	return indentBy(s, "    ")
}

func indentBy(s, by string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = by + line
		}
	}
	return strings.Join(lines, "\n")
}

func xmlEscaper() *strings.Replacer {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\r", "&#13;",
		"\t", "&#9;")
}

func writeTask(p *plan.Plan, b *strings.Builder, i, wave int, claims *claimParser, l *omissions) {
	t := &p.Tasks[i]
	quoted := xmlEscaper().Replace
	inText := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
	fmt.Fprintf(b, `<task id="%s" wave="%d"`, quoted(t.ID), wave)
	if ids := blockerIDs(p, i); len(ids) > 0 {
		list := strings.Join(ids, ",")
		l.add(len(strings.Fields(list)) > 1 || strings.Contains(list, ";"), "ids with spaces or semicolons as blockers")
		fmt.Fprintf(b, ` depends="%s"`, quoted(list))
	}
	if t.Subject != "" {
		fmt.Fprintf(b, ` title="%s"`, quoted(t.Subject))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Metadata)) {
		var s string
		if json.Unmarshal(t.Metadata[name], &s) != nil || s == "" ||
			!regexp.MustCompile(`^[A-Za-z_][\w.-]*$`).MatchString(name) || slices.Contains(reservedFields(), name) {
			l.add(true, "metadata that is no plain text")
			continue
		}
		fmt.Fprintf(b, ` %s="%s"`, name, quoted(s))
	}
	b.WriteString(">\n")
	if len(t.Files) > 0 {
		b.WriteString("  <files>\n")
		for _, f := range t.Files {
			if f.Action != "" {
				fmt.Fprintf(b, "    <file action=\"%s\">%s</file>\n", f.Action, inText(f.Path))
			} else {
				fmt.Fprintf(b, "    <file>%s</file>\n", inText(f.Path))
			}
		}
		b.WriteString("  </files>\n")
	}
	if words := agentText(t); words != "" {
		b.WriteString("  <action>\n" + indentBy(words, "    ") + "\n  </action>\n")
	}
	if len(t.Verify)+len(t.Criteria) > 0 {
		b.WriteString("  <verify>\n")
		for _, c := range t.Verify {
			kind, attr, text := checkText(p, claims, i, c)
			if attr != "" {
				attr = strings.Replace(attr, "=", `="`, 1)
				name, value, _ := strings.Cut(attr, `="`)
				attr = fmt.Sprintf(` %s="%s"`, name, quoted(value))
			}
			fmt.Fprintf(b, "    <check type=\"%s\"%s>%s</check>\n", kind, attr, inText(text))
		}
		for _, c := range t.Criteria {
			fmt.Fprintf(b, "    <check type=\"manual\">%s</check>\n", inText(strings.Join(strings.Fields(c.Text), " ")))
		}
		b.WriteString("  </verify>\n")
	}
	b.WriteString("</task>\n\n")
}

// reservedFields returns the attributes and fields of a task that have a meaning of their own.
func reservedFields() []string {
	return []string{"id", "title", "name", "subject", "wave", "depends", "depends_on", "dependsOn", "dependencies",
		"blockedBy", "blocked_by", "addBlockedBy", "needs", "parallel",
		"action", "description", "prompt", "details", "files", "verify", "checks", "verification", "acceptanceCriteria",
		"acceptance_criteria", "acceptance", "criteria",
		"done", "done_when", "user_observable", "notes", "libraries", "skills", "status", "command", "passes"}
}

// claimParserOf returns the claims for the plan's files, to predict how words will be read.
func claimParserOf(p *plan.Plan) *claimParser {
	f := &importedPlan{}
	for i := range p.Tasks {
		f.tasks = append(f.tasks, toImportedTask(&p.Tasks[i]))
	}
	return newClaimParser(f)
}

func toImportedTask(t *plan.Task) *importedTask {
	out := &importedTask{}
	for _, file := range t.Files {
		out.files = append(out.files, importedFile{phrase{file.Path, 0}, file.Action})
	}
	return out
}

// checkText returns a check as phase plans write it, if reading that gives the same check; otherwise
// with an attribute of wavex, as name=value.
func checkText(p *plan.Plan, c *claimParser, task int, check plan.Check) (kind, attr, text string) {
	if check.Run != "" {
		return "console", "cmd=" + check.Run, "exits with 0"
	}
	if check.Matches != "" {
		return "matches", "file=" + check.File, check.Matches
	}
	kind, text = "file", check.File+" exists"
	if check.Contains != "" {
		kind, text = "content", check.File+` contains "`+check.Contains+`"`
	}
	again, whole := c.files(toImportedTask(&p.Tasks[task]), text, kind, 0)
	if whole && len(again) == 1 && len(strings.Fields(text)) == len(strings.Split(text, " ")) {
		var got plan.Check
		if json.Unmarshal(again[0].AppendJSON(nil), &got) == nil && got == check {
			return kind, "", text
		}
	}
	if kind == "file" {
		return kind, "file=" + check.File, text
	}
	return kind, "file=" + check.File, check.Contains
}
