package scan

import (
	"io/fs"
	"path"
	"strings"
)

// Link is a required connection: one of two files must name the other.
type Link struct{ From, To, Why string }

// Links checks that files are connected. It skips a link if neither of its files can be read as
// text.
func Links(root fs.FS, links []Link) []Gap {
	p := &project{root: root}
	var out []Gap
	for _, l := range links {
		from, here := p.read(path.Clean(l.From))
		to, there := p.read(path.Clean(l.To))
		if here && mentionsFile(from, l.To) || there && mentionsFile(to, l.From) {
			continue
		}
		g := Gap{Type: BrokenLink, File: path.Clean(l.From), Description: "it is to be connected with " + l.To +
			", and neither names the other"}
		switch {
		case !here:
			g.Description = "it is to be connected with " + l.To + ", and is not there"
		case !there:
			g.Description = "it is to be connected with " + l.To + ", which is not there"
		}
		if l.Why != "" {
			g.Evidence = "asked for: " + l.Why
		}
		out = append(out, g)
	}
	return out
}

// mentionsFile reports whether a text contains the name of a file or, as in imports, its path without
// the extension at the end of a string.
func mentionsFile(text, file string) bool {
	base := path.Base(path.Clean(file))
	stem := strings.TrimSuffix(base, path.Ext(base))
	return strings.Contains(text, base) || strings.Contains(text, "/"+stem+`"`) || strings.Contains(text, "/"+stem+"'")
}
