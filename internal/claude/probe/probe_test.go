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

// enough bounds a probe that hangs; other probes are far faster.
const enough = 2 * time.Minute

// lying returns a CLI with one lie; "" is none.
func lying(t *testing.T, lie string) Target {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Target{Argv: []string{self, "fake", lie}, Env: os.Environ(), Managed: []string{}}
}

func TestHonest(t *testing.T) {
	t.Parallel()
	r := All(t.Context(), lying(t, "honest"), enough)
	if got := r.Verdicts.Select(statement.Holds); len(got) != len(statement.All()) || r.Err != nil || len(r.Why) > 0 {
		t.Errorf("%v, %v, %v", r.Verdicts, r.Why, r.Err)
	}
}

// If a CLI breaks a statement, exactly that one fails, and those that depend on it.
func TestOneLie(t *testing.T) {
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
			r := probes(t.Context(), lying(t, string(s.ID)), enough)
			if !r.Verdicts.Fails(s.ID) || r.Why[s.ID] == "" {
				t.Errorf("%s: %s, seen: %q, %v", s.ID, r.Verdicts[s.ID], r.Why[s.ID], r.Err)
			}
			for _, other := range r.Verdicts.Select(statement.Fails) {
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
		"hang":    errSlow.Error(),
		"garbage": "ended with exit status 0: hello",
		"login":   "Please run /login",
	} {
		t.Run(lie, func(t *testing.T) {
			t.Parallel()
			limit := enough
			if lie == "hang" {
				limit = time.Second
			}
			r := Urgent(t.Context(), lying(t, lie), limit)
			if len(r.Verdicts) > 0 || r.Err == nil || !strings.Contains(r.Err.Error(), why) {
				t.Errorf("%v, %v", r.Verdicts, r.Err)
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
	if r := Urgent(t.Context(), lying(t, "ends"), enough); !r.Verdicts.Fails(statement.OneResult) {
		t.Errorf("%v, %v", r.Verdicts, r.Err)
	}
}

// The session that is resumed is the one that the CLI named.
func TestAnotherSession(t *testing.T) {
	t.Parallel()
	r := Urgent(t.Context(), lying(t, "renames"), enough)
	if !r.Verdicts.Fails(statement.SessionID) || !r.Verdicts.Holds(statement.Resume) || r.Err != nil {
		t.Errorf("%v, %v, %v", r.Verdicts, r.Why, r.Err)
	}
}

func TestManagedIsNotProbed(t *testing.T) {
	t.Parallel()
	target := lying(t, "honest")
	path := filepath.Join(t.TempDir(), "managed-settings.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	target.Managed = []string{filepath.Join(t.TempDir(), "none"), path}
	if r := Urgent(t.Context(), target, enough); len(r.Verdicts) > 0 || r.Err == nil ||
		!strings.Contains(r.Err.Error(), path) {
		t.Errorf("%v, %v", r.Verdicts, r.Err)
	}
}

// The environment of a probe has no login, no provider and no proxy of the user.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	r := room{root: "/scratch", project: "/scratch/project"}
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
