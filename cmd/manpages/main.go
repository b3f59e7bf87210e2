// Command manpages writes a man page for each command of wavex into an existing folder, for
// packages:
//
//	go run ./cmd/manpages share/man/man1
//
// It is a separate program so that wavex does not link the page generator.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"wavex/cmd"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manpages DIR")
		os.Exit(2)
	}
	if err := write(cmd.Root(cmd.Stdio{}), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "manpages:", err)
		os.Exit(1)
	}
}

// write writes the pages of a command and of its subcommands. The pages have no date, so that two
// builds of one commit are the same.
func write(c *cobra.Command, dir string) error {
	if c.Name() == "help" || c.Hidden {
		return nil
	}
	c.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "wavex " + cmd.Version(), Manual: "wavex", Date: &time.Time{}}
	var page bytes.Buffer
	if err := doc.GenMan(c, header, &page); err != nil {
		return fmt.Errorf("the page of %s: %w", c.CommandPath(), err)
	}
	// The generator would print the zero date.
	text := strings.Replace(page.String(), `"Jan 0001"`, `""`, 1)
	// cobra writes a flag, a tab and its description as one paragraph; a tagged paragraph is meant.
	flagTag := regexp.MustCompile(`(?m)(^\.SH OPTIONS\n|^\.SH OPTIONS INHERITED FROM PARENT COMMANDS\n|)(?:^\.PP\n)?^(\\fB-.*)\n\t`)
	text = flagTag.ReplaceAllString(text, "$1.TP\n$2\n")
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	if err := maybe.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if err := write(sub, dir); err != nil {
			return err
		}
	}
	return nil
}
