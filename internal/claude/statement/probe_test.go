package statement

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wavex/internal/testrepo"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "fake" {
		os.Exit(fakeCLI(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// probeLimit bounds a probe that hangs; other probes are far faster.
const probeLimit = 2 * time.Minute

// lyingTarget returns a CLI with one lie; "" means no lie.
func lyingTarget(t *testing.T, lie string) Target {
	t.Helper()
	self, err := os.Executable()
	testrepo.Must(t, err)
	return Target{Argv: []string{self, "fake", lie}, Env: os.Environ(), Managed: []string{}}
}

func TestAllHold(t *testing.T) {
	t.Parallel()
	r := RunProbes(t.Context(), lyingTarget(t, "honest"), probeLimit)
	if got := r.Support.Select(Holds); len(got) != len(All()) || r.Err != nil || len(r.Why) > 0 {
		t.Errorf("%v, %v, %v", r.Support, r.Why, r.Err)
	}
}

// If a CLI breaks a statement, exactly that one fails.
func TestOneFails(t *testing.T) {
	t.Parallel()
	for _, s := range All() {
		t.Run(string(s.ID), func(t *testing.T) {
			t.Parallel()
			r := RunProbes(t.Context(), lyingTarget(t, string(s.ID)), probeLimit)
			if r.Support[s.ID] != Fails || r.Why[s.ID] == "" {
				t.Errorf("%s: %s, seen: %q, %v", s.ID, r.Support[s.ID], r.Why[s.ID], r.Err)
			}
			for _, other := range r.Support.Select(Fails) {
				if other.ID != s.ID {
					t.Errorf("%s fails too: %s", other.ID, r.Why[other.ID])
				}
			}
		})
	}
}

// A CLI in bare mode asks about no call, whatever it denies by itself.
func TestBareMode(t *testing.T) {
	t.Parallel()
	r := RunProbes(t.Context(), lyingTarget(t, "bare"), probeLimit)
	if got := IDs(r.Support.Select(Fails)); got != "denied" || r.Err != nil ||
		!strings.Contains(r.Why[Denied], "leave out --bare") {
		t.Errorf("%v, %v, %v", r.Support, r.Why, r.Err)
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
			r := RunProbes(t.Context(), lyingTarget(t, lie), limit)
			if len(r.Support) > 0 || r.Err == nil || !strings.Contains(r.Err.Error(), why) {
				t.Errorf("%v, %v", r.Support, r.Err)
			}
			if got := errors.Is(r.Err, ErrEnded); got != (lie != "hang") {
				t.Errorf("ended %t: %v", got, r.Err)
			}
		})
	}
}

func TestManagedIsNotProbed(t *testing.T) {
	t.Parallel()
	target := lyingTarget(t, "honest")
	path := filepath.Join(t.TempDir(), "managed-settings.json")
	testrepo.Must(t, os.WriteFile(path, []byte("{}"), 0o600))
	target.Managed = []string{filepath.Join(t.TempDir(), "none"), path}
	if r := RunProbes(t.Context(), target, probeLimit); len(r.Support) > 0 || r.Err == nil ||
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
