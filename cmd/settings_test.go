package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/run"
	"wavex/internal/testrepo"
	"wavex/internal/usererr"
)

// settingsTest is a project, a user's folder and the command line of a run.
type settingsTest struct {
	dir           string
	project, user string // files
	args          []string
	plan          plan.Plan
}

// flags returns the options of wavex run with the values of the command line and of the environment.
func (s *settingsTest) flags(t *testing.T) (*runOptions, error) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("AppData", filepath.Join(home, "config"))
	s.dir = t.TempDir()
	if s.project != "" {
		testrepo.Files{run.SettingsFile: s.project}.Write(t, s.dir)
	}
	if s.user != "" {
		testrepo.Must(t, os.MkdirAll(filepath.Dir(userSettings()), 0o755))
		testrepo.Must(t, os.WriteFile(userSettings(), []byte(s.user), 0o644))
	}
	o := newRunOptions(nil)
	root, c := &cobra.Command{Use: "wavex"}, &cobra.Command{Use: "run"}
	root.AddCommand(c, newStart(Stdio{}), newVerify(Stdio{}), newRun(Stdio{}))
	runFlags(c, o)
	testrepo.Must(t, c.ParseFlags(s.args))
	var err error
	o.settings, err = runSettings(c, o)
	return o, err
}

// options reads the settings as a new run does.
func (s *settingsTest) options(t *testing.T) (*runOptions, error) {
	t.Helper()
	o, err := s.flags(t)
	return o, cmp.Or(err, o.readUser(), o.readProject(s.dir))
}

// config returns the configuration of a new run.
func (s *settingsTest) config(t *testing.T) (event.Config, error) {
	t.Helper()
	o, err := s.options(t)
	if err != nil {
		return event.Config{}, err
	}
	return resolveConfig(o, &s.plan, s.dir, nil)
}

// resumed returns the configuration of a resume of old.
func (s *settingsTest) resumed(t *testing.T, old *event.Config) (event.Config, error) {
	t.Helper()
	o, err := s.flags(t)
	if err = cmp.Or(err, o.readUser()); err != nil {
		return event.Config{}, err
	}
	return resolveConfig(o, &s.plan, s.dir, old)
}

// The first source that has a value counts: flag, environment, plan, project, user, default.
func TestSettingsPrecedence(t *testing.T) {
	four, usd := 4, budget.USD(4_000_000)
	for _, c := range []struct {
		flag   string
		values [6]string // by source
		plan   plan.Plan
		get    func(event.Config) string
	}{
		{"max-retries", [6]string{"1", "2", "4", "5", "6", "3"}, plan.Plan{Defaults: plan.Settings{MaxRetries: &four}},
			func(c event.Config) string { return strconv.Itoa(c.MaxRetries) }},
		{"parallel", [6]string{"1", "2", "4", "5", "6", ""}, plan.Plan{Parallel: 4},
			func(c event.Config) string { return strconv.Itoa(c.Parallel) }},
		{"budget", [6]string{"1", "2", "4", "5", "6", "25"}, plan.Plan{Budget: plan.Limits{USD: &usd}},
			func(c event.Config) string { return fmt.Sprint(c.Limits.USD.Float()) }},
		{"max-iterations", [6]string{"1", "2", "4", "5", "6", ""}, plan.Plan{Budget: plan.Limits{Iterations: &four}},
			func(c event.Config) string { return strconv.Itoa(c.Limits.Iterations) }},
		{"isolation", [6]string{"shared", "worktree", "shared", "worktree", "shared", "auto"},
			plan.Plan{Isolation: "shared"}, func(c event.Config) string { return string(c.Isolation) }},
		{"deliver", [6]string{"ff", "pr", "push", "branch", "pr", "auto"}, plan.Plan{Deliver: "push"},
			func(c event.Config) string { return c.Deliver }},
		{"schedule", [6]string{"eager", "waves", "eager", "waves", "eager", "waves"}, plan.Plan{Schedule: "eager"},
			func(c event.Config) string { return string(c.Schedule) }},
	} {
		for high := range 6 {
			for low := high; low < 6; low++ {
				t.Run(fmt.Sprintf("%s/%d over %d", c.flag, high, low), func(t *testing.T) {
					s := &settingsTest{}
					for _, source := range []int{high, low} {
						switch line := c.flag + ": " + c.values[source] + "\n"; source {
						case 0:
							s.args = []string{"--" + c.flag, c.values[0]}
						case 1:
							t.Setenv(variable(c.flag), c.values[1])
						case 2:
							s.plan = c.plan
						case 3:
							s.project = line
						case 4:
							s.user = line
						}
					}
					got, err := s.config(t)
					if want := c.values[high]; err != nil || want != "" && c.get(got) != want {
						t.Errorf("%s is %s, want %s (%v)", c.flag, c.get(got), want, err)
					}
				})
			}
		}
	}
}

// A file's value does not replace that of a task; a resumed run keeps its values but for flags and the environment.
func TestSettingsOfAResume(t *testing.T) {
	s := &settingsTest{project: "max-retries: 7\nretry-session: fresh\n"}
	c, err := s.config(t)
	if err != nil || c.MaxRetries != 7 || c.ForceRetries || c.RetrySession != "fresh" || c.ForceSession {
		t.Errorf("a new run: %+v, %v", c, err)
	}
	old := event.DefaultConfig()
	old.MaxRetries, old.Counsel, old.Review, old.ReviewRounds, old.Precheck = 1, true, "light", 2, true
	s = &settingsTest{project: "max-retries: 7\ncounsel: \"off\"\nreview: off\nmax-review-rounds: 9\nprecheck: off\n" +
		"budget: 99\n"}
	if c, err = s.resumed(t, &old); err != nil || c.MaxRetries != 1 || !c.Counsel || c.Review != "light" ||
		c.ReviewRounds != 2 || !c.Precheck || c.Limits.USD == 99_000_000 {
		t.Errorf("a resume: %+v, %v", c, err)
	}
	old.Policy = event.Policy{Deny: []string{"a"}, Ask: []string{"b"}, Allow: []string{"c"}}
	old.Sandbox = event.Sandbox{Mode: event.SandboxStrict, Caches: []string{t.TempDir()}}
	if c, err = s.resumed(t, &old); err != nil || !reflect.DeepEqual(c.Policy, old.Policy) ||
		!reflect.DeepEqual(c.Sandbox, old.Sandbox) {
		t.Errorf("a resume with lists: %+v, %+v, %v", c.Policy, c.Sandbox, err)
	}
	t.Setenv("WAVEX_OPT_POLICY_DENY", "\nx\r\n\ny z\n")
	if c, err = s.resumed(t, &old); err != nil || !slices.Equal(c.Policy.Deny, []string{"x", "y z"}) ||
		len(c.Policy.Ask) != 1 || !slices.Equal(c.Policy.Force, []string{"deny"}) {
		t.Errorf("a resume with a list of a variable: %+v, %v", c.Policy, err)
	}
	t.Setenv("WAVEX_OPT_POLICY_DENY", "")
	old.Sandbox.Caches[0] += "/gone"
	if _, err = s.resumed(t, &old); err == nil || !strings.HasPrefix(err.Error(), "sandbox-cache: ") {
		t.Errorf("a resume without its cache: %v", err)
	}
	old.Sandbox = event.Sandbox{}
	t.Setenv("WAVEX_OPT_MAX_RETRIES", "2")
	if c, err = s.resumed(t, &old); err != nil || c.MaxRetries != 2 || !c.ForceRetries {
		t.Errorf("a resume with a variable: %+v, %v", c, err)
	}
	old.Limits = budget.Limits{USD: 5_000_000, NoIterations: true}
	for flag, more := range map[string]bool{"budget": true, "max-iterations": false, "max-tokens": false} {
		s = &settingsTest{args: []string{"--" + flag, "+5"}}
		c, err = s.resumed(t, &old)
		if more != (err == nil) || err != nil && !strings.Contains(err.Error(), "has no limit that") ||
			more && c.Limits.USD != 10_000_000 {
			t.Errorf("a resume with +5 for %s: %+v, %v", flag, c.Limits, err)
		}
	}
}

// Each pair of sources of each setting that a file may have: the first counts, and a list replaces the other.
func TestSourcesOfEachSetting(t *testing.T) {
	known := settingFlags(nil)
	c := &cobra.Command{}
	runFlags(c, newRunOptions(nil))
	others := newRunOptions(nil).otherSettings()
	pairs := 0
	for _, name := range settingKeys(known) {
		if c.Flags().Lookup(name) == nil && others.Lookup(name) == nil { // of start and verify
			continue
		}
		values := sampleValues(known.Lookup(name))
		for high := range 4 {
			for low := high + 1; low < 4; low++ {
				if (high == 2 || low == 2) && classOf(name) == userOnly || high == 0 && others.Lookup(name) != nil {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d over %d", name, high, low), func(t *testing.T) {
					s := &settingsTest{}
					for i, source := range []int{high, low} {
						switch value := values[i]; source {
						case 0:
							s.args = []string{"--" + name + "=" + value}
						case 1:
							t.Setenv(variable(name), value)
						case 2:
							s.project = name + ": \"" + value + "\"\n"
						case 3:
							s.user = name + ": \"" + value + "\"\n"
						}
					}
					o, err := s.options(t)
					from := []string{"", fromEnvironment, fromProject, fromUser}[high]
					got := strings.Trim(o.settings.flags.Lookup(name).Value.String(), "[]")
					if err != nil || got != values[0] || o.origins[name].source != from {
						t.Errorf("%s of %v, want %s (%v)", got, o.origins[name], values[0], err)
					}
				})
				pairs++
			}
		}
	}
	if pairs < 179 {
		t.Errorf("only %d pairs", pairs)
	}
}

// sampleValues returns two values of a flag that a project may set.
func sampleValues(f *pflag.Flag) [2]string {
	if v, ok := f.Value.(*value); ok && v.choices != nil {
		return [2]string{v.choices[1], v.choices[0]}
	}
	switch {
	case f.Name == "deliver":
		return [2]string{"ff", "branch"}
	case f.Name == "workers":
		return [2]string{"temporal://a:1/x", "temporal://b:1/x"}
	case f.Name == "webhook":
		return [2]string{"https://a.test", "https://b.test"}
	case f.Name == "report":
		return [2]string{"md=a", "md=b"}
	case f.Value.Type() == "bool":
		return [2]string{"true", "false"}
	case f.Value.Type() == "duration" || f.Name == "wait-for-reset":
		return [2]string{"2h0m0s", "1h0m0s"}
	}
	return [2]string{"2", "1"}
}

// A project cannot widen the rights of a run; the user can, by a file, a variable or a flag. What only weakens a check
// or a limit is told.
func TestProjectCannotWiden(t *testing.T) {
	refused := map[string]bool{}
	for _, c := range []struct{ flag, value string }{
		{"agent", "rehearse"}, {"claude", "./claude"}, {"yes", "true"}, {"trust", "true"},
		{"webhook", "https://a.test/x"}, {"webhook", "[https://a.test/x]"},
		{"no-verify", "true"}, {"accept-assumptions", "true"}, {"prices", "p.json"},
		{"report", "html=a.html"}, {"report", "[json=a.json, html=../x]"}, {"track", "x"},
		{"scenario", "x"}, {"deliver", "push"},
		{"deliver", "pr"},
		{"budget", "none"}, {"budget", "'unlimited'"},
		{"max-iterations", "unlimited"}, {"max-tokens", "[unlimited]"},
		{"sandbox", "off"}, {"sandbox-cache", "[/x]"},
		{"policy-edits", "off"}, {"policy-deny", "[curl]"}, {"policy-repeat", "0"},
		{"policy-ask", "[git push]"}, {"policy-ask-timeout", "1h"}, {"policy-allow", "[git push]"},
		{"workers", "temporal://host:1/ns"},
	} {
		refused[c.flag] = true
		t.Run(c.flag+" "+c.value, func(t *testing.T) {
			text := "# first\n" + c.flag + ": " + c.value + "\n"
			_, err := (&settingsTest{project: text, args: []string{"--track", "x"}}).options(t)
			if err == nil || !strings.Contains(err.Error(), ".wavex.yaml:2: ") ||
				!strings.Contains(err.Error(), wayOut(c.flag)) {
				t.Errorf("the project's file: %v", err)
			}
			o, err := (&settingsTest{user: text}).options(t)
			if err != nil || o.origins[c.flag].source != fromUser {
				t.Errorf("the user's file: %v, %v", o.origins, err)
			}
			t.Setenv(variable(c.flag), strings.Trim(c.value, "[]'"))
			if o, err = (&settingsTest{}).options(t); err != nil || !o.forced(c.flag) {
				t.Errorf("a variable: %v, %v", o.origins, err)
			}
		})
	}
	for _, name := range strings.Fields(classes[userOnly]) {
		if !refused[name] {
			t.Errorf("no case for %s", name)
		}
	}
	_, err := (&settingsTest{project: "policy:\n  edits: off\n"}).options(t)
	if err == nil || !strings.Contains(err.Error(), ".wavex.yaml:2: a project must not set policy-edits") {
		t.Errorf("a policy of the project: %v", err)
	}
	for _, key := range []string{"permission-mode", "permissionMode", "dangerously-skip-permissions", "policy",
		"allowedTools", "bypassPermissions"} {
		for _, s := range []settingsTest{{project: key + ": x\n"}, {user: key + ": x\n"}} {
			if _, err := s.options(t); err == nil || !strings.Contains(err.Error(), ":1: "+key) ||
				!strings.Contains(err.Error(), "plan") {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
}

// A project's setting that weakens a check or a limit is told with its line, and one of a flag or the plan is not.
func TestProjectIsTold(t *testing.T) {
	c := &cobra.Command{}
	runFlags(c, newRunOptions(nil))
	others := newRunOptions(nil).otherSettings()
	for _, row := range newRunOptions(nil).rows {
		name, f := row.name, cmp.Or(c.Flags().Lookup(row.name), others.Lookup(row.name))
		if row.class != told {
			continue
		}
		value := sampleValues(f)[0]
		if value == f.DefValue {
			value = sampleValues(f)[1]
		}
		s := &settingsTest{project: "ascii: true\n" + name + ": \"" + value + "\"\n"}
		o, err := s.options(t)
		var said, plan strings.Builder
		o.tell(nil, &said)
		o.tell(map[string]string{name: "x"}, &plan)
		want := "wavex: the project sets " + name + " " + value + " (.wavex.yaml:2)\n"
		if err != nil || said.String() != want {
			t.Errorf("%s: %q, want %q (%v)", name, said.String(), want, err)
		}
		if plan.Len() > 0 {
			t.Errorf("the plan has %s: %q", name, plan.String())
		}
		said.Reset()
		if others.Lookup(name) == nil {
			s.args = []string{"--" + name + "=" + value}
		} else {
			t.Setenv(variable(name), value)
		}
		if o, err = s.options(t); err != nil || len(o.told) > 0 {
			t.Errorf("a flag or a variable: %v, %v", o.told, err)
		}
		t.Setenv(variable(name), "")
	}
}

// Each flag has one class, and docs/settings.md tells it.
func TestEveryFlagHasAClass(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/settings.md")
	testrepo.Must(t, err)
	known, listed := settingFlags(nil), map[string]int{}
	for _, class := range []class{free, told, userOnly, once} {
		names := strings.Fields(classes[class])
		for _, row := range newRunOptions(nil).rows {
			if row.class == class {
				names = append(names, row.name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			listed[name]++
			if known.Lookup(name) == nil {
				t.Errorf("--%s of class %s is no flag", name, class)
			}
		}
		row := "| " + string(class) + " | `" + strings.Join(names, "`, `") + "` |"
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/settings.md lacks the row %s", row)
		}
	}
	known.VisitAll(func(f *pflag.Flag) {
		if listed[f.Name] != 1 {
			t.Errorf("--%s has %d classes", f.Name, listed[f.Name])
		}
	})
}

// The errors of a broken file name the file, the line and the mistake.
func TestBrokenSettings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"max-retrys: 2", ":1: unknown key \"max-retrys\"; did you mean max-retries?"},
		{"\nmax_retries: 2", ":2: unknown key \"max_retries\"; did you mean max-retries?"},
		{"colour: red", ":1: unknown key \"colour\"; wavex config"},
		{"max-retries: many", ":1: max-retries takes a number from 0, not \"many\""},
		{"max-retries: -1", ":1: max-retries takes a number from 0, not \"-1\""},
		{"max-retries: 1.5", ":1: max-retries takes a number from 0, not \"1.5\""},
		{"max-retries:", ":1: max-retries has no value"},
		{"max-retries: [1, 2]", ":1: max-retries takes one value, not a list"},
		{"max-retries: {a: 1}", ":1: max-retries takes a value, not an object"},
		{"parallel: [[a]]", ":1: parallel takes plain values"},
		{"parallel: [{a: b}]", ":1: parallel takes plain values"},
		{"ascii: perhaps", ":1: ascii takes true or false"},
		{"wall-clock: 7200", ":1: wall-clock takes a duration like 2h, not \"7200\""},
		{"wall-clock: -2h", ":1: wall-clock takes a duration"},
		{"review: deep", ":1: review takes one of off, light, thorough, auto, not \"deep\""},
		{"budget: lots", ":1: budget takes dollars, +N, or none, not \"lots\""},
		{"budget: \"+10\"", ":1: budget takes a value, not +10"},
		{"budget: +10", ":1: budget takes a value, not +10"},
		{"deliver: mail", ":1: deliver takes"},
		{"parallel: 2\nparallel: 3", ":2: parallel is set twice"},
		{"fresh: true", ":1: fresh is a choice for one run; give it as a flag: --fresh"},
		{"- parallel", ":1: the file has a list"},
		{"parallel", ":1: the file has a string"},
		{"parallel: 2\n\tmax-retries: 3", ":2: not valid YAML"},
		{"parallel: [2", ":1: not valid YAML"},
		{"parallel: 2\n---\nparallel: 3", ":3: "},
		{"parallel: \x00", ":1: a NUL character"},
		{"parallel: \xff", ":1: not valid UTF-8"},
		{"policy:\n  edit: off", ":2: unknown key policy.edit; policy has edits, deny, repeat"},
		{"loop: 3", ":1: unknown key \"loop\""},
		{"loop:\n  speed: 3", ":2: unknown key loop.speed"},
		{"loop:\n  auto_loop: 3", ":2: mode takes one of"},
		{"loop:\n  execute_max_retries: x", ":2: max-retries takes a number"},
		{"max-retries: 1\nloop: {execute_max_retries: 2}", ":2: max-retries is set twice"},
		{"parallel: 2\rreview: deep", ":2: review takes one of"},
		{"\ufeffparallel: x", ":1: parallel takes a number"},
		{"? [a]\n: 1", ":2: not valid YAML"},
		{"parallel: *none", ":1: "},
	} {
		s := &settingsTest{project: c.text + "\n"}
		if _, err := s.config(t); err == nil || !strings.Contains(err.Error(), ".wavex.yaml"+c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
		s = &settingsTest{user: c.text + "\n"}
		if _, err := s.config(t); err == nil || !strings.Contains(err.Error(), "config.yaml"+c.want) {
			t.Errorf("%q of the user: %v, want %q", c.text, err, c.want)
		}
	}
}

// A file that cannot be read is an error that names it, and sets nothing.
func TestUnreadableSettings(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a folder":  func(path string) error { return os.Mkdir(path, 0o755) },
		"too large": func(path string) error { return os.WriteFile(path, make([]byte, maxSettings+1), 0o644) },
		"a loop":    func(path string) error { return os.Symlink(path, path) },
	} {
		s := &settingsTest{user: "ascii: true\n"}
		o, err := s.flags(t)
		testrepo.Must(t, err)
		testrepo.Must(t, os.Remove(userSettings()))
		for _, at := range []struct {
			path string
			read func() error
		}{
			{filepath.Join(s.dir, run.SettingsFile), func() error { return o.readProject(s.dir) }}, {userSettings(), o.readUser},
		} {
			testrepo.Must(t, put(at.path))
			var use *usererr.UsageError
			if err := at.read(); !errors.As(err, &use) || !strings.Contains(err.Error(), at.path) || len(o.origins) > 0 {
				t.Errorf("%s: %v, %v", name, err, o.origins)
			}
		}
	}
}

// Files without settings are accepted, and keys of other programs count as the flags that they mean.
func TestSettingsFiles(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "{}\n"} {
		if o, err := (&settingsTest{project: text}).options(t); err != nil || len(o.origins) != 0 {
			t.Errorf("%q: %v, %v", text, o.origins, err)
		}
	}
	text := "loop: {execute_max_retries: 5, verify_max_iterations: 7, auto_loop: false}\n"
	s := &settingsTest{project: text, user: "sandbox-cache: [a, b]\nascii: yes\n"}
	if _, err := s.options(t); err == nil || !strings.Contains(err.Error(), "config.yaml:2: ascii takes true or false") {
		t.Errorf("a word of YAML 1.1: %v", err)
	}
	s.user = "sandbox-cache: [a, b]\nascii: true\nreport: md=a.md\npolicy: {edits: files, deny: ['a, b', c], repeat: 3}\n"
	o, err := s.options(t)
	if err != nil || o.want.MaxRetries != 5 || o.want.Mode != "interactive" || !o.ascii ||
		len(o.want.Sandbox.Caches) != 2 ||
		o.want.Policy.Edits != "files" || len(o.want.Policy.Deny) != 2 || *o.want.Policy.Repeat != 3 ||
		len(o.reports) != 1 || o.origins["max-retries"].at != ".wavex.yaml:1" {
		t.Errorf("%+v, %v", o, err)
	}
}

// Each flag has a variable; a wrong name or value of a variable is an error that names it.
func TestSettingsEnvironment(t *testing.T) {
	t.Setenv("WAVEX_CLAUDE", "/env/claude")
	s := &settingsTest{user: "claude: /file/claude\n"}
	if o, err := s.options(t); err != nil || o.claude != "/env/claude" {
		t.Errorf("WAVEX_CLAUDE and a file: %q, %v", o.claude, err)
	}
	t.Setenv("WAVEX_OPT_CLAUDE", "/opt/claude")
	if o, err := s.options(t); err != nil || o.claude != "/opt/claude" {
		t.Errorf("WAVEX_OPT_CLAUDE: %q, %v", o.claude, err)
	}
	t.Setenv("WAVEX_OPT_FRESH", "1") // a flag of wavex run, which these flags lack
	t.Setenv("WAVEX_OPT_ASCII", "")
	if o, err := s.options(t); err != nil || o.given("ascii") {
		t.Errorf("an empty variable, and one of another command: %v, %v", o.origins, err)
	}
	for _, c := range []struct{ name, value, want string }{
		{"WAVEX_OPT_MAX_RETRYS", "2", "did you mean WAVEX_OPT_MAX_RETRIES?"},
		{"WAVEX_OPT_max_retries", "2", "did you mean WAVEX_OPT_MAX_RETRIES?"},
		{"WAVEX_OPT_ALL", "1", "no setting"},
		{"WAVEX_OPT_MAX_RETRIES", "many", "WAVEX_OPT_MAX_RETRIES takes a number"},
		{"WAVEX_OPT_MAX_RETRIES", "-1", "WAVEX_OPT_MAX_RETRIES takes a number from 0"},
	} {
		t.Run(c.name+" "+c.value, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			if _, err := s.config(t); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A file of any content gives values of flags or an error that names the file, and never a right.
func FuzzSettingsFile(f *testing.F) {
	for _, text := range []string{"", "max-retries: 2\n", "report: [a, b]\n", "loop: {auto_loop: true}\n", "budget: +1\n",
		"budget: &a +1\nmax-tokens: *a\n", "claude: x\n", "a: [\n", "? x\n", "\ufeffbudget: +1\r\n", "budget: 0x+1"} {
		f.Add(text)
	}
	known := settingFlags(nil)
	f.Fuzz(func(t *testing.T, text string) {
		s := settingsFile{path: run.SettingsFile, project: true, known: known}
		values, err := s.parse(text)
		if err != nil && !strings.HasPrefix(err.Error(), run.SettingsFile+":") {
			t.Errorf("%q: %v", text, err)
		}
		for name := range values {
			if c := classOf(name); err == nil && c != free && c != told {
				t.Errorf("%q sets %s", text, name)
			}
		}
	})
}
