package cmd_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/internal/textfmt"
)

// TestReference compares the reference pages with the pages generated from the code. WAVEX_UPDATE=1
// rewrites them.
func TestReference(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"cli.md": commandPage(t), "events.md": eventPage(t)} {
		path := filepath.Join("..", "docs", name)
		if os.Getenv("WAVEX_UPDATE") != "" {
			testrepo.Must(t, os.WriteFile(path, []byte(text), 0o644))
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("docs/%s is not what the code says; write it anew with: WAVEX_UPDATE=1 go test ./cmd -run TestReference (%v)", name, err)
		}
	}
}

// commandPage returns the help of every command that the help lists. Parts that are also in the help of wavex run are
// only there.
func commandPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Commands\n\n" + paragraph("The help of each command. Flags and exit codes that a command shares "+
		"with [`wavex run`](#wavex-run) are explained there.") + "```text\n" + told(t, 0, "--help") + "```\n")
	run := told(t, 0, "help", "run")
	for _, name := range commands(t) {
		if name == "help" { // its text repeats that of the others
			continue
		}
		help := told(t, 0, "help", name)
		if name != "run" {
			help = without(help, run)
		}
		fmt.Fprintf(&b, "\n## wavex %s\n\n```text\n%s```\n", name, help)
		for _, sub := range below(help) {
			fmt.Fprintf(&b, "\n### wavex %s %s\n\n```text\n%s```\n", name, sub, told(t, 0, name, sub, "--help"))
		}
	}
	return b.String()
}

var (
	flagLine     = regexp.MustCompile(`^ {2}(?:-\w, | {4})(--[\w-]+)`)
	emptySection = regexp.MustCompile(`(?m)^[A-Z][^\n]*:\n(?:\n|\z)`)
	exitCodes    = regexp.MustCompile(`(?m)^Exit status:\n(?: .*\n)+`)
)

// without returns a help in which the flags and exit codes that run has too are only named.
func without(help, run string) string {
	known := map[string]bool{}
	for _, part := range parts(run) {
		known[strings.Join(strings.Fields(part), " ")] = true
	}
	var rest strings.Builder
	var shared []string
	for _, part := range parts(help) {
		switch m := flagLine.FindStringSubmatch(part); {
		case m == nil, m[1] != "--help" && !known[strings.Join(strings.Fields(part), " ")]:
			rest.WriteString(part)
		case m[1] != "--help":
			shared = append(shared, m[1])
		}
	}
	help = emptySection.ReplaceAllString(rest.String(), "")
	if codes := exitCodes.FindString(run); codes != "" {
		help = strings.Replace(help, codes, "Exit status: as in wavex run.\n", 1)
	}
	if shared != nil {
		names := textfmt.Wrap("Flags as in wavex run: "+strings.Join(shared, ", "), 80)
		help = strings.TrimRight(help, "\n") + "\n\n" + strings.Join(names, "\n") + "\n"
	}
	return help
}

// parts returns the flags of a help, with their explanation, and its other lines.
func parts(help string) (all []string) {
	flag := false
	for line := range strings.Lines(help) {
		if flag && strings.HasPrefix(line, "       ") {
			all[len(all)-1] += line
			continue
		}
		flag = flagLine.MatchString(line)
		all = append(all, line)
	}
	return all
}

// below returns the subcommands of a command.
func below(help string) []string {
	_, list, found := strings.Cut(help, "\nCommands:\n")
	if !found {
		return nil
	}
	list, _, _ = strings.Cut(list, "\n\n")
	var names []string
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); len(f) > 0 {
			names = append(names, f[0])
		}
	}
	return names
}

// eventPage describes every event and names its fields.
func eventPage(t *testing.T) string {
	t.Helper()
	var schema struct {
		Defs map[string]struct {
			Description string
			Properties  map[string]any
		} `json:"$defs"`
		OneOf []struct {
			Properties struct{ Type struct{ Const string } }
		}
	}
	testrepo.Must(t, json.Unmarshal(event.Schema(), &schema))
	var b strings.Builder
	b.WriteString("# Events\n\n" + paragraph("Every record of `.loop/journal.jsonl`, and every line of `--output json`, "+
		"is one of these, with these fields in `data`. Money is in micro-dollars. Durations are in nanoseconds unless a "+
		"field says otherwise. Times are RFC 3339 in UTC. `wavex schema --of events` prints the types and the meaning of "+
		"the fields; this page is generated from the same JSON Schema."))
	var names []string
	for _, e := range schema.OneOf {
		names = append(names, e.Properties.Type.Const)
	}
	slices.Sort(names)
	if len(names) < 15 {
		t.Fatalf("the schema has %d events: %v", len(names), names)
	}
	for _, name := range names {
		e := schema.Defs[name]
		fields := "no fields"
		if len(e.Properties) > 0 {
			fields = "`" + strings.Join(slices.Sorted(maps.Keys(e.Properties)), "`, `") + "`"
		}
		text := textfmt.Wrap(fmt.Sprintf("**%s**: %s %s", name, e.Description, fields), 98)
		b.WriteString("- " + strings.Join(text, "\n  ") + "\n")
	}
	return b.String()
}

// paragraph returns a paragraph of Markdown, wrapped as internal/lint asks.
func paragraph(text string) string { return strings.Join(textfmt.Wrap(text, 100), "\n") + "\n\n" }
