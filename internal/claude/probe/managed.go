package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

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
