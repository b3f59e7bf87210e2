package counsel

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"wavex/runner"
)

// This file reads the answers of reviewers and merges them into one review. It does no I/O.

// ReviewSchema is the JSON Schema of a reviewer's answer. An unknown severity is read as a
// warning.
const ReviewSchema = `{"type":"object","properties":{` +
	`"score":{"type":"number","minimum":0,"maximum":10},` +
	`"findings":{"type":"array","items":{"type":"object","properties":{` +
	`"severity":{"type":"string"},"file":{"type":"string"},"line":{"type":"integer"},"text":{"type":"string"},` +
	`"evidence":{"type":"string"},"fix":{"type":"string"},"aspects":{"type":"array","items":{"type":"string"}}},` +
	`"required":["severity","text"]}}},` +
	`"required":["score","findings"]}`

// RefuteSchema is the JSON Schema of the answer of an expert that tries to refute a blocker.
const RefuteSchema = `{"type":"object","properties":{"refuted":{"type":"boolean"},"reason":{"type":"string"},` +
	`"violates":{"type":"string"},"fix":{"type":"string"}},"required":["refuted","reason"]}`

// maxFindings bounds the findings of one reviewer.
const maxFindings = 20

// parseReview reads one answer. why describes the fault of an answer that cannot be read; it never
// quotes the answer, which is untrusted.
func parseReview(expert string, a runner.Answer) (score float64, found []Finding, why string) {
	r, why := decode[struct {
		Score    *float64
		Findings []Finding
	}](a)
	switch {
	case why != "":
		return 0, nil, why
	case r.Score == nil:
		return 0, nil, unusable("it has no score")
	case *r.Score < 0 || *r.Score > 10:
		return 0, nil, unusable("its score is not between 0 and 10")
	}
	for _, f := range r.Findings {
		text := boundedText(f.Text)
		if text == "" || len(found) == maxFindings {
			continue
		}
		found = append(found, Finding{Severity: parseSeverity(f.Severity), File: localPath(f.File),
			Line: max(0, f.Line), Text: text,
			Evidence: boundedText(f.Evidence), Fix: boundedText(f.Fix), Aspects: parseAspects(f.Aspects), Expert: expert})
	}
	return *r.Score, found, ""
}

func parseSeverity(s Severity) Severity {
	switch v := Severity(strings.ToUpper(strings.TrimSpace(string(s)))); v {
	case Blocker, Suggestion:
		return v
	}
	return Warning
}

// localPath returns a path inside the project as plans write it, or "".
func localPath(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(oneLine(s, 300)), `\`, "/")
	s = strings.TrimPrefix(strings.TrimPrefix(s, "a/"), "b/") // as in a diff
	if s == "" || s[0] == '/' || s[0] == '~' || len(s) > 1 && s[1] == ':' {
		return ""
	}
	if s = path.Clean(s); s == "." || s == ".." || strings.HasPrefix(s, "../") {
		return ""
	}
	return s
}

func parseAspects(list []string) []string {
	out := normalise(list)
	for i, a := range out {
		out[i] = oneLine(a, 40)
	}
	return out[:min(len(out), 5)]
}

// tallyReview merges the answers into one review, with the open blockers of earlier ones. A finding that several
// experts report is kept once. The most severe come first.
func tallyReview(experts []Expert, answers []runner.Answer, open ...Finding) Review {
	r := Review{Findings: slices.Clone(open)}
	var sum float64
	for i, a := range answers {
		r.Cost += a.Cost
		score, found, why := parseReview(experts[i].Name, a)
		if why != "" {
			r.Silent = append(r.Silent, experts[i].Name+": "+why)
			continue
		}
		r.Experts = append(r.Experts, experts[i].Name)
		sum += score
		for _, f := range found {
			r.addFinding(f)
		}
	}
	if 2*len(r.Experts) < len(answers) || len(r.Experts) == 0 {
		r.Error = oneLine(fmt.Sprintf("%d of %d reviewers answered: %s", len(r.Experts), len(answers),
			strings.Join(r.Silent, "; ")), 600)
		r.Findings, r.Failure = nil, failureOf(answers)
		return r
	}
	r.Score = math.Round(10*sum/float64(len(r.Experts))) / 10
	order := []Severity{Blocker, Warning, Suggestion}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return slices.Index(order, a.Severity) - slices.Index(order, b.Severity)
	})
	for i := range r.Findings {
		r.Findings[i].ID = fmt.Sprintf("F-%d", i+1)
	}
	return r
}

// addFinding adds a finding, unless another reviewer has reported the same one: then it keeps the more
// severe of the two. A blocker that was open stays open.
func (r *Review) addFinding(f Finding) {
	const near = 5 // lines
	for i, old := range r.Findings {
		if (old.Confirmed || old.Expert != f.Expert) && old.File == f.File && max(old.Line-f.Line, f.Line-old.Line) <= near &&
			similar(old.Text, f.Text) {
			switch {
			case f.Severity != Blocker:
			case old.Confirmed:
				r.Findings[i].Digest, r.Findings[i].Changed = "", false
			case old.Severity != Blocker:
				r.Findings[i] = f
			}
			return
		}
	}
	r.Findings = append(r.Findings, f)
}

// applyRefutation applies the answer of an expert that tried to refute the blocker, or looked whether it is resolved.
// why is not empty if there is no usable answer.
func (f *Finding) applyRefutation(a runner.Answer) (why string) {
	r, why := decode[struct {
		Refuted               *bool
		Reason, Violates, Fix string
	}](a)
	switch {
	case why != "":
		return why
	case r.Refuted == nil:
		return unusable("it does not say whether the claim is refuted")
	}
	if *r.Refuted {
		if f.Refuted = boundedText(r.Reason); f.Refuted == "" {
			f.Refuted = "no reason was given"
		}
		if f.Changed {
			f.Confirmed, f.Refuted = false, "resolved: "+f.Refuted
		}
		return ""
	}
	f.Confirmed = true
	if f.Changed {
		f.Digest = "" // the files are others than when it was confirmed before
	}
	switch fix := boundedText(r.Fix); {
	case fix != "":
		f.Fix = fix
	case strings.TrimSpace(r.Violates) != "":
		f.Fix = "" // it would break a mustNot, and there is no better one
	}
	return ""
}
