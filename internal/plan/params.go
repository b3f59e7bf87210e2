package plan

// This file reads the parameters of a plan and gives them values. It does not know where values come from.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wavex/internal/plan/source"
)

// Param is a parameter of a plan.
type Param struct {
	Name        string          `json:"name"`
	Type        string          `json:"type"` // "string", "number", "integer", "boolean", "list" or "object"
	Description string          `json:"description,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"` // nil: a value must be given
	// Value is the value of this reading of the plan: a given one, or the default; nil: none.
	Value json.RawMessage `json:"value,omitempty"`
}

// ParamOptions give values to parameters.
type ParamOptions struct {
	Given []GivenParam // a later one of the same name counts
	// Required makes a parameter without a value a mistake. Otherwise its references stay in the texts.
	Required bool
	Lists    map[string]json.RawMessage // those of Plan.Lists of the run; others are made
}

// GivenParam is one value.
type GivenParam struct {
	From string // for messages, like "--set target=api"; "": a value of the run, which may be unknown by now
	Name string
	// Value is JSON, or if it is nil, Text is the value as a person types it.
	Value json.RawMessage
	Text  string
}

var paramTypes = []string{"string", "number", "integer", "boolean", "list", "object"}

func paramFields() []field[Param] {
	return []field[Param]{
		{"type", func(d *decoder, p *Param, t source.Token) { d.enum(&p.Type, t, paramTypes...) }},
		{"default", func(d *decoder, p *Param, t source.Token) { p.Default = d.src.Raw(t) }},
		{"description", func(d *decoder, p *Param, t source.Token) { d.text(&p.Description, t) }},
	}
}

// params reads the parameters: an object with one object for each.
func (d *decoder) params(t source.Token) {
	if t.Kind != source.KindObject {
		d.wrongType(t, "an object with a parameter for each name")
		return
	}
	for {
		name := d.src.Next()
		if name.Kind != source.KindString || d.full() {
			return
		}
		d.enter(step{name: name.Text})
		value, before := d.src.Next(), d.errors
		p := Param{Name: name.Text}
		set, isObject := d.paramType.decode(d, &p, value)
		switch {
		case !isParamName(name.Text):
			d.errorf(name.At, CodeBadValue, "%s is no name of a parameter; use letters, digits and _", source.Quote(name.Text))
		case slices.ContainsFunc(d.plan.Params, func(o Param) bool { return o.Name == p.Name }):
			d.errorf(name.At, CodeDuplicateField, "field %s is given twice; keep one", source.Quote(name.Text))
		case len(d.plan.Params) == maxParams:
			d.errorf(name.At, CodeTooLarge, "a plan has at most %d parameters", maxParams)
		case isObject && d.errors == before && !d.paramType.has(set, "type"):
			d.errorf(value.At, CodeMissingField, "a parameter needs a type: %s", orList(paramTypes))
		}
		if d.errors == before && p.Default != nil {
			if err := p.check(p.Default); err != nil {
				d.errorf(value.At, CodeWrongType, "the default %s", err)
			}
		}
		d.plan.Params = append(d.plan.Params, p)
		d.paramLocations = append(d.paramLocations, name.At)
		d.leave()
	}
}

// maxParams bounds the parameters of a plan.
const maxParams = 1000

func isParamName(s string) bool {
	for i, c := range []byte(s) {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 100
}

// check reports a value of another type, as the end of a sentence.
func (p *Param) check(value json.RawMessage) error {
	v, err := decodeJSON(value)
	if err != nil {
		return fmt.Errorf("is not JSON: %w", err)
	}
	got := ""
	switch v := v.(type) {
	case string:
		got = "string"
	case bool:
		got = "boolean"
	case []any:
		got = "list"
	case map[string]any:
		got = "object"
	case json.Number:
		got = "number"
		if _, err := v.Int64(); err == nil {
			got = "integer"
		}
	case nil:
		got = "null"
	}
	if got == p.Type || got == "integer" && p.Type == "number" {
		return nil
	}
	return fmt.Errorf("has the type %s; parameter %s has the type %s", got, p.Name, p.Type)
}

// parse returns the value that a person typed.
func (p *Param) parse(text string) (json.RawMessage, error) {
	if p.Type == "string" {
		return json.Marshal(text)
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("is not JSON; parameter %s has the type %s", p.Name, p.Type)
	}
	return json.RawMessage(text), nil
}

// setParams gives the parameters their values and reports values that are unknown, missing or ill-typed.
func (d *decoder) setParams() {
	params := d.plan.Params
	for i := range params {
		params[i].Value = params[i].Default
	}
	for _, g := range d.opts.Params.Given {
		i := slices.IndexFunc(params, func(p Param) bool { return p.Name == g.Name })
		if i < 0 {
			if g.From != "" {
				d.add(0, SeverityError, CodeUnknownParam, "", "%s: the plan has no parameter %s%s", g.From,
					source.Quote(g.Name), suggestName(g.Name, paramNames(params)))
			}
			continue
		}
		value, err := g.Value, error(nil)
		if value == nil {
			value, err = params[i].parse(g.Text)
		}
		if err == nil {
			err = params[i].check(value)
		}
		var compact bytes.Buffer
		if err == nil {
			err = json.Compact(&compact, value)
		}
		if err != nil {
			d.add(0, SeverityError, CodeWrongType, "", "%s: the value %s", orRun(g.From), err)
			continue
		}
		params[i].Value = compact.Bytes()
	}
	for i := range params {
		if params[i].Value == nil && d.opts.Params.Required {
			d.add(d.paramLocations[i], SeverityError, CodeMissingParam, "params."+params[i].Name,
				"parameter %s has no value; give it one with --set %s=VALUE", params[i].Name, params[i].Name)
		}
	}
}

func orRun(from string) string {
	if from == "" {
		return "the values of the run"
	}
	return from
}

func paramNames(params []Param) (names []string) {
	for _, p := range params {
		names = append(names, p.Name)
	}
	return names
}

// ParamValues returns the values of the parameters by their names, for a later reading of the plan.
func (p *Plan) ParamValues() map[string]json.RawMessage {
	if len(p.Params) == 0 {
		return nil
	}
	values := make(map[string]json.RawMessage, len(p.Params))
	for _, one := range p.Params {
		if one.Value != nil {
			values[one.Name] = one.Value
		}
	}
	return values
}

// RunParams returns the options for another reading of the plan of a run: the values and the lists that it had, and
// more values.
func RunParams(values, lists map[string]json.RawMessage, more ...GivenParam) ParamOptions {
	o := ParamOptions{Lists: lists}
	for name, v := range values {
		o.Given = append(o.Given, GivenParam{Name: name, Value: v})
	}
	o.Given = append(o.Given, more...)
	return o
}

// ParseParam reads the value of a flag, NAME=VALUE.
func ParseParam(flag, text string) (GivenParam, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return GivenParam{}, fmt.Errorf("%s takes NAME=VALUE, not %s", flag, source.Quote(text))
	}
	return GivenParam{From: flag + " " + name, Name: name, Text: value}, nil
}

// ParseParams reads a file of values: an object, in JSON or YAML.
func ParseParams(file string, text []byte) ([]GivenParam, error) {
	from := source.Tokens(source.NewJSON(string(text)))
	if IsYAML(file, string(text)) {
		from = source.NewYAML(string(text))
	}
	raw := from.Raw(from.Next())
	if problem := from.Problem(); problem != nil {
		return nil, fmt.Errorf("%s:%d: %s", file, from.Pos(problem.At).Line, problem.Message)
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, fmt.Errorf("%s: the values of parameters are an object, NAME: VALUE", file)
	}
	var given []GivenParam
	for name, v := range values {
		given = append(given, GivenParam{From: file, Name: name, Value: v})
	}
	slices.SortFunc(given, func(a, b GivenParam) int { return strings.Compare(a.Name, b.Name) })
	return given, nil
}

// decodeJSON decodes a value; its numbers keep their text.
func decodeJSON(raw json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return v, d.Decode(&v)
}
