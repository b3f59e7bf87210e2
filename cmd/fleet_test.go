package cmd

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/testrepo"
)

func TestNeedsCLI(t *testing.T) {
	t.Parallel()
	const bare = `{"id":"a","subject":"A"}`
	for name, c := range map[string]struct {
		plan   string
		change func(*event.Config)
		want   bool
	}{
		"commands": {`"tasks":[{"id":"a","subject":"A","command":"true"}]`,
			func(c *event.Config) { c.Counsel = true }, false},
		"on this machine":   {`"tasks":[` + bare + `]`, func(c *event.Config) { c.Workers.Engine = "" }, true},
		"no model is asked": {`"tasks":[` + bare + `]`, nil, false},
		"counsel":           {`"tasks":[` + bare + `]`, func(c *event.Config) { c.Counsel = true }, true},
		"review":            {`"tasks":[` + bare + `]`, func(c *event.Config) { c.Review = event.ReviewLight }, true},
		"prose":             {`"criteria":["it is fast"],"tasks":[` + bare + `]`, nil, true},
		"late list": {`"tasks":[{"id":"a","foreach":{"command":"ls"},"subject":"A"}]`,
			func(c *event.Config) { c.Counsel = true }, true},
		"late list, no model is asked": {`"tasks":[{"id":"a","foreach":{"command":"ls"},"subject":"A"}]`, nil, false},
		"late list of commands": {`"tasks":[{"id":"a","foreach":{"command":"ls"},"command":"true"}]`,
			func(c *event.Config) { c.Counsel = true }, false},
		"late list, prose": {`"tasks":[{"id":"a","foreach":{"command":"ls"},"subject":"A","criteria":["it is fast"]}]`,
			nil, true},
		"late list, irreversible": {`"tasks":[{"id":"a","foreach":{"command":"ls"},"steps":[{"command":"true"},{"subject":"A",
			"reversibility":"1"}]}]`, nil, true},
		"no judge": {`"criteria":["it is fast"],"tasks":[` + bare + `]`,
			func(c *event.Config) { c.Judge = false }, false},
		"irreversible": {`"tasks":[{"id":"a","subject":"A","reversibility":"1"}]`, nil, true},
		"no precheck": {`"tasks":[{"id":"a","subject":"A","reversibility":"1"}]`,
			func(c *event.Config) { c.Precheck = false }, false},
	} {
		config := flagDefaults()
		config.Workers.Engine, config.Counsel, config.Review = "temporal://127.0.0.1:7233/default", false, event.ReviewOff
		if c.change != nil {
			c.change(&config)
		}
		if got := needsCLI(testrepo.Plan(t, ".", "{"+c.plan+"}"), &config); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The core links neither the SDK of Temporal nor the exporter of traces: the module in fleet does.
func TestCoreLinksNoEngine(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "./wavex").Output()
	testrepo.Must(t, err)
	for name := range strings.Lines(string(out)) {
		for _, not := range []string{"go.temporal.io/", "go.opentelemetry.io/", "google.golang.org/grpc", "wavex/fleet"} {
			if strings.HasPrefix(name, not) {
				t.Errorf("cmd/wavex links %s", name)
			}
		}
	}
}

// Commands and flags of the whole wavex say how to get it.
func TestCoreNamesTheWhole(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	testrepo.Files{"plan.json": `{"tasks":[{"id":"a","command":"true"}]}`}.Write(t, dir)
	const engine = "temporal://127.0.0.1:7233/default"
	t.Setenv("WAVEX_OPT_WORKERS", engine)
	for _, args := range [][]string{{"worker", "--connect", "127.0.0.1:7233"}, {"workers"}, {"run"}, {"doctor"}} {
		var said bytes.Buffer
		code := Main(t.Context(), args, Stdio{In: strings.NewReader(""), Out: &said, Err: &said})
		if text := said.String(); code != 5 || strings.Count(text, "\n") != 1 ||
			!strings.Contains(text, "go install ./cmd/wavex (in the folder fleet") {
			t.Errorf("%q: exit %d\n%s", args, code, text)
		}
	}
	// Settings that the whole wavex shares have no effect in the core.
	t.Setenv("WAVEX_OPT_WORKERS", "")
	t.Setenv("WAVEX_OPT_HEARTBEAT", "1m")
	t.Setenv("XDG_CONFIG_HOME", dir)
	testrepo.Files{"wavex/config.yaml": "key-file: x\n"}.Write(t, dir)
	var said bytes.Buffer
	std := Stdio{In: strings.NewReader(""), Out: &said, Err: &said}
	if code := Main(t.Context(), []string{"config"}, std); code != 0 || strings.Contains(said.String(), "heartbeat") {
		t.Errorf("exit %d\n%s", code, &said)
	}
}
