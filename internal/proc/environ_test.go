package proc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEnviron(t *testing.T) {
	t.Parallel()
	parent := []string{
		"PATH=/first", "PATH=/bin", "HOME=/h", "LC_ALL=C", "http_proxy=p", "HTTPS_PROXY=q", "npm_config_registry=r",
		"ANTHROPIC_API_KEY=key", "CLAUDE_CODE_USE_BEDROCK=1", "AWS_PROFILE=a", "GOPATH=/g", "DOCKER_HOST=d",
		"NODE_EXTRA_CA_CERTS=c",
		"CLAUDE_CODE_OAUTH_TOKEN=o", "IS_SANDBOX=1", "DISABLE_TELEMETRY=1", "SSH_AUTH_SOCK=s", "=C:=weird",
		"nonsense", "EMPTY",
		// Foreign secrets, and variables that would redirect or disturb a child.
		"GITHUB_TOKEN=x", "DATABASE_URL=x", "STRIPE_SECRET_KEY=x", "OPENAI_API_KEY=x", "npm_package_name=x",
		"npm_lifecycle_event=x",
		"MAKEFLAGS=x", "GIT_DIR=x", "GIT_INDEX_FILE=x", "LD_PRELOAD=x", "BASH_ENV=x", "ENV=x", "path=x", "Path=x", "PWD=x",
		"SUDO_COMMAND=x",
		// Marks of nesting.
		"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SSE_PORT=1", "CLAUDE_CODE_SESSION_ID=x",
		"CLAUDE_CODE_SESSION_ACCESS_TOKEN=x", "CLAUDE_CODE_TASK_LIST_ID=x", "CLAUDE_CODE_REMOTE=1",
		"CLAUDE_CODE_CHILD_SESSION=1",
		"CLAUDE_ENV_FILE=x", "CLAUDE_PROJECT_DIR=x", "CLAUDE_SESSION_ID=x", "WAVEX_RUN=x", "WAVEX_ATTEMPT=x",
		"WAVEX_OPT_BUDGET=x",
	}
	base := []string{
		"ANTHROPIC_API_KEY=key", "AWS_PROFILE=a", "CLAUDE_CODE_OAUTH_TOKEN=o", "CLAUDE_CODE_USE_BEDROCK=1",
		"DISABLE_TELEMETRY=1",
		"DOCKER_HOST=d", "GOPATH=/g", "HOME=/h", "HTTPS_PROXY=q", "IS_SANDBOX=1", "LC_ALL=C", "NODE_EXTRA_CA_CERTS=c",
		"PATH=/bin",
		"SSH_AUTH_SOCK=s", "http_proxy=p", "npm_config_registry=r",
	}
	with := func(more ...string) []string {
		out := slices.Concat(base, more)
		slices.Sort(out)
		return out
	}
	for _, c := range []struct {
		name string
		pass []string
		add  map[string]string
		want []string
	}{
		{"the list and nothing else", nil, nil, base},
		{"what is passed by name", []string{"DATABASE_URL", "STRIPE_*"}, nil, with("DATABASE_URL=x", "STRIPE_SECRET_KEY=x")},
		{"not even then", []string{"CLAUDECODE", "CLAUDE_CODE_*", "WAVEX_*"}, nil, base},
		{"what is added wins", nil, map[string]string{"WAVEX_RUN": "r", "CLAUDE_CODE_TASK_LIST_ID": "l", "IS_SANDBOX": ""},
			slices.DeleteFunc(with("WAVEX_RUN=r", "CLAUDE_CODE_TASK_LIST_ID=l", "IS_SANDBOX="),
				func(s string) bool { return s == "IS_SANDBOX=1" })},
	} {
		if got := inherit(parent, c.pass, false).With(c.add); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
	if got := Environ(parent, nil); !slices.Contains(got, "ANTHROPIC_API_KEY=key") ||
		slices.Contains(got, "GITHUB_TOKEN=x") {
		t.Errorf("Environ: %q", got)
	}
}

func TestEnvironFolds(t *testing.T) {
	t.Parallel()
	got := inherit([]string{"Path=C:\\bin", "SYSTEMROOT=C:\\W", "ClaudeCode=1", "secret=x"}, []string{"claudecode"},
		true).With(map[string]string{"PATH": "D:"})
	if want := []string{"PATH=D:", "SYSTEMROOT=C:\\W"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNothingElsePasses draws names that are on no list: none may pass, and every name appears
// once.
func TestNothingElsePasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,12}`)
		var parent []string
		for _, n := range rapid.SliceOf(name).Draw(t, "names") {
			parent = append(parent, n+"=v")
		}
		stem := rapid.SampledFrom(slices.Concat(allowed, denied)).Draw(t, "stem")
		parent = append(parent, fmt.Sprintf("%s=v", strings.ReplaceAll(stem, "*", "X")),
			"X"+strings.TrimSuffix(stem, "*")+"=v")
		add := map[string]string{name.Draw(t, "added"): "a"}
		seen := map[string]bool{}
		for _, kv := range inherit(parent, nil, false).With(add) {
			k, v, _ := strings.Cut(kv, "=")
			if seen[k] {
				t.Fatalf("%s twice", k)
			}
			seen[k] = true
			if _, own := add[k]; own {
				if v != "a" {
					t.Fatalf("%s is %s, not what was added", k, v)
				}
				continue
			}
			ok := slices.ContainsFunc(allowed, func(p string) bool {
				return p == k || strings.HasSuffix(p, "*") && strings.HasPrefix(k, p[:len(p)-1])
			})
			if !ok || v != "v" {
				t.Fatalf("%s passed", kv)
			}
			for _, p := range denied {
				if p == k || strings.HasSuffix(p, "*") && strings.HasPrefix(k, p[:len(p)-1]) {
					t.Fatalf("%s passed, a mark of nesting", kv)
				}
			}
		}
	})
}

// TestNameListsAreValid catches a pattern that matches something else than it seems to.
func TestNameListsAreValid(t *testing.T) {
	t.Parallel()
	for _, w := range slices.Concat(allowed, denied) {
		if stem := strings.TrimSuffix(w, "*"); len(stem) < 2 || strings.ContainsAny(stem, "*?[= ") {
			t.Errorf("%q", w)
		}
	}
}
