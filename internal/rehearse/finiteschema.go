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

// checkFinite returns an error for a reference, anywhere in the schema, that never ends or is not
// supported.
func checkFinite(schema any) error {
	f := refFollower{instanceMaker: instanceMaker{root: schema}, finiteRefs: map[string]bool{}}
	return f.checkAll(schema)
}

type refFollower struct {
	instanceMaker
	finiteRefs map[string]bool // references that are known to end
}

// checkAll treats each object of the document as a schema, which is more than there are.
func (f *refFollower) checkAll(v any) error {
	if err := f.checkSameValue(v, nil); err != nil {
		return err
	}
	for _, in := range children(v) {
		if err := f.checkAll(in); err != nil {
			return err
		}
	}
	return nil
}

// checkSameValue follows the schemas that apply to the same value. way lists the references that led here.
func (f *refFollower) checkSameValue(v any, way []string) error {
	s, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	if ref, ok := s["$dynamicRef"].(string); ok {
		return fmt.Errorf("the reference %q is dynamic", ref)
	}
	if ref, ok := s["$ref"].(string); ok && !f.finiteRefs[ref] {
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
		if err := f.checkSameValue(to, append(way, ref)); err != nil {
			return err
		}
		f.finiteRefs[ref] = true
	}
	next := []any{}
	for _, key := range []string{"not", "if", "then", "else"} {
		next = append(next, s[key])
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"} {
		next = append(next, children(s[key])...)
	}
	for _, in := range next {
		if err := f.checkSameValue(in, way); err != nil {
			return err
		}
	}
	return nil
}

// children returns the values in an object or an array.
func children(v any) []any {
	switch v := v.(type) {
	case map[string]any:
		return slices.Collect(maps.Values(v))
	case []any:
		return v
	}
	return nil
}
