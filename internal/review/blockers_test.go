package review

import (
	"testing"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/testrepo"
)

// A blocker is asked about again when a file that it names changes. If it names no file, any changed file counts.
func TestReopenedBlockers(t *testing.T) {
	t.Parallel()
	files := []string{"a.go", "b.go"}
	for name, c := range map[string]struct {
		finding counsel.Finding
		write   testrepo.Files
		files   []string // afterwards
		changed bool
	}{
		"nothing":                 {counsel.Finding{File: "a.go"}, nil, files, false},
		"the same bytes":          {counsel.Finding{File: "a.go"}, testrepo.Files{"a.go": "a"}, files, false},
		"its file":                {counsel.Finding{File: "a.go"}, testrepo.Files{"a.go": "x"}, files, true},
		"another file":            {counsel.Finding{File: "a.go"}, testrepo.Files{"b.go": "x"}, files, false},
		"one that it tells":       {counsel.Finding{Text: "b.go"}, testrepo.Files{"b.go": "x"}, files, true},
		"its new file":            {counsel.Finding{File: "c.go"}, testrepo.Files{"c.go": "c"}, files, true},
		"no file, nothing":        {counsel.Finding{}, nil, files, false},
		"no file, any":            {counsel.Finding{}, testrepo.Files{"b.go": "x"}, files, true},
		"no file, one more":       {counsel.Finding{}, testrepo.Files{"c.go": "c"}, append(files, "c.go"), true},
		"one that does not exist": {counsel.Finding{File: "gone.go"}, testrepo.Files{"b.go": "x"}, files, true},
	} {
		dir := t.TempDir()
		testrepo.Files{"a.go": "a", "b.go": "b"}.Write(t, dir)
		k := counsel.ReviewCase{Dir: dir, Files: files}
		c.finding.Severity, c.finding.Confirmed, c.finding.Resolution = counsel.Warning, true, "task"
		k.Open = []counsel.Finding{c.finding}
		recordDigests(k, k.Open)
		c.write.Write(t, dir)
		k.Files = c.files
		reopen(k)
		if f := k.Open[0]; f.Changed != c.changed || (f.Resolution == counsel.Unchanged) == c.changed || !f.Blocks() {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A review carries over the blockers of the latest review with an answer, and records the digests of those that stay.
func TestOpenBlockersOfTheRun(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{"a.go": "package a\n"})
	who := &fakeCaller{}
	h, s := newCoordinator(t, dir, onePlan, who)
	testrepo.Files{"b.go": "package a\n"}.Write(t, dir)
	h.PrepareReview(s, event.ReviewStarted{N: 1, Mode: counsel.Thorough, Round: 1})(t.Context())
	who.answers = map[string]any{}
	for name := range who.questions {
		who.answers[name] = map[string]any{"score": 9, "findings": []any{}}
	}
	s.Assessment.Reviews = []event.ReviewEnded{{Mode: counsel.Thorough, Review: counsel.Review{Findings: []counsel.Finding{
		{ID: "F-1", Severity: counsel.Blocker, Confirmed: true, File: "a.go", Text: "odd"}}}},
		{Mode: counsel.Thorough, Review: counsel.Review{Error: "nobody answered"}}}
	review := func(resolved bool) counsel.Review {
		who.answers["mended/round-1/F-1"] = map[string]any{"refuted": resolved, "reason": "r"}
		return h.PrepareReview(s, event.ReviewStarted{N: 2, Mode: counsel.Thorough, Round: 1})(t.Context())
	}
	r := review(false) // nothing recorded the digest
	if len(r.Blockers()) != 1 || r.Findings[0].Digest == "" {
		t.Fatalf("%+v", r)
	}
	s.Assessment.Reviews = append(s.Assessment.Reviews, event.ReviewEnded{Mode: counsel.Thorough, Review: r})
	if r := review(true); len(r.Blockers()) != 1 || r.Findings[0].Resolution != counsel.Unchanged {
		t.Errorf("closed without a change: %+v", r)
	}
	testrepo.Files{"a.go": "package b\n"}.Write(t, dir)
	if r := review(true); len(r.Blockers()) != 0 || r.Findings[0].Refuted != "resolved: r" {
		t.Errorf("not closed: %+v", r)
	}
}
