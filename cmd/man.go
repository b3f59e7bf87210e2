package cmd

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan writes the man pages, for packages of wavex; hidden, as nobody calls it twice.
func newMan(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write man pages",
		Hidden:  true,
		Long:    "man writes a man page for each command into a folder that is there.\n\nExit status: 0 written.",
		Example: "  wavex man share/man/man1",
		Args:    oneArg("a folder"),
		RunE:    func(c *cobra.Command, args []string) error { return writeMan(c.Root(), args[0]) },
	}
}

var flagTag = regexp.MustCompile(`(?m)(^\.SH OPTIONS\n|^\.SH OPTIONS INHERITED FROM PARENT COMMANDS\n|)(?:^\.PP\n)?^(\\fB-.*)\n\t`)

// writeMan writes the pages of a command and of those below it. They have no date of
// their own, so that two builds of one commit are the same.
func writeMan(c *cobra.Command, dir string) error {
	if c.Name() == "help" || c.Hidden {
		return nil
	}
	c.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "wavex " + versionText(), Manual: "wavex", Date: &time.Time{}}
	var page bytes.Buffer
	if err := doc.GenMan(c, header, &page); err != nil {
		return fmt.Errorf("the page of %s: %w", c.CommandPath(), err)
	}
	// The zero date would be printed as one.
	text := strings.Replace(page.String(), `"Jan 0001"`, `""`, 1)
	// cobra has a flag and a tab and its words in one paragraph; a tagged one is meant.
	text = flagTag.ReplaceAllString(text, "$1.TP\n$2\n")
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	if err := maybe.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if err := writeMan(sub, dir); err != nil {
			return err
		}
	}
	return nil
}
