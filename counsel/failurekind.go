// This file classifies a case: the kind of failure, by its outcome and the output of the failed
// checks, and the kinds of files it is about. Kinds only choose experts and group statistics, so
// a word that matches by mistake costs little.

package counsel

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"wavex/runner"
)

// anyFailure in a profile matches every failure, with a low weight.
const anyFailure = "any"

// Kinds that are not derived from words in an output.
const (
	kindUnchanged = "unchanged" // files were to be edited and nothing changed
	kindRepeated  = "repeated"  // the same error again, or a third failure
)

type kindRule struct {
	kind  string
	words string // RE2, on lower-case text
}

func kindRules() []kindRule {
	return []kindRule{
		{"compile", `undefined: |cannot use |syntax ?error|build failed|does not compile|compilation (error|failed)|error ts\d|error\[e\d|cannot find symbol|undeclared|imported and not used|declared and not used`},
		{"test", `--- fail|\bfail\b|\btests? failed|\bfailures?\b|assert|\bnot ok\b|\bexpected\b|\bgot:? `},
		{"lint", `\blint|\bvet:|gofmt|eslint|\bruff\b|staticcheck|shellcheck|prettier|clippy|flake8`},
		{"panic", `\bpanic:|segmentation fault|sigsegv|traceback|nil pointer|nullpointer|uncaught|unhandled|core dumped|stack overflow`},
		{"race", `data race|deadlock|concurrent map|race condition`},
		{"slow", `timed? ?out\b|deadline exceeded|too slow|\bbenchmark|ns/op`},
		{"memory", `out of memory|\boom\b|oomkilled|cannot allocate|heap (limit|space)|signal: killed`},
		{"missing", `no such file|command not found|\benoent\b|does not exist|executable file not found|file not found`},
		{"dependency", `go\.sum|go\.mod|npm err|module ?not ?found|cannot find (module|package)|no matching version|unresolved import|no module named|peer dep|unmet dependency`},
		{"permission", `permission denied|\beacces\b|\beperm\b|forbidden|unauthori[sz]ed|access denied|not permitted`},
		{"network", `connection refused|\beconnrefused\b|dial tcp|no route to host|name resolution|could not resolve|connection reset`},
		{"data", `\bsql|migration|constraint|foreign key|duplicate key|duplicate entry|no such (table|column)|encoding|utf-?8`},
		{"format", `\bjson\b|\byaml\b|\btoml\b|unmarshal|unexpected token|invalid character|schema|malformed|parse error`},
	}
}

// FailureKinds returns the kinds of failure that profiles may name, except "any".
func FailureKinds() []string {
	var kinds []string
	for _, r := range kindRules() {
		kinds = append(kinds, r.kind)
	}
	for _, o := range []runner.Outcome{runner.Wrong, runner.OverTurns, runner.TimedOut, runner.Stalled} {
		kinds = append(kinds, string(o))
	}
	return append(kinds, kindUnchanged, kindRepeated)
}

// ClassifyFailure returns the kinds of failure of the case, sorted. It reads the outcome, the reason, and
// the output of the failed checks, but never the agent's own words.
func ClassifyFailure(c Case) []string {
	var text strings.Builder
	text.WriteString(c.Reason + "\n" + c.Detail + "\n")
	failed := false
	for _, ev := range c.Checks {
		if !ev.Passed {
			failed = true
			text.WriteString(ev.Reason + "\n" + ev.Output + "\n")
		}
	}
	lower := strings.ToLower(text.String())
	kinds := []string{string(c.Outcome)}
	for _, r := range kindRules() {
		if regexp.MustCompile(r.words).MatchString(lower) {
			kinds = append(kinds, r.kind)
		}
	}
	if c.Outcome == runner.Wrong && c.Diff == "" && len(c.Files) > 0 && !failed {
		kinds = append(kinds, kindUnchanged)
	}
	if c.SameError || c.Thorough || len(c.History) >= 2 {
		kinds = append(kinds, kindRepeated)
	}
	return normalise(kinds)
}

// fileKinds returns the kinds of the paths, sorted: extensions without the dot, the whole name of
// a file without extension, "test" and "ci".
func fileKinds(files []string) []string {
	var kinds []string
	for _, f := range files {
		f = strings.ToLower(strings.ReplaceAll(f, `\`, "/"))
		base := path.Base(f)
		if ext := path.Ext(base); ext != "" && ext != "." {
			kinds = append(kinds, ext[1:])
			// main.d.ts is d.ts as well as ts; Dockerfile.dev is a dockerfile.
			if stem := strings.TrimSuffix(base, ext); strings.HasSuffix(stem, ".d") {
				kinds = append(kinds, "d"+ext)
			} else if stem != "" {
				kinds = append(kinds, stem)
			}
		} else {
			kinds = append(kinds, base)
		}
		if strings.Contains(base, "_test.") || strings.Contains(base, ".test.") || strings.HasPrefix(base, "test_") ||
			strings.Contains("/"+f, "/tests/") || strings.Contains("/"+f, "/test/") {
			kinds = append(kinds, "test")
		}
		if strings.Contains(base, ".spec.") || strings.Contains(base, "_spec.") {
			kinds = append(kinds, "spec")
		}
		if strings.Contains("/"+f, "/.github/") || base == ".gitlab-ci.yml" || base == "jenkinsfile" {
			kinds = append(kinds, "ci")
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
