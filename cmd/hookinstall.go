package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/spf13/cobra"

	"wavex/internal/doctor"
	"wavex/internal/hook"
	"wavex/internal/runlog"
	"wavex/internal/usererr"
)

type hooksOptions struct {
	user, uninstall bool
}

func newHookInstall(std Stdio) *cobra.Command {
	var o hooksOptions
	install := &cobra.Command{
		Use:   "install",
		Short: "Install the hooks",
		Long: `install adds wavex's Stop and SessionStart hooks to Claude Code's settings:
.claude/settings.json of the current directory, or with --user those of all
projects (CLAUDE_CONFIG_DIR, else .claude in the home directory). Other settings
stay unchanged; before a change it saves a copy beside the file. If the hooks
are installed already, it updates them to this wavex if necessary. The plugin
has the same hooks: use only one of the two.

Exit status: 0 done, 2 settings that cannot be edited.`,
		Example: "  wavex hook install\n  wavex hook install --user\n  wavex hook install --uninstall",
		Args:    noArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			return installHooks(o, std)
		},
	}
	f := install.Flags()
	f.BoolVar(&o.user, "user", false, "the user's settings, for all projects")
	f.BoolVar(&o.uninstall, "uninstall", false, "remove the hooks")
	return install
}

func installHooks(o hooksOptions, std Stdio) error {
	path, err := settingsPath(o.user)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var out []byte
	if o.uninstall {
		out, err = hook.Uninstall(text)
	} else {
		var program string
		if program, err = hookProgram(o.user); err != nil {
			return err
		}
		out, err = hook.Install(text, program)
	}
	var bad *hook.SettingsError
	if errors.As(err, &bad) {
		return usage("%s:%s; nothing was changed", path, bad)
	}
	if err != nil {
		return err
	}
	if bytes.Equal(out, text) {
		fmt.Fprintf(std.Err, "%s: nothing to change\n", path)
	} else if err := replaceSettings(path, text, out, std); err != nil {
		return err
	}
	var settings struct {
		Off bool `json:"disableAllHooks"`
	}
	if json.Unmarshal(out, &settings) == nil && settings.Off && !o.uninstall {
		fmt.Fprintf(std.Err, "%s: hooks are turned off there by disableAllHooks\n", path)
	}
	return nil
}

// settingsPath returns the path of the settings file. It resolves a link, so that writing keeps the
// link.
func settingsPath(user bool) (string, error) {
	dir, err := filepath.Abs(".claude")
	if err != nil {
		return "", err
	}
	if user {
		if dir = doctor.ConfigDir(os.Environ()); dir == "" {
			return "", usererr.Blocked(errors.New("neither CLAUDE_CONFIG_DIR nor a home directory is known"))
		}
	}
	path := filepath.Join(dir, "settings.json")
	if target, err := filepath.EvalSymlinks(path); !errors.Is(err, fs.ErrNotExist) {
		return target, err
	}
	return path, nil
}

// hookProgram returns the command by which the settings call this wavex: its name in a project's
// settings, which also serve other machines, if PATH leads to this file; else its path.
func hookProgram(user bool) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if user {
		return self, nil
	}
	if found, err := exec.LookPath("wavex"); err == nil && sameFile(found, self) {
		return "wavex", nil
	}
	return self, nil
}

func replaceSettings(path string, text, out []byte, std Stdio) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if st, err := os.Stat(path); err == nil {
		mode = st.Mode().Perm()
		keep := path + ".bak-" + runlog.NewID(time.Now())
		if err := maybe.WriteFile(keep, text, mode); err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "%s: the former settings\n", keep)
	}
	if err := maybe.WriteFile(path, out, mode); err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "%s: changed\n", path)
	return nil
}
