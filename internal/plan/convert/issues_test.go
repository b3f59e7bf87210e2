package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wavex/internal/plan"
	"wavex/internal/testrepo"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]IssueSource{
		"octo/shop":                 {Owner: "octo", Name: "shop"},
		"octo/shop#ready":           {Owner: "octo", Name: "shop", Label: "ready"},
		"o-c/sh.op_1#good first: 1": {Owner: "o-c", Name: "sh.op_1", Label: "good first: 1"},
	} {
		got, err := ParseIssues(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "octo", "octo/", "/shop", "octo/shop/more", "octo/shop#", "-octo/shop", "o cto/shop",
		"https://github.com/octo/shop"} {
		if got, err := ParseIssues(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// shop answers like GitHub for the repository octo/shop. It has two pages of issues with the label, and issue 12
// without it.
type shop struct {
	pages  []string
	single map[string]string
	asked  []map[string]string
}

func (s *shop) ask(_ context.Context, query string, vars map[string]string) (io.Reader, error) {
	s.asked = append(s.asked, vars)
	if strings.Contains(query, "$label") != (vars["label"] != "") {
		return nil, fmt.Errorf("the query and its variables differ: %s", query)
	}
	if n := vars["number"]; n != "" {
		return strings.NewReader(`{"data": {"repository": {"issue": ` + s.single[n] + `}}}`), nil
	}
	var out bytes.Buffer
	for _, p := range s.pages {
		out.WriteString(`{"data": {"repository": {"issues": {"pageInfo": {}, "nodes": [` + p + `]}}}}`)
	}
	return &out, nil
}

// issueJSON returns an issue by a member, with more fields.
func issueJSON(number int, title string, more ...string) string {
	fields := append([]string{fmt.Sprintf(`"number": %d, "title": %q, "state": "OPEN"`, number, title),
		fmt.Sprintf(`"url": "https://github.com/octo/shop/issues/%d"`, number),
		`"author": {"login": "ann"}`, `"authorAssociation": "MEMBER"`}, more...)
	return "{" + strings.Join(fields, ", ") + "}"
}

// related returns the field for relations to other issues: "7", "7 CLOSED", "7 OPEN octo/docs".
func related(field string, to ...string) string {
	var nodes []string
	for _, r := range to {
		f := append(strings.Fields(r), "OPEN", "Octo/shop")[:3]
		if len(strings.Fields(r)) == 2 {
			f[1], f[2] = strings.Fields(r)[1], "Octo/shop"
		}
		nodes = append(nodes,
			fmt.Sprintf(`{"number": %s, "state": %q, "repository": {"nameWithOwner": %q}}`, f[0], f[1], f[2]))
	}
	return fmt.Sprintf(`%q: {"totalCount": %d, "nodes": [%s]}`, field, len(to), strings.Join(nodes, ", "))
}

func TestPlan(t *testing.T) {
	t.Parallel()
	s := &shop{pages: []string{
		issueJSON(7, "Sell shoes",
			`"body": "All of them.\r\n- [ ] there is a page\n- [x] there is a shop\n~~~\n- [ ] no box\n~~~"`,
			related("subIssues", "12", "13 CLOSED"), related("blockedBy", "9", "3 CLOSED", "4 OPEN octo/docs")),
		issueJSON(9, "Pay", `"authorAssociation": "NONE", "author": {"login": "eve"}`) + "," + issueJSON(11, " ")},
		single: map[string]string{"12": issueJSON(12, "A page", `"body": "$(touch x)"`)}}
	from, err := ParseIssues("octo/shop#ready")
	testrepo.Must(t, err)
	data, warnings, err := from.Plan(t.Context(), s.ask)
	testrepo.Must(t, err)
	p, diags := plan.Parse("plan.json", data, plan.Options{})
	if p == nil {
		t.Fatalf("%v in\n%s", diags, data)
	}
	var got []string
	for i := range p.Tasks {
		k := &p.Tasks[i]
		var criteria []string
		for _, c := range k.Criteria {
			criteria = append(criteria, c.Text)
		}
		got = append(got, fmt.Sprint(k.ID, "|", k.Subject, "|", plan.IDs(p, p.Graph.Blockers(i)), "|", criteria, "|",
			len(k.Verify), k.Command))
	}
	want := []string{"7|Sell shoes|[9 12]|[there is a page]|0",
		"9|Pay|[]|[]|0", "11|Issue 11|[]|[]|0", "12|A page|[]|[]|0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if p.Name != "octo/shop#ready" || !strings.Contains(string(data), `"https://github.com/octo/shop/issues/12"`) ||
		!strings.Contains(string(data), "$(touch x)") {
		t.Errorf("%s", data)
	}
	wantWarnings := []string{"#7 waits for octo/docs#4, which is open and not in the plan",
		"people who are no members of the repository wrote these texts, which agents will follow: #9 by eve"}
	if !slices.Equal(warnings, wantWarnings) {
		t.Errorf("%q", warnings)
	}
	asked := []map[string]string{{"owner": "octo", "name": "shop", "label": "ready"},
		{"owner": "octo", "name": "shop", "number": "12"}}
	if !reflect.DeepEqual(s.asked, asked) {
		t.Errorf("asked %v", s.asked)
	}
}

// list returns an answer with one page of issues.
func list(nodes ...string) string {
	return `{"data": {"repository": {"issues": {"nodes": [` + strings.Join(nodes, ",") + `]}}}}`
}

func TestRefused(t *testing.T) {
	t.Parallel()
	var many []string
	for n := range maxIssues + 1 {
		many = append(many, issueJSON(n+1, "One"))
	}
	for name, tc := range map[string]struct {
		answer string
		err    error
		want   string
	}{
		"no issue":          {answer: list(), want: "octo/shop has no open issue"},
		"no answer":         {want: "octo/shop has no open issue"},
		"no repository":     {answer: `{"data": {"repository": null}}`, want: "no repository octo/shop that this login"},
		"an error":          {answer: `{"errors": [{"message": "no\nquota"}]}`, want: "GitHub says about octo/shop: no"},
		"no JSON":           {answer: "<html>", want: "GitHub's answer about octo/shop cannot be read"},
		"too many":          {answer: list(many...), want: "more than 500 open issues"},
		"the caller failed": {err: errors.New("gone"), want: "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := IssueSource{Owner: "octo", Name: "shop"}.Plan(t.Context(),
				func(context.Context, string, map[string]string) (io.Reader, error) {
					return strings.NewReader(tc.answer), tc.err
				})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}

// FuzzPlan reads any answer: it is refused, or makes a plan that loads.
func FuzzPlan(f *testing.F) {
	f.Add(list(issueJSON(7, "Sell", related("subIssues", "8"), related("blockedBy", "7"))))
	f.Add(`{"errors": [{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		data, _, err := IssueSource{Owner: "octo", Name: "shop"}.Plan(t.Context(),
			func(context.Context, string, map[string]string) (io.Reader, error) {
				return strings.NewReader(text), nil
			})
		if err != nil {
			return
		}
		if p, diags := plan.Parse("plan.json", data, plan.Options{}); p == nil {
			t.Fatalf("%v in\n%s", diags, data)
		}
	})
}
