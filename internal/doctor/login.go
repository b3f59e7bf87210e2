package doctor

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/internal/proc"
	"wavex/internal/textfmt"
)

// loginVars lists the variables that log the CLI in, with their meaning. Login checks only whether
// they are set.
var loginVars = []struct{ name, what string }{
	{"ANTHROPIC_API_KEY", "an API key"},
	{"ANTHROPIC_AUTH_TOKEN", "a gateway's token"},
	{"CLAUDE_CODE_OAUTH_TOKEN", "a subscription token"},
	{"CLAUDE_CODE_USE_BEDROCK", "Amazon Bedrock"},
	{"CLAUDE_CODE_USE_VERTEX", "Google Vertex AI"},
	{"CLAUDE_CODE_USE_FOUNDRY", "Microsoft Foundry"},
}

// ConfigDir returns the folder of the CLI's own files in the environment of attempts; "" if
// neither CLAUDE_CONFIG_DIR nor a home directory is known.
func ConfigDir(env []string) string {
	if d := proc.Getenv(env, "CLAUDE_CONFIG_DIR"); d != "" {
		return d
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if h := proc.Getenv(env, name); h != "" {
			return filepath.Join(h, ".claude")
		}
	}
	return ""
}

// Login reports how the CLI is logged in, as far as that is visible without reading a secret: the
// variables set in the environment of attempts, and whether a credentials file exists. keychain
// means that this system keeps credentials where they are not visible (macOS).
func Login(env []string, keychain bool) Check {
	const name = "login"
	var found []string
	for _, l := range loginVars {
		if proc.Getenv(env, l.name) != "" {
			found = append(found, l.name+" is set ("+l.what+")")
		}
	}
	dir := ConfigDir(env)
	if dir != "" && isFile(filepath.Join(dir, ".credentials.json")) {
		found = append(found, "there is a credentials file in "+dir)
	}
	const fix = "log in with `claude`, or set ANTHROPIC_API_KEY"
	switch {
	case len(found) > 0:
		return okCheck(name, strings.Join(found, "; "))
	case keychain:
		return warnCheck(name, "no variable and no credentials file; the keychain was not asked", fix+"; --probe finds out")
	case dir != "" && isFile(filepath.Join(dir, "settings.json")):
		return warnCheck(name, "no variable and no credentials file; settings may name a helper that logs in",
			fix+"; --probe finds out")
	}
	return failCheck(name, "the CLI is not logged in: no variable is set and there is no credentials file", fix)
}

// LoginKind returns the kind of the login that Login sees, for people: the CLI prefers the variables, in their order.
func LoginKind(env []string) string {
	for _, l := range loginVars {
		if proc.Getenv(env, l.name) != "" {
			return l.what
		}
	}
	if dir := ConfigDir(env); dir != "" && isFile(filepath.Join(dir, ".credentials.json")) {
		return "a credentials file"
	}
	return "of the CLI"
}

// LoggedOut reports whether the CLI itself says that it has no login. It runs `claude auth
// status` in dir, which knows helpers, settings, keychains and providers, and makes no request
// (observed on claude 2.1.330). It returns false if there is no answer within wait,
// or another answer.
func LoggedOut(ctx context.Context, argv, env []string, dir string, wait time.Duration) bool {
	said, _ := runOutput(ctx, programRun{argv: slices.Concat(argv, []string{"auth", "status"}), dir: dir, env: env},
		wait) // exit code 1 without a login
	_, object, found := strings.Cut(said, "{")
	var status struct {
		LoggedIn *bool `json:"loggedIn"`
	}
	err := json.NewDecoder(strings.NewReader("{" + object)).Decode(&status)
	return found && err == nil && status.LoggedIn != nil && !*status.LoggedIn
}

// Bypass reports whether attempts may bypass permissions: the CLI refuses that as root outside a
// sandbox (observed on 2.1.330). tasks are the tasks that ask for it.
func Bypass(tasks []string, root bool, env []string) Check {
	const name = "permissions"
	switch {
	case len(tasks) == 0:
		return okCheck(name, "no task bypasses permissions")
	case root && proc.Getenv(env, "IS_SANDBOX") != "1":
		return failCheck(name,
			"permissionMode bypassPermissions of "+textfmt.FirstOf(tasks, 5, 0)+" is refused by the CLI as root",
			"run as another user, or use permissionMode acceptEdits with allowedTools; in a sandbox of its own set IS_SANDBOX=1")
	}
	return warnCheck(name, "permissions are bypassed by "+textfmt.FirstOf(tasks, 5, 0),
		"keep that to sandboxes; acceptEdits with allowedTools says what an agent may do")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
