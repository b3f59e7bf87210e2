package scan

import (
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"

	"wavex/internal/lazyregexp"
)

// This file looks at Markdown links to files of the project, and at the links of a plan. It knows inline links and
// definitions, and skips code, links to other sites, and anchors.

var (
	linkRe = lazyregexp.New(`!?\[[^\]\n]*\]\(\s*<?([^)>\s]+)>?(?:\s+["'(][^)\n]*)?\s*\)`)
	defRe  = lazyregexp.New(`(?m)^ {0,3}\[[^\]\n]+\]:\s*<?(\S+?)>?(?:\s|$)`)
	codeRe = lazyregexp.New("(`+)[^`\n]+(`+)")
)

func (p *project) scanMarkdown(name, text string) []Gap {
	text = blankCode(text)
	var out []Gap
	for _, re := range []func() *regexp.Regexp{linkRe, defRe} {
		for _, m := range re().FindAllStringSubmatchIndex(text, -1) {
			if p.isBroken(name, text[m[2]:m[3]]) {
				out = append(out, Gap{Type: BrokenLink, File: name, Line: lineOf(text, m[2]),
					Description: "the link to " + text[m[2]:m[3]] + " leads to no file"})
			}
		}
	}
	return out
}

// isBroken reports whether a link names a file of the project that is missing.
func (p *project) isBroken(name, link string) bool {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" || strings.ContainsAny(link, "{}$*|") {
		return false
	}
	if path.IsAbs(u.Path) || path.Ext(u.Path) == "" {
		return false // of a web site; a page of a site that is built from these files, or a folder
	}
	target := path.Join(path.Dir(name), u.Path)
	return target != ".." && !strings.HasPrefix(target, "../") && !p.exists(target)
}

// blankCode replaces fenced and inline code with blanks.
func blankCode(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		body := strings.TrimSpace(line)
		switch {
		case fence == "" && (strings.HasPrefix(body, "```") || strings.HasPrefix(body, "~~~")):
			fence = body[:3]
			line = blank(line)
		case fence != "":
			if strings.HasPrefix(body, fence) {
				fence = ""
			}
			line = blank(line)
		default:
			line = codeRe().ReplaceAllStringFunc(line, blank)
		}
		b.WriteString(line)
	}
	return b.String()
}

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
