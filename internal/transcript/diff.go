package transcript

import (
	"fmt"
	"strings"
)

// Differ collects the edits of the agent's tools in the form of a unified diff, edit by edit in order and not merged.
// Paths are relative to the agent's working directory. The diff is for people to read, not to apply.
type Differ struct {
	Dir string // the working directory, if the stream does not name one
	Max int    // bytes after which a line says that the rest is left out

	text strings.Builder
	last string // path
	more int    // edits that are left out
}

// Add adds the edits of the stream's next entry.
func (d *Differ) Add(e Entry) {
	if e.Kind == Init && e.Target != "" {
		d.Dir = e.Target
	}
	for _, c := range e.Patch {
		if d.text.Len() > d.Max {
			d.more++
			continue
		}
		if path := relativePath(d.Dir, c.Path); path != d.last {
			from := "a/" + path
			if c.Created {
				from = "/dev/null"
			}
			fmt.Fprintf(&d.text, "--- %s\n+++ b/%s\n", from, path)
			d.last = path
		}
		for i, l := range c.Lines {
			if d.text.Len()+len(l) > d.Max {
				fmt.Fprintf(&d.text, "@@ %d more lines of this edit are left out @@\n", len(c.Lines)-i)
				break
			}
			d.text.WriteString(l + "\n")
		}
	}
}

// String returns the diff of the entries so far.
func (d *Differ) String() string {
	if d.more > 0 {
		return d.text.String() + fmt.Sprintf("@@ %d more edits are left out @@\n", d.more)
	}
	return d.text.String()
}

func relativePath(dir, path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(strings.ReplaceAll(dir, `\`, "/"), "/")+"/"); ok &&
		dir != "" {
		return rest
	}
	return strings.TrimPrefix(path, "/")
}
