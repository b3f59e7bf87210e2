package statement

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"wavex/internal/proc"
)

// passedVars are the variables of wavex's own environment that the CLI of a probe gets, because it
// needs them to start. Logins, providers, proxies and settings of the agent are not passed.
var passedVars = []string{"PATH", "LANG", "LC_", "TERM", "TZ", "USER", "LOGNAME", "SHELL",
	"SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "OS", "PROCESSOR_", "NUMBER_OF_PROCESSORS",
	"CLAUDE_CODE_GIT_BASH_PATH"}

// wrapperVars are the variables with which a wrapper finds the CLI to start.
var wrapperVars = []string{"HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_", "NVM_", "FNM_", "VOLTA_",
	"ASDF_", "MISE_", "NODENV_", "NIX_", "BUN_", "PNPM_HOME", "LD_LIBRARY_PATH"}

// sandbox is the folder of a probe, with a home, a project and a temporary folder.
type sandbox struct {
	root, project, outside string
}

// newSandbox creates a room in the system's temporary folder.
func newSandbox() (sandbox, error) {
	root, err := os.MkdirTemp("", "wavex-probe-")
	if err != nil {
		return sandbox{}, err
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real // the CLI resolves links
	}
	r := sandbox{root: root, project: filepath.Join(root, "project"), outside: filepath.Join(root, "elsewhere")}
	for _, d := range []string{r.project, r.outside, r.config(), filepath.Join(root, "tmp")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			r.remove()
			return sandbox{}, err
		}
	}
	for name, text := range r.fixtureFiles() {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			r.remove()
			return sandbox{}, err
		}
	}
	return r, nil
}

func (r sandbox) config() string { return filepath.Join(r.root, "config") }

func (r sandbox) remove() { _ = os.RemoveAll(r.root) } // leftover files in the temporary folder are harmless

// These are commands that the agent of a probe runs. Each leaves a file.
const (
	allowedCommand = "sh ./allowed.sh"
	longerCommand  = "sh ./allowed.sh more" // the allowed one with an argument
	otherCommand   = "sh ./other.sh"
)

// fixtureFiles returns the files of a room, by path.
func (r sandbox) fixtureFiles() map[string]string {
	return map[string]string{
		filepath.Join(r.project, "allowed.sh"):    "echo ran > \"ran-allowed$1\"\n",
		filepath.Join(r.project, "other.sh"):      "echo ran > ran-other\n",
		filepath.Join(r.project, "read.txt"):      "words\n",
		filepath.Join(r.config(), ".claude.json"): `{"hasCompletedOnboarding": true}`,
	}
}

// exists reports whether a file exists in the project.
func (r sandbox) exists(name string) bool { return pathExists(filepath.Join(r.project, name)) }

func pathExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// environ returns the environment of the CLI: a scratch configuration, the API at url, and the
// variables of parent that the CLI needs to start. A wrapper keeps its home, where its manager
// stores the programs that it starts.
func (r sandbox) environ(parent []string, wrapper bool, url string) []string {
	prefixes := passedVars
	if wrapper {
		prefixes = append(slices.Clone(passedVars), wrapperVars...)
	}
	tmp := filepath.Join(r.root, "tmp")
	add := map[string]string{
		"CLAUDE_CONFIG_DIR": r.config(), "TMPDIR": tmp, "TMP": tmp, "TEMP": tmp,
		"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "no-key", "NO_PROXY": "*", "no_proxy": "*",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"DISABLE_AUTOUPDATER":                      "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
		"CLAUDE_CODE_MAX_RETRIES": "1",
	}
	if !wrapper {
		add["HOME"], add["USERPROFILE"] = r.root, r.root
	}
	kept := slices.DeleteFunc(slices.Clone(parent), func(kv string) bool {
		return !slices.ContainsFunc(prefixes, func(p string) bool {
			return strings.HasPrefix(kv, p+"=") || strings.HasSuffix(p, "_") && strings.HasPrefix(kv, p)
		})
	})
	return proc.Environ(kept, add)
}

// managedSettings returns the paths of administrators' settings for the CLI, by operating system. These
// settings override the environment of a process (tried on claude 2.1.330 with ANTHROPIC_BASE_URL
// in their env), so the CLI of a probe could use another address, with a login.
func managedSettings(goos string) []string {
	switch goos {
	case "darwin":
		return []string{"/Library/Application Support/ClaudeCode/managed-settings.json",
			"/Library/Managed Preferences/com.anthropic.claudecode.plist"}
	case "windows":
		return []string{filepath.Join(os.Getenv("ProgramFiles"), "ClaudeCode", "managed-settings.json"),
			filepath.Join(os.Getenv("ProgramData"), "ClaudeCode", "managed-settings.json")}
	}
	return []string{"/etc/claude-code/managed-settings.json", "/etc/claude-code/managed-settings.d"}
}

// checkUnmanaged returns an error if the machine has administrators' settings: nothing is probed then.
func (t Target) checkUnmanaged() error {
	places := t.Managed
	if places == nil {
		places = managedSettings(runtime.GOOS)
	}
	for _, path := range places {
		if pathExists(path) {
			return fmt.Errorf("not probed: an administrator's settings are in %s", path)
		}
	}
	return nil
}
