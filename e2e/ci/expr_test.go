//go:build unix

package ci

import (
	"fmt"
	"regexp"
	"strings"
)

// This file evaluates the part of GitHub's expressions that the examples use: names,
// literals, ==, !=, !, &&, ||, brackets and always(). Anything else is an error.

// scope returns the value of a name like steps.run.outputs.status; "" if there is none.
type scope func(name string) string

var template = regexp.MustCompile(`\$\{\{(.*?)\}\}`)

// expand replaces every ${{ expression }} in a text.
func expand(text string, s scope) (string, error) {
	var first error
	out := template.ReplaceAllStringFunc(text, func(m string) string {
		v, err := eval(template.FindStringSubmatch(m)[1], s)
		if err != nil && first == nil {
			first = fmt.Errorf("%s: %w", m, err)
		}
		return v
	})
	return out, first
}

var token = regexp.MustCompile(`^\s*('(?:[^']|'')*'|==|!=|&&|\|\||[!()]|[A-Za-z_][\w.\-]*)`)

// eval returns the value of an expression as GitHub's templates print it.
func eval(text string, s scope) (string, error) {
	p := &parser{scope: s}
	for rest := text; strings.TrimSpace(rest) != ""; {
		m := token.FindStringSubmatchIndex(rest)
		if m == nil {
			return "", fmt.Errorf("cannot read %q", rest)
		}
		p.tokens = append(p.tokens, rest[m[2]:m[3]])
		rest = rest[m[1]:]
	}
	v, err := p.or()
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("more than an expression: %q", p.tokens)
	}
	return v, err
}

type parser struct {
	tokens []string
	scope  scope
}

func (p *parser) next(want string) bool {
	if len(p.tokens) > 0 && p.tokens[0] == want {
		p.tokens = p.tokens[1:]
		return true
	}
	return false
}

func truthy(v string) bool { return v != "" && v != "false" && v != "0" }

func (p *parser) or() (string, error) {
	v, err := p.and()
	for err == nil && p.next("||") {
		var w string
		if w, err = p.and(); !truthy(v) {
			v = w
		}
	}
	return v, err
}

func (p *parser) and() (string, error) {
	v, err := p.equal()
	for err == nil && p.next("&&") {
		var w string
		if w, err = p.equal(); truthy(v) {
			v = w
		}
	}
	return v, err
}

func (p *parser) equal() (string, error) {
	v, err := p.unary()
	for err == nil {
		same := true
		switch {
		case p.next("=="):
		case p.next("!="):
			same = false
		default:
			return v, nil
		}
		var w string
		w, err = p.unary()
		v = fmt.Sprint(strings.EqualFold(v, w) == same)
	}
	return v, err
}

func (p *parser) unary() (string, error) {
	switch {
	case p.next("!"):
		v, err := p.unary()
		return fmt.Sprint(!truthy(v)), err
	case p.next("("):
		v, err := p.or()
		if err == nil && !p.next(")") {
			err = fmt.Errorf("a bracket is not closed")
		}
		return v, err
	}
	if len(p.tokens) == 0 {
		return "", fmt.Errorf("it ends too early")
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	switch {
	case t[0] == '\'':
		return strings.ReplaceAll(t[1:len(t)-1], "''", "'"), nil
	case t == "always" && p.next("("):
		if !p.next(")") {
			return "", fmt.Errorf("always() takes nothing")
		}
		return "true", nil
	case t == "true" || t == "false":
		return t, nil
	case !strings.Contains(t, "."):
		return "", fmt.Errorf("unknown name %s", t)
	}
	return p.scope(t), nil
}
