package transcript

import (
	"fmt"
	"io"
	"strings"
)

// Diff reads a stream and returns the edits of the agent's tools in the form of a unified diff,
// edit by edit in order and not merged. Paths are relative to the agent's working directory (dir,
// if the stream does not name one). At max bytes it stops with a line that says so. The diff is for
// people to read, not to apply. The error is that of in.
func Diff(in io.Reader, dir string, max int) (string, error) {
	var b strings.Builder
	more := 0
	last := ""
	err := Read(in, func(e Entry) error {
		if e.Kind == Init && e.Target != "" {
			dir = e.Target
		}
		for _, c := range e.Patch {
			path := relativePath(dir, c.Path)
			if b.Len() > max {
				more++
				continue
			}
			if path != last {
				from := "a/" + path
				if c.Created {
					from = "/dev/null"
				}
				fmt.Fprintf(&b, "--- %s\n+++ b/%s\n", from, path)
				last = path
			}
			for i, l := range c.Lines {
				if b.Len()+len(l) > max {
					fmt.Fprintf(&b, "@@ %d more lines of this edit are left out @@\n", len(c.Lines)-i)
					break
				}
				b.WriteString(l + "\n")
			}
		}
		return nil
	})
	if more > 0 {
		fmt.Fprintf(&b, "@@ %d more edits are left out @@\n", more)
	}
	return b.String(), err
}

func relativePath(dir, path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(strings.ReplaceAll(dir, `\`, "/"), "/")+"/"); ok &&
		dir != "" {
		return rest
	}
	return strings.TrimPrefix(path, "/")
}
