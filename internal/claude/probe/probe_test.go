package probe

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wavex/internal/claude/statement"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "fake" {
		os.Exit(fakeCLI(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// probeLimit bounds a probe that hangs; other probes are far faster.
const probeLimit = 2 * time.Minute

// lyingTarget returns a CLI with one lie; "" is none.
func lyingTarget(t *testing.T, lie string) Target {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Target{Argv: []string{self, "fake", lie}, Env: os.Environ(), Managed: []string{}}
}

func TestAllHold(t *testing.T) {
	t.Parallel()
	r := All(t.Context(), lyingTarget(t, "honest"), probeLimit)
	if got := r.Support.Select(statement.Holds); len(got) != len(statement.All()) || r.Err != nil || len(r.Why) > 0 {
		t.Errorf("%v, %v, %v", r.Support, r.Why, r.Err)
	}
}

// If a CLI breaks a statement, exactly that one fails, and those that depend on it.
func TestOneFails(t *testing.T) {
	t.Parallel()
	also := map[statement.ID][]statement.ID{
		statement.OneResult:       {statement.TurnCost, statement.TotalCost}, // a duplicate result belongs to no turn
		statement.TotalCost:       {statement.ResumedTotal},
		statement.InterruptedCost: {statement.TurnCost},
		statement.Cap:             {statement.ResumedCap},
	}
	for _, s := range statement.All() {
		t.Run(string(s.ID), func(t *testing.T) {
			t.Parallel()
			probes := All
			if s.Kind.Urgent() {
				probes = Urgent
			}
			r := probes(t.Context(), lyingTarget(t, string(s.ID)), probeLimit)
			if r.Support[s.ID] != statement.Fails || r.Why[s.ID] == "" {
				t.Errorf("%s: %s, seen: %q, %v", s.ID, r.Support[s.ID], r.Why[s.ID], r.Err)
			}
			for _, other := range r.Support.Select(statement.Fails) {
				if other.ID != s.ID && !slices.Contains(also[s.ID], other.ID) {
					t.Errorf("%s fails too: %s", other.ID, r.Why[other.ID])
				}
			}
		})
	}
}

// A CLI that shows nothing gives no verdicts.
func TestUnknown(t *testing.T) {
	t.Parallel()
	for lie, why := range map[string]string{
		"hang":    errTimeout.Error(),
		"garbage": "ended with exit status 0: hello",
		"login":   "Please run /login",
	} {
		t.Run(lie, func(t *testing.T) {
			t.Parallel()
			limit := probeLimit
			if lie == "hang" {
				limit = time.Second
			}
			r := Urgent(t.Context(), lyingTarget(t, lie), limit)
			if len(r.Support) > 0 || r.Err == nil || !strings.Contains(r.Err.Error(), why) {
				t.Errorf("%v, %v", r.Support, r.Err)
			}
			if got := errors.Is(r.Err, ErrEnded); got != (lie != "hang") {
				t.Errorf("ended %t: %v", got, r.Err)
			}
		})
	}
}

// A process that ends its turn without a result breaks the statement.
func TestNoResult(t *testing.T) {
	t.Parallel()
	if r := Urgent(t.Context(), lyingTarget(t, "ends"), probeLimit); r.Support[statement.OneResult] != statement.Fails {
		t.Errorf("%v, %v", r.Support, r.Err)
	}
}

// The session that is resumed is the one that the CLI named.
func TestAnotherSession(t *testing.T) {
	t.Parallel()
	r := Urgent(t.Context(), lyingTarget(t, "renames"), probeLimit)
	if r.Support[statement.SessionID] != statement.Fails || !r.Support.Holds(statement.Resume) || r.Err != nil {
		t.Errorf("%v, %v, %v", r.Support, r.Why, r.Err)
	}
}

func TestManagedIsNotProbed(t *testing.T) {
	t.Parallel()
	target := lyingTarget(t, "honest")
	path := filepath.Join(t.TempDir(), "managed-settings.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	target.Managed = []string{filepath.Join(t.TempDir(), "none"), path}
	if r := Urgent(t.Context(), target, probeLimit); len(r.Support) > 0 || r.Err == nil ||
		!strings.Contains(r.Err.Error(), path) {
		t.Errorf("%v, %v", r.Support, r.Err)
	}
}

// The environment of a probe has no login, no provider and no proxy of the user.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	r := sandbox{root: "/scratch", project: "/scratch/project"}
	parent := []string{"PATH=/bin", "HOME=/home/u", "ANTHROPIC_API_KEY=secret", "ANTHROPIC_AUTH_TOKEN=secret",
		"CLAUDE_CODE_OAUTH_TOKEN=secret",
		"AWS_SECRET_ACCESS_KEY=secret", "HTTPS_PROXY=http://proxy", "https_proxy=http://proxy", "CLAUDE_CODE_USE_BEDROCK=1",
		"NODE_OPTIONS=--require=x",
		"ANTHROPIC_MODEL=other", "ASDF_DATA_DIR=/home/u/.asdf", "LC_ALL=C", "LANGUAGE=de"}
	for _, wrapper := range []bool{false, true} {
		env := strings.Join(r.environ(parent, wrapper, "http://127.0.0.1:1"), "\n") + "\n"
		for _, part := range []string{"secret", "proxy\n", "BEDROCK", "NODE_OPTIONS", "ANTHROPIC_MODEL"} {
			if strings.Contains(env, part) {
				t.Errorf("%s is in\n%s", part, env)
			}
		}
		for part, want := range map[string]bool{"PATH=/bin\n": true, "LC_ALL=C\n": true,
			"ANTHROPIC_BASE_URL=http://127.0.0.1:1\n": true,
			"HOME=/home/u\n": wrapper, "HOME=/scratch\n": !wrapper, "ASDF_DATA_DIR": wrapper, "LANGUAGE": false} {
			if strings.Contains(env, part) != want {
				t.Errorf("wrapper %t: %q %t\n%s", wrapper, part, !want, env)
			}
		}
	}
}
