package page

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// This file reads Markdown of agents into a tree of a few elements. The page's script makes elements of it, and the
// browser parses no markup: HTML inside the Markdown stays text.

// Markup is a piece of a text: an element, or with an empty Tag plain text.
type Markup struct {
	Tag  string   `json:"t,omitempty"`
	URL  string   `json:"u,omitempty"` // of an "a": an address that starts with http: or https:
	Text string   `json:"x,omitempty"`
	Kids []Markup `json:"k,omitempty"`
}

// maxNesting bounds the depth of a tree. Below it, only the text is kept.
const maxNesting = 40

// newMarkup returns the tree of a clean text.
func newMarkup(source string) []Markup {
	if source == "" {
		return nil
	}
	src := []byte(source)
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(src))
	return markupKids(doc, src, 0)
}

func markupKids(parent ast.Node, src []byte, depth int) (out []Markup) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		m := newNode(n, src, depth)
		if last := len(out) - 1; m.Tag == "" && len(m.Kids) == 0 && last >= 0 && out[last].Tag == "" {
			out[last].Text += m.Text // neighbours of the same text
			continue
		}
		if m.Tag == "" && len(m.Kids) > 0 { // a node without an element of its own
			out = append(out, m.Kids...)
			continue
		}
		if m.Tag != "" || m.Text != "" {
			out = append(out, m)
		}
	}
	return out
}

// newNode returns the tree of one node. With an empty Tag, either Text or Kids is set.
func newNode(n ast.Node, src []byte, depth int) Markup {
	element := func(tag string) Markup {
		if depth >= maxNesting {
			return Markup{Kids: markupKids(n, src, depth)}
		}
		return Markup{Tag: tag, Kids: markupKids(n, src, depth+1)}
	}
	switch n := n.(type) {
	case *ast.Text:
		return Markup{Text: string(n.Value(src)) + map[bool]string{true: "\n"}[n.SoftLineBreak() || n.HardLineBreak()]}
	case *ast.String:
		return Markup{Text: string(n.Value)}
	case *ast.CodeBlock, *ast.FencedCodeBlock, *ast.HTMLBlock:
		return Markup{Tag: "pre", Text: strings.TrimRight(string(n.Lines().Value(src)), "\n")}
	case *ast.RawHTML:
		return Markup{Text: string(n.Segments.Value(src))}
	case *ast.Heading:
		return element(map[bool]string{true: "h5", false: "h6"}[n.Level < 3])
	case *ast.Emphasis:
		return element(map[bool]string{true: "em", false: "strong"}[n.Level == 1])
	case *ast.List:
		return element(map[bool]string{true: "ol", false: "ul"}[n.IsOrdered()])
	case *ast.Link:
		return link(element("a"), string(n.Destination))
	case *ast.AutoLink:
		return link(Markup{Tag: "a", Text: string(n.Label(src))}, string(n.URL(src)))
	case *extast.TaskCheckBox:
		return Markup{Text: map[bool]string{true: "[x] ", false: "[ ] "}[n.IsChecked]}
	}
	if tag := elements[n.Kind()]; tag != "" {
		return element(tag)
	}
	return Markup{Kids: markupKids(n, src, depth)} // for example an image: its description
}

// link returns an element that leads to an address on the web, or its text only.
func link(m Markup, address string) Markup {
	if strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") {
		m.URL = address
		return m
	}
	m.Tag = ""
	return m
}

// elements lists the elements of nodes without attributes.
var elements = map[ast.NodeKind]string{
	ast.KindParagraph: "p", ast.KindBlockquote: "blockquote", ast.KindListItem: "li", ast.KindThematicBreak: "hr",
	ast.KindCodeSpan: "code", extast.KindStrikethrough: "del", extast.KindTable: "table", extast.KindTableHeader: "tr",
	extast.KindTableRow: "tr", extast.KindTableCell: "td",
}
