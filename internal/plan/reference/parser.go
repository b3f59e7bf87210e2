package reference

import (
	"encoding/json"
	"strconv"
	"strings"
)

// This file reads one reference: a path like tasks.T-001.output.items[0]["a b"], and functions behind it.

// parser reads a reference up to its brace.
type parser struct {
	all string
	at  int
}

// textMax bounds the text of a reference in a mistake, in bytes.
const textMax = 60

func (p *parser) wrong(reason string) error {
	return &Error{strings.ToValidUTF8(p.all[:min(p.at, textMax)], "?"), reason}
}

func (p *parser) blanks() {
	for p.at < len(p.all) && (p.all[p.at] == ' ' || p.all[p.at] == '\t') {
		p.at++
	}
}

// take reads one byte if it is the next one.
func (p *parser) take(c byte) bool {
	if p.at < len(p.all) && p.all[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) reference() (*Ref, error) {
	r := &Ref{Path: []Step{{Name: p.name()}}}
	for more := true; more; {
		switch {
		case p.take('.'):
			name := p.name()
			if name == "" {
				return nil, p.wrong("a name must follow the dot")
			}
			r.Path = append(r.Path, Step{Name: name})
		case p.take('['):
			s, err := p.index()
			if err != nil {
				return nil, err
			}
			r.Path = append(r.Path, s)
		default:
			more = false
		}
	}
	for {
		p.blanks()
		switch {
		case p.take('}'):
			r.Text = p.all[:p.at-1]
			return r, nil
		case p.take('|'):
			f, err := p.function()
			if err != nil {
				return nil, err
			}
			r.funcs = append(r.funcs, f)
		case p.at == len(p.all):
			return nil, p.wrong("the closing } is missing")
		default:
			p.at++
			return nil, p.wrong("it is a path and functions, like ${params.list | join(\", \")}")
		}
	}
}

// name reads letters, digits, _ and -.
func (p *parser) name() string {
	from := p.at
	for p.at < len(p.all) {
		c := p.all[p.at]
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			break
		}
		p.at++
	}
	return p.all[from:p.at]
}

// index reads the content of brackets: a number, a star, or a name as a JSON string.
func (p *parser) index() (s Step, err error) {
	switch {
	case p.at < len(p.all) && p.all[p.at] == '"':
		s.Name, err = p.quoted()
	case p.take('*'):
		s.All = true
	default:
		s.IsIndex = true
		from := p.at
		for p.at < len(p.all) && p.all[p.at] >= '0' && p.all[p.at] <= '9' {
			p.at++
		}
		if s.Index, err = strconv.Atoi(p.all[from:p.at]); err != nil {
			return s, p.wrong(`brackets hold an index from 0, a * for all, or a name in quotes`)
		}
	}
	if err == nil && !p.take(']') {
		err = p.wrong("the closing ] is missing")
	}
	return s, err
}

// quoted reads a JSON string.
func (p *parser) quoted() (s string, err error) {
	from := p.at
	for p.at++; p.at < len(p.all) && p.all[p.at] != '"'; p.at++ {
		if p.all[p.at] == '\\' {
			p.at++
		}
	}
	if p.at >= len(p.all) {
		p.at = len(p.all)
		return "", p.wrong("the closing quote is missing")
	}
	p.at++
	if json.Unmarshal([]byte(p.all[from:p.at]), &s) != nil {
		return "", p.wrong("the text in quotes is no JSON string")
	}
	return s, nil
}

func (p *parser) function() (f function, err error) {
	p.blanks()
	f.name = p.name()
	switch f.name {
	case "json":
		return f, nil
	case "default", "join":
	default:
		return f, p.wrong(`the functions are default("..."), join("...") and json`)
	}
	if p.take('(') && p.at < len(p.all) && p.all[p.at] == '"' {
		if f.text, err = p.quoted(); err != nil || p.take(')') {
			return f, err
		}
	}
	return f, p.wrong(f.name + ` needs a text, like ` + f.name + `("...")`)
}
