package report

import (
	"fmt"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/textfmt"
)

// maxFindings bounds the findings that a text lists.
const maxFindings = 20

// ReviewName names a review: "review of wave 2", "thorough review, round 1".
func ReviewName(mode counsel.Mode, wave, round int) string {
	if mode == counsel.Light {
		return fmt.Sprintf("review of wave %d", wave)
	}
	return fmt.Sprintf("thorough review, round %d", round)
}

// FindingText returns a finding in one line, with what became of it.
func FindingText(f counsel.Finding, mode counsel.Mode) string {
	fit := func(s string) string { return textfmt.Fit(s, 200, true) }
	l := string(f.Severity)
	switch {
	case f.Severity != counsel.Blocker:
	case f.Confirmed:
		l += ", confirmed"
	case f.Refuted != "":
		l += ", refuted"
	case mode == counsel.Light:
		l += ", for the thorough review to look at"
	default:
		l += ", not confirmed"
	}
	if f.Resolution != "" {
		l += ", " + fit(f.Resolution)
	}
	l += ": " + fit(f.Location()+f.Text)
	if f.Refuted != "" {
		l += " (" + fit(f.Refuted) + ")"
	}
	return l
}

// reviewLines returns the reviews and their findings as lines of text, without light reviews that found nothing.
func (r *Summary) reviewLines() (lines []string) {
	findings := 0
	for _, v := range r.Reviews {
		if v.Mode == counsel.Light && len(v.Review.Findings) == 0 {
			continue
		}
		l := ReviewName(v.Mode, v.Wave, v.Round) + ": "
		switch {
		case v.Review.Nothing != "":
			l += "nothing to review: " + textfmt.Line(v.Review.Nothing)
		case v.Review.Error != "":
			l += "no review: " + textfmt.Line(v.Review.Error)
		default:
			l += fmt.Sprintf("score %.1f/10 | %s | %s", v.Review.Score, Plural(len(v.Review.Findings), "finding", "findings"),
				Plural(v.Blockers, "blocker", "blockers"))
		}
		lines = append(lines, l)
		for _, f := range v.Review.Findings {
			if findings++; findings <= maxFindings {
				lines = append(lines, FindingText(f, v.Mode))
			}
		}
	}
	if n := findings - maxFindings; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d findings more", n))
	}
	return lines
}

// wireReviews returns the reviews for JSON.
func wireReviews(reviews []event.ReviewEnded) []wireReview {
	var out []wireReview
	for _, v := range reviews {
		w := wireReview{Mode: v.Mode, Wave: v.Wave, Round: v.Round, Passed: v.Passed, Blockers: v.Blockers,
			Nothing: v.Review.Nothing, Error: v.Review.Error, Experts: v.Review.Experts, Findings: v.Review.Findings}
		if v.Review.Error == "" && v.Review.Nothing == "" { // else there is no score
			w.Score = &v.Review.Score
		}
		out = append(out, w)
	}
	return out
}
