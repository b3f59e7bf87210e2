package plan

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestShellQuote(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, want string }{
		{"plan.json", "plan.json"},
		{"Plän.json", "Plän.json"},
		{"my plan.json", "'my plan.json'"},
		{"it's $HOME.json", `'it'\''s $HOME.json'`},
		{"", "''"},
	} {
		got := ShellQuote(c.path)
		if got != c.want {
			t.Errorf("Word(%q) is %s, want %s", c.path, got, c.want)
		}
		if sh, err := exec.LookPath("sh"); err == nil {
			if out, err := exec.Command(sh, "-c", "printf %s "+got).Output(); err != nil || string(out) != c.path {
				t.Errorf("a shell reads %s as %q, %v", got, out, err)
			}
		}
	}
}

// A value is one word wherever a command uses it, and no part of it is executed.
func TestValuesAreWords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	value := `a  b*"; $(touch ` + ran + `) \\`
	for _, c := range []struct{ command, want string }{
		{`printf '[%s]' V`, "[V]"},
		{`printf '[%s]' "V"`, "[V]"},
		{`printf '[%s]' "$(printf '<%s>' V)"`, "[<V>]"},
		{`printf '[%s]' "$(printf '<%s>' "$(printf '{%s}' V)")"`, "[<{V}>]"},
		{`printf '[%s]' "$(printf '<%s>' "V")"`, "[<V>]"},
		{"printf '[%s]' \"`printf '<%s>' V`\"", "[<V>]"},
		{`printf '[%s]' "${NONE:-$(printf '<%s>' V)}"`, "[<V>]"},
		{`printf '[%s]' "${NONE:-V}" ${NONE:-V}`, "[V][V]"},
		{"cat <<END\n[V]$(printf '<%s>' V)\nEND", "[V]<V>\n"},
		{`n=$(( $(printf '%s' V | wc -w) + 1 )) && printf '[%s]' "$n"`, fmt.Sprintf("[%d]", len(strings.Fields(value))+1)},
		{`x=V; for i in V "$x"; do printf '[%s]' "$i"; done`, "[V][V]"},
		{`case V in V) printf ok;; esac`, "ok"},
	} {
		p := mustParse(t, `{"params":{"v":{"type":"string","default":`+jsonText(t, value)+`}},"tasks":[{"id":"a","command":`+
			jsonText(t, strings.ReplaceAll(c.command, "V", "${params.v}"))+`}]}`)
		for _, shell := range []string{"sh", "bash"} {
			sh, err := exec.LookPath(shell)
			if err != nil {
				continue
			}
			cmd := exec.CommandContext(t.Context(), sh, "-c", p.Tasks[0].Command)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "WAVEX_PARAM_v="+p.Tasks[0].Env["WAVEX_PARAM_v"])
			want := strings.ReplaceAll(c.want, "V", value)
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
				t.Errorf("%s: %s printed %q, %v; want %q", shell, p.Tasks[0].Command, out, err, want)
			}
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a part of the value was executed")
	}
}

// Commands that only bash reads are quoted, too. Where a shell calculates, it gets numbers only: bash executes the
// indices of names. This holds for parameters, items and outputs.
func TestValuesInExpressions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ value, command, want string }{
		{"3", "echo $(( ${params.v} + 1 ))", `echo $(( ${WAVEX_PARAM_v} + 1 ))`},
		{"", "echo $(( ${params.v} + 1 ))", `echo $(( ${WAVEX_PARAM_v} + 1 ))`},
		{"-2 * (0x1F + 3)", "echo $(( ${params.v} ))", `echo $(( ${WAVEX_PARAM_v} ))`},
		{"a[$(touch x)0]", "cat <<< ${params.v} && diff <(ls ${params.v}) x", `cat <<< "${WAVEX_PARAM_v}" && ` +
			`diff <(ls "${WAVEX_PARAM_v}") x`},
		{"x", "[[ x == ${params.v} ]]", `[[ x == "${WAVEX_PARAM_v}" ]]`},
		{"x", "echo ${params.v} 'a", "reached EOF without closing quote"},
		{"a[$(touch x)0]", "echo $(( ${params.v} + 1 ))", "is no number"},
		{"PATH", `echo "$(( $(echo $(( 1 + ${params.v} ))) ))"`, "is no number"},
		{"a[$(touch x)0]", "cat <<< $(( ${params.v} ))", "is no number"},
		{"a[$(touch x)0]", "(( ${params.v} > 1 ))", "is no number"},
		{"a[$(touch x)0]", "[[ ${params.v} -eq 1 ]]", "is no number"},
		{"a[$(touch x)0]", "echo ${HOME:${params.v}:1}", "is no number"},
		{"a[$(touch x)0]", "let n=${params.v}", "is no number"},
	} {
		value, command := jsonText(t, c.value), func(name string) string {
			return jsonText(t, strings.ReplaceAll(c.command, "params.v", name))
		}
		check := func(from string, p *Plan, ds []Diagnostic, err error) {
			got := fmt.Sprint(ds, err)
			if p != nil && err == nil {
				got = p.Tasks[len(p.Tasks)-1].Command
			}
			got = regexp.MustCompile("WAVEX_(ITEM|VALUE_[0-9a-f]+)").ReplaceAllString(got, "WAVEX_PARAM_v")
			if !strings.Contains(got, c.want) {
				t.Errorf("%s %q in %s: %s, want %s", from, c.value, c.command, got, c.want)
			}
		}
		p, ds := Parse("plan.json", []byte(`{"params":{"v":{"type":"string","default":`+value+`}},
			"tasks":[{"id":"a","command":`+command("params.v")+`}]}`), Options{})
		check("parameter", p, ds, nil)
		p, ds = Parse("plan.json", []byte(`{"tasks":[{"id":"a","foreach":{"items":[`+value+`],"key":"k"},"command":`+
			command("item")+`}]}`), Options{})
		check("item", p, ds, nil)
		p, ds = Parse("plan.json", []byte(`{"tasks":[{"id":"o","command":"true","output":{"type":"object"}},
			{"id":"a","command":`+command("tasks.o.output.v")+`}]}`), Options{})
		err := error(nil)
		if p != nil {
			_, err = p.Tasks[1].Resolve("R", map[string]json.RawMessage{"o": json.RawMessage(`{"v":` + value + `}`)}, nil)
		}
		check("output", p, ds, err)
	}
	const described = `{"params":{"v":{"type":"string","default":"a"}},"tasks":[{"id":"a","subject":"A",
		"description":"Calculate. Verify: test $(( ${params.v} )) = 1"%s}]}`
	_, ds := Parse("plan.json", fmt.Appendf(nil, described, ""), Options{})
	if !strings.Contains(fmt.Sprint(ds), "no number") {
		t.Errorf("a check behind Verify: %v", ds)
	}
	if p, ds := Parse("plan.json", fmt.Appendf(nil, described, `,"verify":"true"`), Options{}); p == nil {
		t.Errorf("words of a description: %v", ds)
	}
}

func jsonText(t testing.TB, text string) string {
	t.Helper()
	out, err := json.Marshal(text)
	must(t, err)
	return string(out)
}
