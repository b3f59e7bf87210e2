package plan

// This file will read YAML as tokens; until it does, YAML is refused in words.

type noYAML struct{ tokens }

func newYAMLSource(src string) tokens { return noYAML{newJSONSource(src)} }

func (noYAML) problem() *problem {
	return &problem{0, CodeSyntax, "YAML plans are not read yet; write the plan in JSON"}
}
