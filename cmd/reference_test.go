package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/textfmt"
)

// TestReference compares the reference pages with the pages generated from the code. WAVEX_UPDATE=1
// rewrites them.
func TestReference(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"cli.md": commandPage(t), "events.md": eventPage(t)} {
		path := filepath.Join("..", "docs", name)
		if os.Getenv("WAVEX_UPDATE") != "" {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
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
	b.WriteString("# Commands\n\n" + paragraph("The help of each command, as `wavex help --all COMMAND` prints it. This "+
		"page is generated from it. Flags and exit codes that a command shares with [`wavex run`](#wavex-run) are "+
		"explained there.") + "```text\n" + told(t, 0, "--help") + "```\n")
	run := told(t, 0, "help", "--all", "run")
	for _, name := range commands(t) {
		if name == "help" { // its text repeats that of the others
			continue
		}
		help := told(t, 0, "help", "--all", name)
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
		help = strings.Replace(help, codes, "Exit status: as of wavex run.\n", 1)
	}
	if shared != nil {
		names := textfmt.Wrap("As of wavex run: "+strings.Join(shared, ", "), 80)
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

// object is the part of a JSON Schema that the page shows.
type object struct {
	Ref         string            `json:"$ref"`
	Type        any               `json:"type"`
	Format      string            `json:"format"`
	Enum        []any             `json:"enum"`
	Const       any               `json:"const"`
	Description string            `json:"description"`
	Required    []string          `json:"required"`
	Properties  map[string]object `json:"properties"`
	Items       *object           `json:"items"`
	Values      json.RawMessage   `json:"additionalProperties"`
	Defs        map[string]object `json:"$defs"`
	OneOf       []object          `json:"oneOf"`
}

// eventPage describes every event and its fields.
func eventPage(t *testing.T) string {
	t.Helper()
	var schema object
	if err := json.Unmarshal(event.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Events\n\n" + paragraph("Every record of `.loop/journal.jsonl`, and every line of `--output json`, "+
		"is one of these. This page is generated from the JSON Schema in `internal/event/events.schema.json`. Money is in "+
		"micro-dollars. Durations are in nanoseconds unless a field says otherwise. Times are RFC 3339 in UTC."))
	events := map[string]bool{}
	for _, e := range schema.OneOf {
		if kind, ok := e.Properties["type"]; ok {
			events[fmt.Sprint(kind.Const)] = true
		}
	}
	var names, parts []string
	for name := range schema.Defs {
		if events[name] {
			names = append(names, name)
		} else {
			parts = append(parts, name)
		}
	}
	sort.Strings(names)
	sort.Strings(parts)
	if len(names) < 15 {
		t.Fatalf("the schema has %d events: %v", len(names), names)
	}
	for _, name := range names {
		describe(&b, name, schema.Defs[name])
	}
	b.WriteString("# Parts of events\n\n")
	for _, name := range parts {
		describe(&b, name, schema.Defs[name])
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// paragraph returns a paragraph of Markdown, wrapped as internal/lint asks.
func paragraph(text string) string { return strings.Join(textfmt.Wrap(text, 100), "\n") + "\n\n" }

func describe(b *strings.Builder, name string, o object) {
	fmt.Fprintf(b, "## %s\n\n", name)
	if o.Description != "" {
		b.WriteString(paragraph(o.Description))
	}
	if len(o.Properties) == 0 {
		b.WriteString(paragraph(kind(o)))
		return
	}
	required := map[string]bool{}
	for _, r := range o.Required {
		required[r] = true
	}
	fields := make([]string, 0, len(o.Properties))
	for f := range o.Properties {
		fields = append(fields, f)
	}
	sort.Strings(fields)
	var others []string
	for _, f := range fields {
		p := o.Properties[f]
		text := fmt.Sprintf("`%s` (%s)", f, kind(p))
		if required[f] {
			text = fmt.Sprintf("`%s` (%s, always)", f, kind(p))
		}
		if p.Description == "" {
			others = append(others, text)
			continue
		}
		b.WriteString(item(text + ": " + p.Description))
	}
	if others != nil {
		b.WriteString(item(strings.Join(others, ", ")))
	}
	b.WriteString("\n")
}

// item returns an item of a list in Markdown, wrapped likewise.
func item(text string) string { return "- " + strings.Join(textfmt.Wrap(text, 98), "\n  ") + "\n" }

// kind returns the type of o in words.
func kind(o object) string {
	switch {
	case o.Ref != "":
		name := o.Ref[strings.LastIndexByte(o.Ref, '/')+1:]
		return "[" + name + "](#" + name + ")"
	case len(o.Enum) > 0:
		var all []string
		for _, e := range o.Enum {
			all = append(all, fmt.Sprintf("`%v`", e))
		}
		return strings.Join(all, ", ")
	case o.Const != nil:
		return fmt.Sprintf("`%v`", o.Const)
	case o.Items != nil:
		return "list of " + kind(*o.Items)
	case o.Format != "":
		return o.Format
	}
	switch k := o.Type.(type) {
	case string:
		return k
	case []any:
		var all []string
		for _, e := range k {
			all = append(all, fmt.Sprint(e))
		}
		return strings.Join(all, " or ")
	}
	return "any"
}
