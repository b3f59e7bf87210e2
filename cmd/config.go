package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wavex/internal/planfile"
	"wavex/internal/textfmt"
	"wavex/internal/ui"
)

// This file shows the settings of a run with their origins.

func newConfig(std Stdio) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "config [PLAN]",
		Short: "Show each setting and its origin",
		Long: `config prints the value that each setting of a run would have here, and its
origin: a variable WAVEX_OPT_..., the plan, the settings file of the project
(.wavex.yaml) or of the user, or the default, in this order. Addresses of
webhooks are shortened. docs/settings.md tells more.

Exit status: 0 printed, 2 a settings file, a variable or the plan is wrong.

These settings have no flag:
` + strings.ReplaceAll(strings.TrimSuffix(newRunOptions(std.Fleet).otherSettings().
			FlagUsagesWrapped(helpWidth), "\n"), "      --", "        "),
		Example: "  wavex config\n  wavex config plan.json --output json",
		Args:    optionalArg("a plan file"),
		RunE: func(c *cobra.Command, args []string) error {
			list, err := listSettings(settingFlags(std.Fleet), strings.Join(args, ""))
			if err != nil {
				return err
			}
			return printSettings(list, output, std)
		},
	}
	outputFlag(c, &output)
	return c
}

// shownSetting is a line of wavex config.
type shownSetting struct {
	Name   string `json:"name"`
	Value  any    `json:"value"`
	Source string `json:"source"`
	At     string `json:"at,omitempty"`
	text   string
}

// listSettings returns the settings in the current directory, or in the project of a plan if planPath is not "".
func listSettings(known *pflag.FlagSet, planPath string) ([]shownSetting, error) {
	dir, err := projectDir("")
	if err != nil {
		return nil, err
	}
	planned := map[string]string{}
	if planPath != "" {
		p, err := planfile.Read(planPath, "")
		if err != nil {
			return nil, err
		}
		if dir, err = projectOf(p); err != nil {
			return nil, err
		}
		planned = planSettings(p)
	}
	all := &settings{flags: known, known: func() *pflag.FlagSet { return known }, origins: map[string]origin{}}
	if err := cmp.Or(all.applyEnvironment(), all.readUser(), all.readProject(dir)); err != nil {
		return nil, err
	}
	var list []shownSetting
	for _, name := range settingKeys(known) {
		f := known.Lookup(name)
		from, there := all.origins[name]
		if !there {
			from.source = fromDefault
		}
		text := f.Value.String()
		if planned[name] != "" && from.source != fromEnvironment {
			from, text = origin{source: fromPlan, at: planPath}, planned[name]
		}
		s := shownSetting{Name: name, Source: from.source, At: from.at, Value: text, text: text}
		switch values, ok := f.Value.(pflag.SliceValue); {
		case ok && from.source == fromPlan:
			s.Value = strings.Split(text, ", ")
		case text == "" && f.Value.Type() == "int":
			s.Value = nil
		case ok:
			shown := shownValues(name, values.GetSlice())
			s.Value, s.text = shown, strings.Join(shown, ", ")
		case f.Value.Type() == "int" || f.Value.Type() == "float64" || f.Value.Type() == "bool":
			s.Value = json.RawMessage(text)
		}
		list = append(list, s)
	}
	return list, nil
}

// shownValues returns the values of a list without secret parts of addresses.
func shownValues(name string, values []string) []string {
	shown := []string{}
	for _, v := range values {
		if name == "webhook" {
			h, err := ui.ParseWebhook(v)
			v = h.String()
			if err != nil {
				v = "no address"
			}
		}
		shown = append(shown, v)
	}
	return shown
}

func printSettings(list []shownSetting, output string, std Stdio) error {
	if output == "json" {
		return json.NewEncoder(std.Out).Encode(map[string]any{"v": 1, "settings": list})
	}
	var b strings.Builder
	for _, s := range list {
		from := cmp.Or(s.At, s.Source)
		if s.Source == fromDefault && s.Name == "parallel" { // the help tells the default
			s.text = ""
		}
		if s.Source == fromPlan {
			from = s.Source + " " + s.At
		}
		fmt.Fprintf(&b, "%-18s %-12s %s\n", s.Name, textfmt.Line(cmp.Or(s.text, "-")), textfmt.Line(from))
	}
	_, err := fmt.Fprint(std.Out, b.String())
	return err
}
