package statement

import (
	"fmt"
	"slices"
	"strconv"

	"wavex/internal/textfmt"
)

// Version is a release of the CLI; the zero value is an unknown one.
type Version [3]int

// String returns "2.1.330", and "" for an unknown version.
func (v Version) String() string {
	if v == (Version{}) {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
}

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool { return slices.Compare(v[:], w[:]) < 0 }

const number = `(?:^|[^0-9.])v?([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})`

var (
	versionRE = textfmt.Pattern(number + `(?:[^0-9.]|$)`)
	namedRE   = textfmt.Pattern(number + ` \(Claude Code\)`)
)

// NamesClaude reports whether a text names Claude Code with a version, as `claude --version` does.
func NamesClaude(text string) bool { return namedRE().MatchString(text) }

// ParseVersion returns the version in the output of `claude --version` ("2.1.330 (Claude Code)"),
// also after other versions that a wrapper prints; without the name Claude Code it returns the
// first one. It returns false if there is none.
func ParseVersion(text string) (Version, bool) {
	m := namedRE().FindStringSubmatch(text)
	if m == nil {
		m = versionRE().FindStringSubmatch(text)
	}
	if m == nil {
		return Version{}, false
	}
	var v Version
	for i := range v {
		v[i], _ = strconv.Atoi(m[i+1]) // at most six digits
	}
	return v, true
}
