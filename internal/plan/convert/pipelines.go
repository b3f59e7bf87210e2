package convert

// This file recognises the pipelines of other runners, and a state.json, by fields that other files do not have
// together. It does not know what the fields mean.

import (
	"strings"

	"wavex/internal/plan/source"
)

// markedForm is a form that a file has if it bears two of the marks.
type markedForm struct {
	name  string
	marks []string // each lists alternatives, as addMarks writes them
}

func markedForms() []markedForm {
	return []markedForm{
		{string(FormSteps), []string{"steps=text steps." + strings.Join(stepFields(), " steps."), "completedSteps",
			"remainingSteps", "criteriaStatus", "spec"}},
		{"a GitHub Actions workflow", []string{"on", "jobs.*.runs-on jobs.*.uses"}},
		{"a GitLab CI pipeline", []string{"*.script *.trigger", "stages image include workflow variables default " +
			"before_script *.stage *.rules *.needs *.only *.artifacts"}},
		{"a file of Azure Pipelines", []string{"trigger pr pool resources schedules steps.displayName",
			"steps.script steps.task steps.bash steps.pwsh steps.checkout jobs.job jobs.deployment stages.stage"}},
		{"a file of Cloud Build", []string{"steps.name/ steps.waitFor images", "steps.args steps.entrypoint steps.script"}},
		{"a Buildkite pipeline", []string{"steps.command steps.commands steps.trigger steps.input steps.group",
			"steps.label steps.wait steps=wait steps.block steps=block steps.plugins steps.agents steps.branches steps.key"}},
		{"a dagu workflow", []string{"steps.command steps.script steps.run", "steps.name steps.depends"}},
		{"a Taskfile", []string{"version includes vars", "tasks.*.cmds tasks.*.cmd tasks.*.deps"}},
		{"a docker compose file", []string{"services", "services.*.image services.*.build"}},
	}
}

// markedName returns the name of the form whose marks a file bears, and the place of the second one; "" if there is
// none. A file with a list of tasks has none of these forms.
func markedName(s source.Tokens) (name string, at source.Location) {
	found := map[string]source.Location{}
	size := source.MaxNodes
	if s.Next().Kind != source.KindObject {
		return "", 0
	}
	field := s.Next()
	for ; field.Kind == source.KindString; field = s.Next() {
		value := s.Next()
		if field.Text == "tasks" && value.Kind == source.KindArray {
			return "", 0
		}
		v := source.ReadTree(s, value, &size)
		if v == nil {
			return "", 0
		}
		addMarks(found, field, v)
	}
	if field.Kind != source.KindEnd {
		return "", 0
	}
	for _, form := range markedForms() {
		borne := 0
		for _, mark := range form.marks {
			for _, m := range strings.Fields(mark) {
				if place, ok := found[m]; ok {
					borne, at = borne+1, place
					break
				}
			}
			if borne == 2 {
				return form.name, at
			}
		}
	}
	return "", 0
}

// addMarks adds the names in a field of a file, at the place of the field: FIELD.NAME in an object of a list,
// FIELD.*.NAME in an object of an object, *.NAME in any object, FIELD=TEXT and FIELD=text for a text in a list, and
// FIELD.NAME/ if the value has a slash, as images have.
func addMarks(found map[string]source.Location, field source.Token, value *source.Node) {
	add := func(mark string) {
		if _, ok := found[mark]; !ok {
			found[mark] = field.At
		}
	}
	add(field.Text)
	if value.Kind == source.KindArray {
		for _, e := range value.Items {
			if e.Kind == source.KindString {
				add(field.Text + "=text")
				add(field.Text + "=" + e.Text)
			}
			e.Each(func(name, v *source.Node) {
				add(field.Text + "." + name.Text)
				if strings.Contains(v.Text, "/") {
					add(field.Text + "." + name.Text + "/")
				}
			})
		}
		return
	}
	value.Each(func(name, v *source.Node) {
		add("*." + name.Text)
		v.Each(func(name, _ *source.Node) { add(field.Text + ".*." + name.Text) })
	})
}
