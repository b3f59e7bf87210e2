package rehearse

// This file refuses schemas whose references loop. A schema that refers back to itself for the same
// value would be followed until the stack is full, so fits refuses it first. Only references inside
// the schema, "#/$defs/x", are followed, as in schemas for models; names, dynamic references and
// other documents are refused.

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// finite returns an error for a reference, anywhere in the schema, that never ends or is not
// supported.
func finite(schema any) error {
	f := follower{maker: maker{root: schema}, ends: map[string]bool{}}
	return f.all(schema)
}

type follower struct {
	maker
	ends map[string]bool // references that are known to end
}

// all treats each object of the document as a schema, which is more than there are.
func (f *follower) all(v any) error {
	if err := f.same(v, nil); err != nil {
		return err
	}
	for _, in := range inside(v) {
		if err := f.all(in); err != nil {
			return err
		}
	}
	return nil
}

// same follows the schemas that apply to the same value. way lists the references that led here.
func (f *follower) same(v any, way []string) error {
	s, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	if ref, ok := s["$dynamicRef"].(string); ok {
		return fmt.Errorf("the reference %q is dynamic", ref)
	}
	if ref, ok := s["$ref"].(string); ok && !f.ends[ref] {
		if ref != "#" && !strings.HasPrefix(ref, "#/") {
			return fmt.Errorf("the reference %q is not to a place inside", ref)
		}
		if slices.Contains(way, ref) {
			return fmt.Errorf("the reference %q comes back to itself", ref)
		}
		to := f.resolve(ref)
		if to == nil {
			return fmt.Errorf("nothing is found at the reference %q", ref)
		}
		if err := f.same(to, append(way, ref)); err != nil {
			return err
		}
		f.ends[ref] = true
	}
	next := []any{}
	for _, key := range []string{"not", "if", "then", "else"} {
		next = append(next, s[key])
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"} {
		next = append(next, inside(s[key])...)
	}
	for _, in := range next {
		if err := f.same(in, way); err != nil {
			return err
		}
	}
	return nil
}

// inside returns the values in an object or an array.
func inside(v any) []any {
	switch v := v.(type) {
	case map[string]any:
		return slices.Collect(maps.Values(v))
	case []any:
		return v
	}
	return nil
}
