package cmd

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is the release. The linker sets it in a release build.
var version = "dev"

// Version returns the release, or the commit of a development build.
func Version() string {
	if commit := buildSettings()["vcs.revision"]; version == "dev" && len(commit) >= 12 {
		return version + "+" + commit[:12]
	}
	return version
}

// buildSettings returns the settings that the Go command recorded of the build.
func buildSettings() map[string]string {
	settings := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
	}
	return settings
}

// buildInfo returns the commit and its time, followed by a comma, or "" if the build did not record
// them.
func buildInfo() string {
	vcs := buildSettings()
	if vcs["vcs.revision"] == "" {
		return ""
	}
	text := "commit " + vcs["vcs.revision"] + " of " + vcs["vcs.time"]
	if vcs["vcs.modified"] == "true" {
		text += ", modified"
	}
	return text + ", "
}

func newVersion(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of wavex",
		Long:    "version prints the version of wavex and what it was built with.\n\nExit status: 0.",
		Example: "  wavex version",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return printVersion(std.Out) },
	}
}

func printVersion(out io.Writer) error {
	_, err := fmt.Fprintf(out, "wavex %s (%s%s, %s/%s)\n", Version(), buildInfo(), runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
	return err
}
