// This file reads one expert's profile: front matter between two lines of "---", then a body that
// becomes the system prompt. It knows no case.

package counsel

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxBody bounds the body of a profile, in bytes. Every call pays for it, and a whole request
// stays bounded (see caseBrief).
const maxBody = 1500

// Expert is one profile: a role, and its way of thinking. Aspects, Failures and Files determine
// when to ask it.
type Expert struct {
	Name     string   // lower case, digits and dashes; also a folder's name in the log folder
	Aspects  []string // subjects of tasks: "security", "data"
	Failures []string // kinds of failure, from FailureKinds; "any" matches every failure, with a low weight
	Files    []string // kinds of files: extensions without the dot, or "test", "ci", "dockerfile"
	Body     string   // its way of thinking
	Source   string   // the file it comes from, for errors
}

// ProfileError is a mistake in an expert's profile.
type ProfileError struct {
	File    string
	Line    int // from 1
	Problem string
}

func (e *ProfileError) Error() string {
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem)
}

// parseProfile reads a profile. Its errors are all *ProfileError.
func parseProfile(file string, data []byte) (Expert, error) {
	bad := func(line int, format string, args ...any) (Expert, error) {
		return Expert{}, &ProfileError{file, line, fmt.Sprintf(format, args...)}
	}
	text := string(bytes.ToValidUTF8(data, []byte("\uFFFD")))
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\uFEFF")
	lines := strings.Split(text, "\n")
	if strings.TrimRight(lines[0], " \t") != "---" {
		return bad(1, "a profile starts with front matter: a line ---, then name, aspects, failures, files, then another line ---")
	}
	end := -1
	for i := 1; i < len(lines); i++ {
		if strings.TrimRight(lines[i], " \t") == "---" {
			end = i
			break
		}
	}
	if end < 0 {
		return bad(1, "the front matter has no end; close it with a line ---")
	}

	e := Expert{Source: file}
	if err := parseFrontMatter(&e, strings.Join(lines[1:end], "\n")); err != nil {
		// The front matter begins on line 2 of the file.
		return bad(err.line+1, "%s", err.problem)
	}
	if e.Name == "" {
		return bad(1, "the profile has no name; write one, such as `name: %s`", suggestName(file))
	}
	e.Body = strings.TrimSpace(strings.Join(lines[end+1:], "\n"))
	if e.Body == "" {
		return bad(end+1, "the profile says nothing below its front matter; write how this expert thinks")
	}
	if len(e.Body) > maxBody {
		return bad(end+2, "the text has %d bytes; at most %d, since every call pays for it", len(e.Body), maxBody)
	}
	return e, nil
}

type frontMatterError struct {
	line    int // within the front matter, from 1
	problem string
}

// parseFrontMatter reads the keys one by one instead of decoding into a struct, so that each error has
// its line.
func parseFrontMatter(e *Expert, text string) *frontMatterError {
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		fe := &frontMatterError{1, "the front matter is not YAML"}
		if ye, ok := errors.AsType[yaml.Error](err); ok {
			fe.problem += ": " + oneLine(ye.GetMessage(), 200)
			if tok := ye.GetToken(); tok != nil && tok.Position != nil {
				fe.line = tok.Position.Line
			}
		}
		return fe
	}
	if len(file.Docs) != 1 {
		return &frontMatterError{1, "the front matter is not one list of keys"}
	}
	var pairs []*ast.MappingValueNode
	switch n := file.Docs[0].Body.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case nil, *ast.NullNode, *ast.CommentGroupNode: // no keys
	default:
		return &frontMatterError{1, "the front matter is not a list of keys; write `name: ...` and so on"}
	}
	for _, pair := range pairs {
		if fe := readKey(e, pair); fe != nil {
			return fe
		}
	}
	return nil
}

func readKey(e *Expert, pair *ast.MappingValueNode) *frontMatterError {
	line := pair.Key.GetToken().Position.Line
	key := pair.Key.String()
	words, ok := scalars(pair.Value)
	if !ok {
		return &frontMatterError{line, fmt.Sprintf("%s is a word or a list of words, such as [a, b]", oneLine(key, 40))}
	}
	switch key {
	case "name":
		if len(words) != 1 || !validName(words[0]) {
			return &frontMatterError{line, "name is one word of lower-case letters, digits and dashes, at most 32"}
		}
		e.Name = words[0]
	case "aspects":
		e.Aspects = normalise(words)
	case "failures":
		e.Failures = normalise(words)
		known := FailureKinds()
		for _, w := range e.Failures {
			if w != anyFailure && !slices.Contains(known, w) {
				return &frontMatterError{line, fmt.Sprintf("no kind of failure is called %q; there are: %s, %s",
					oneLine(w, 40), anyFailure, strings.Join(known, ", "))}
			}
		}
	case "files":
		for i, w := range words {
			words[i] = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(w), "*"), ".")
		}
		e.Files = normalise(words)
	default:
		return &frontMatterError{line, fmt.Sprintf("no key is called %q; there are: name, aspects, failures, files",
			oneLine(key, 40))}
	}
	return nil
}

// scalars reads a word, a list of words, or words separated by commas.
func scalars(n ast.Node) ([]string, bool) {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return nil, true
	case *ast.SequenceNode:
		var out []string
		for _, v := range n.Values {
			s, ok := scalar(v)
			if !ok {
				return nil, false
			}
			out = append(out, s)
		}
		return out, true
	default:
		s, ok := scalar(n)
		if !ok {
			return nil, false
		}
		return strings.Split(s, ","), true
	}
}

// scalar returns the text of a word, a number or a bool.
func scalar(n ast.Node) (string, bool) {
	if s, ok := n.(ast.ScalarNode); ok && s.GetToken() != nil {
		return strings.TrimSpace(s.GetToken().Value), true
	}
	return "", false
}

// normalise returns words in a comparable form: lower case, dashes for blanks, sorted, each once.
func normalise(words []string) []string {
	var out []string
	for _, w := range words {
		w = strings.Join(strings.Fields(strings.ToLower(w)), "-")
		if w != "" {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func validName(s string) bool {
	ok, err := regexp.MatchString(`^[a-z][a-z0-9-]{0,31}$`, s)
	return ok && err == nil
}

func suggestName(file string) string {
	name := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(file, `\`, "/"))), ".md")
	if validName(name) {
		return name
	}
	return "my-expert"
}
