package convert

// This file turns the open issues of a GitHub repository into a plan: one task for each issue with a label, and for
// each of their sub-issues. It asks by a function of the caller and starts nothing itself.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// IssueSource names issues of a repository on GitHub.
type IssueSource struct {
	Owner, Name string
	Label       string // "": all open issues
}

// maxIssues bounds the issues of a plan.
const maxIssues = 500

var issuesForm = textfmt.Pattern(`^([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})(?:#(.{1,100}))?$`)

// ParseIssues reads OWNER/REPO or OWNER/REPO#label.
func ParseIssues(text string) (IssueSource, error) {
	m := issuesForm().FindStringSubmatch(text)
	if m == nil {
		return IssueSource{}, fmt.Errorf("%s is not of the form OWNER/REPO#label", textfmt.Line(text))
	}
	return IssueSource{m[1], m[2], m[3]}, nil
}

// String returns the form that ParseIssues reads.
func (s IssueSource) String() string {
	return strings.TrimSuffix(s.Owner+"/"+s.Name+"#"+s.Label, "#")
}

// AskGitHub sends one query to GitHub's GraphQL API, with variables, and returns its answers: one JSON object for each
// page.
type AskGitHub func(ctx context.Context, query string, vars map[string]string) (io.Reader, error)

// issueFields are those of an issue. GitHub has had sub-issues and blockers in GraphQL since 2025.
const issueFields = `fragment fields on Issue { number title body url state author { login } authorAssociation
  subIssues(first: 100) { totalCount nodes { number state repository { nameWithOwner } } }
  blockedBy(first: 100) { totalCount nodes { number state repository { nameWithOwner } } } }`

const listQuery = `query($owner: String!, $name: String!, $label: String!, $endCursor: String) {
  repository(owner: $owner, name: $name) {
    issues(first: 50, after: $endCursor, states: OPEN, labels: [$label], orderBy: {field: CREATED_AT, direction: ASC}) {
      pageInfo { hasNextPage endCursor } nodes { ...fields } } } } ` + issueFields

var allQuery = strings.NewReplacer(", $label: String!", "", ", labels: [$label]", "").Replace(listQuery)

const oneQuery = `query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { issue(number: $number) { ...fields } } } ` + issueFields

// issueReference is a relation to another issue.
type issueReference struct {
	Number     int
	State      string // OPEN or CLOSED
	Repository struct{ NameWithOwner string }
}

type issueReferences struct {
	TotalCount int
	Nodes      []issueReference
}

type issue struct {
	Number            int
	Title, Body, URL  string
	State             string
	Author            *struct{ Login string } // nil: the account is gone
	AuthorAssociation string
	SubIssues         issueReferences
	BlockedBy         issueReferences
}

type issuesAnswer struct {
	Data struct {
		Repository *struct {
			Issues struct{ Nodes []issue }
			Issue  *issue
		}
	}
	Errors []struct{ Message string }
}

// Plan returns the plan of the issues as JSON, and warnings, one line each. Plan refuses more than maxIssues, and a
// source without open issues.
func (s IssueSource) Plan(ctx context.Context, ask AskGitHub) (data []byte, warnings []string, err error) {
	r := issueReader{IssueSource: s, ask: ask, byNumber: map[int]*issue{}}
	if err := r.read(ctx); err != nil {
		return nil, nil, err
	}
	data, err = r.plan()
	return data, r.warnings, err
}

// issueReader collects the issues of a plan.
type issueReader struct {
	IssueSource
	ask      AskGitHub
	issues   []*issue // in the order of their numbers in the end
	byNumber map[int]*issue
	warnings []string
}

func (r *issueReader) read(ctx context.Context) error {
	query, vars := allQuery, map[string]string{"owner": r.Owner, "name": r.Name}
	if r.Label != "" {
		query, vars["label"] = listQuery, r.Label
	}
	if err := r.query(ctx, query, vars); err != nil {
		return err
	}
	if len(r.issues) == 0 {
		return fmt.Errorf("%s has no open issue", r.IssueSource)
	}
	for k := 0; k < len(r.issues); k++ { // it grows by sub-issues
		for _, sub := range r.issues[k].SubIssues.Nodes {
			if !r.isOpenHere(sub) || r.byNumber[sub.Number] != nil {
				continue
			}
			vars := map[string]string{"owner": r.Owner, "name": r.Name, "number": strconv.Itoa(sub.Number)}
			if err := r.query(ctx, oneQuery, vars); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(r.issues, func(a, b *issue) int { return a.Number - b.Number })
	return nil
}

// query adds the open issues of the answers.
func (r *issueReader) query(ctx context.Context, query string, vars map[string]string) error {
	in, err := r.ask(ctx, query, vars)
	if err != nil {
		return err
	}
	for d := json.NewDecoder(in); ; {
		var a issuesAnswer
		if err := d.Decode(&a); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("GitHub's answer about %s cannot be read: %w", r.IssueSource, err)
		}
		if len(a.Errors) > 0 {
			return fmt.Errorf("GitHub says about %s: %s", r.IssueSource, textfmt.Line(a.Errors[0].Message))
		}
		repo := a.Data.Repository
		if repo == nil {
			return fmt.Errorf("GitHub has no repository %s/%s that this login can read", r.Owner, r.Name)
		}
		found := repo.Issues.Nodes
		if repo.Issue != nil {
			found = append(found, *repo.Issue)
		}
		for i := range found {
			if n := found[i].Number; n > 0 && found[i].State != "CLOSED" && r.byNumber[n] == nil {
				r.byNumber[n] = &found[i]
				r.issues = append(r.issues, &found[i])
			}
		}
		if len(r.issues) > maxIssues {
			return fmt.Errorf("%s has more than %d open issues; name a label that fewer of them have", r.IssueSource, maxIssues)
		}
	}
}

func (r *issueReader) isOpenHere(to issueReference) bool {
	return to.State != "CLOSED" && strings.EqualFold(to.Repository.NameWithOwner, r.Owner+"/"+r.Name)
}

// issueTask is a task of the plan.
type issueTask struct {
	ID          string              `json:"id"`
	Subject     string              `json:"subject"`
	Description string              `json:"description,omitempty"`
	BlockedBy   []string            `json:"blockedBy,omitempty"`
	Verify      []string            `json:"verify"` // always empty: a command of a stranger would run as the user
	Criteria    []map[string]string `json:"criteria,omitempty"`
	Metadata    map[string]string   `json:"metadata"`
}

// plan returns the plan of the issues.
func (r *issueReader) plan() ([]byte, error) {
	out := struct {
		Version int         `json:"version"`
		Name    string      `json:"name"`
		Tasks   []issueTask `json:"tasks"`
	}{plan.Version, r.IssueSource.String(), nil}
	var strangers []string
	for _, i := range r.issues {
		out.Tasks = append(out.Tasks, r.task(i))
		if !slices.Contains([]string{"OWNER", "MEMBER", "COLLABORATOR"}, i.AuthorAssociation) {
			who := "a deleted account"
			if i.Author != nil {
				who = i.Author.Login
			}
			strangers = append(strangers, fmt.Sprintf("#%d by %s", i.Number, textfmt.Line(who)))
		}
	}
	if err := r.refuseCycle(out.Tasks); err != nil {
		return nil, err
	}
	if len(strangers) > 0 {
		r.warn("people who are no members of the repository wrote these texts, which agents will follow: %s",
			textfmt.FirstOf(strangers, 10, 0))
	}
	return json.MarshalIndent(out, "", "  ")
}

// ErrCycle is the error of issues that wait for each other.
var ErrCycle = errors.New("a cycle")

// refuseCycle returns an error that names the links between issues that wait for each other, and the one to drop.
func (r *issueReader) refuseCycle(tasks []issueTask) error {
	waits := map[string][]string{} // the blockers of each task that cannot start
	for _, t := range tasks {
		waits[t.ID] = t.BlockedBy
	}
	stuck := func(id string) bool { _, yes := waits[id]; return yes }
	for started := true; started; {
		started = false
		for _, t := range tasks {
			if stuck(t.ID) && !slices.ContainsFunc(t.BlockedBy, stuck) {
				delete(waits, t.ID)
				started = true
			}
		}
	}
	first := slices.IndexFunc(tasks, func(t issueTask) bool { return stuck(t.ID) })
	if first < 0 {
		return nil
	}
	path := []string{tasks[first].ID}
	for {
		last := path[len(path)-1]
		next := waits[last][slices.IndexFunc(waits[last], stuck)]
		if i := slices.Index(path, next); i >= 0 {
			var nor []string
			for _, t := range tasks {
				if stuck(t.ID) && !slices.Contains(path[i:], t.ID) {
					nor = append(nor, "#"+t.ID)
				}
			}
			return r.cycleError(path[i:], nor)
		}
		path = append(path, next)
	}
}

// cycleError describes issues of which each waits for the next, and the last for the first; others cannot start either.
func (r *issueReader) cycleError(cycle, others []string) error {
	var links []string
	drop, nor := "one of these links", ""
	if len(others) > 0 {
		nor = ", nor can " + textfmt.FirstOf(others, 10, 0)
	}
	for i, id := range cycle {
		next := cycle[(i+1)%len(cycle)]
		n, _ := strconv.Atoi(id)
		isNext := func(s issueReference) bool { return strconv.Itoa(s.Number) == next }
		if slices.ContainsFunc(r.byNumber[n].SubIssues.Nodes, isNext) {
			links = append(links, fmt.Sprintf("#%s waits for its sub-issue #%s", id, next))
			continue
		}
		links = append(links, fmt.Sprintf("#%s is blocked by #%s", id, next))
		drop = fmt.Sprintf("a link on GitHub, best that #%s is blocked by #%s, since a parent is done after its sub-issues",
			id, next)
	}
	return fmt.Errorf("%s: none of them can start%s: %w; drop %s", textfmt.FirstOf(links, 10, 0), nor, ErrCycle, drop)
}

const maxSubject, maxText = 200, 64 << 10 // bytes of the texts of a task

func (r *issueReader) task(i *issue) issueTask {
	t := issueTask{ID: strconv.Itoa(i.Number), Subject: textfmt.OneLine(i.Title, maxSubject), Verify: []string{},
		Metadata: map[string]string{"url": i.URL}}
	if t.Subject == "" {
		t.Subject = "Issue " + t.ID
	}
	t.Description = textfmt.Head(strings.TrimSpace(strings.ReplaceAll(i.Body, "\r\n", "\n")), maxText)
	for _, text := range boxes(i.Body) {
		t.Criteria = append(t.Criteria, map[string]string{"text": text, "verification": "observation"})
	}
	for _, to := range append(slices.Clone(i.SubIssues.Nodes), i.BlockedBy.Nodes...) {
		id := strconv.Itoa(to.Number)
		switch {
		case to.State == "CLOSED" || slices.Contains(t.BlockedBy, id):
		case r.isOpenHere(to) && r.byNumber[to.Number] != nil:
			t.BlockedBy = append(t.BlockedBy, id)
		default:
			r.warn("#%d waits for %s#%d, which is open and not in the plan", i.Number,
				textfmt.Line(to.Repository.NameWithOwner), to.Number)
		}
	}
	for _, n := range linksInWords(i.Body) {
		id := strconv.Itoa(n)
		switch {
		case slices.Contains(t.BlockedBy, id) || n == i.Number || r.isClosed(i, n):
		case r.byNumber[n] == nil:
			r.warn("#%d waits in words for #%d, which is not in the plan", i.Number, n)
		default:
			r.warn("#%d waits for #%d, as its text says", i.Number, n)
			t.BlockedBy = append(t.BlockedBy, id)
		}
	}
	r.warnCut(i, "sub-issues", i.SubIssues)
	r.warnCut(i, "blockers", i.BlockedBy)
	return t
}

func (r *issueReader) warnCut(i *issue, kind string, of issueReferences) {
	if of.TotalCount > len(of.Nodes) {
		r.warn("#%d has %d %s; only %d of them were read", i.Number, of.TotalCount, kind, len(of.Nodes))
	}
}

func (r *issueReader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// isClosed reports whether an issue links to another one as closed.
func (r *issueReader) isClosed(i *issue, number int) bool {
	links := append(slices.Clone(i.SubIssues.Nodes), i.BlockedBy.Nodes...)
	return slices.ContainsFunc(links, func(to issueReference) bool {
		return to.Number == number && to.State == "CLOSED"
	})
}

// waitsInWords matches a line that names issues to wait for, and a box that is only an issue.
var (
	waitsInWords = textfmt.Pattern(`(?i)^\s*(?:[-*+] )?(?:blocked by|depends on)\s*:?\s+` +
		`(#\d{1,9}(?:(?:,| and)? +#\d{1,9})*)\s*\.?$`)
	issueBox    = textfmt.Pattern(`^\s*[-*+] \[ \] (#\d{1,9})\s*$`)
	issueNumber = textfmt.Pattern(`#(\d+)`)
)

// linksInWords returns the numbers of the issues that a text names as blockers or as open sub-issues, outside of code.
func linksInWords(body string) (numbers []int) {
	for line := range proseLines(body) {
		m := waitsInWords().FindStringSubmatch(line)
		if m == nil {
			m = issueBox().FindStringSubmatch(line)
		}
		if m == nil {
			continue
		}
		for _, n := range issueNumber().FindAllStringSubmatch(m[1], -1) {
			number, _ := strconv.Atoi(n[1]) // at most nine digits
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// proseLines iterates over the lines of a markdown text outside of code.
func proseLines(body string) iter.Seq[string] {
	return func(yield func(string) bool) {
		code := false
		for line := range strings.Lines(body) {
			if start := strings.TrimSpace(line); strings.HasPrefix(start, "```") || strings.HasPrefix(start, "~~~") {
				code = !code
			}
			if !code && !yield(strings.TrimRight(line, "\r\n")) {
				return
			}
		}
	}
}

var openBox = textfmt.Pattern(`^\s*[-*+] \[ \] (.*\S)`)

// boxes returns the texts of the boxes of a markdown text that are not ticked, outside of code, at most 50.
func boxes(body string) (texts []string) {
	for line := range proseLines(body) {
		m := openBox().FindStringSubmatch(line)
		if m != nil && len(texts) < 50 && !issueBox().MatchString(line) {
			texts = append(texts, textfmt.OneLine(m[1], 1000))
		}
	}
	return texts
}
