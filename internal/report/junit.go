package report

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/textfmt"
	"wavex/runner"
	"wavex/scheduler"
)

// The elements and their order are those of the schema with which Jenkins validates JUnit files.
// GitLab, GitHub actions and Azure read them as well.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Time     string       `xml:"time,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		ID         string          `xml:"id,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr,omitempty"`
		Properties []junitProperty `xml:"properties>property,omitempty"`
		Cases      []junitCase     `xml:"testcase"`

		took time.Duration
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name      string       `xml:"name,attr"`
		Classname string       `xml:"classname,attr"`
		Time      string       `xml:"time,attr"`
		Status    string       `xml:"status,attr"`
		Skipped   *junitReason `xml:"skipped"`
		Error     *junitReason `xml:"error"`
		Failure   *junitReason `xml:"failure"`
		Out       string       `xml:"system-out,omitempty"`
	}
	junitReason struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit returns the summary as JUnit XML: a suite for each wave and each group, a case for each task with its
// attempts, the output of its checks, and counsel's advice. A task that failed, or that nothing shows to be done at the
// gate, is a failure; a task that a person must look at is an error; a task that is blocked, pending, or failed as its
// group allows is skipped.
func (r *Summary) JUnit() ([]byte, error) {
	doc := junitSuites{Name: cmp.Or(textfmt.Line(r.Name), "wavex")}
	var all time.Duration
	for w := 1; w <= r.Waves; w++ {
		doc.Suites = append(doc.Suites, junitSuite{Name: fmt.Sprintf("wave %d", w), ID: strconv.Itoa(w - 1)})
	}
	groups := map[string]int{}
	for _, g := range r.Groups {
		groups[g.ID] = len(doc.Suites)
		doc.Suites = append(doc.Suites, junitSuite{Name: "group " + textfmt.Line(g.ID), ID: strconv.Itoa(len(doc.Suites))})
	}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if t.Wave < 1 || t.Wave > r.Waves {
			return nil, fmt.Errorf("task %s is in wave %d of %d", t.ID, t.Wave, r.Waves)
		}
		at := t.Wave - 1
		if g, ok := groups[t.Group]; ok {
			at = g
		}
		s := &doc.Suites[at]
		c := t.junit(doc.Name)
		if t.Shown.Basis == event.Unproven {
			c.Failure = &junitReason{Message: "nothing shows that it is done: " + textfmt.Line(t.Shown.Why),
				Type: string(event.Unproven)}
		}
		doc.addCase(s, c)
		all += t.Duration
		s.took += t.Duration
	}
	if g := r.Gate; g != nil && !g.Passed {
		doc.addGate(g, len(doc.Suites))
	}
	for w := range doc.Suites {
		s := &doc.Suites[w]
		s.Time = seconds(s.took)
		if !r.Started.IsZero() {
			s.Timestamp = r.Started.UTC().Format("2006-01-02T15:04:05")
		}
		s.Properties = []junitProperty{{"run", textfmt.Line(r.Run)}, {"status", string(r.Status)},
			{"exit_code", strconv.Itoa(int(r.ExitCode))},
			{"cost_usd", strconv.FormatFloat(r.Cost.Float(), 'f', -1, 64)}}
	}
	doc.Time = seconds(all)
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// addCase adds a case to a suite.
func (d *junitSuites) addCase(s *junitSuite, c junitCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
		d.Failures++
	case c.Error != nil:
		s.Errors++
		d.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	d.Tests++
}

// addGate adds a suite with the refusal of the gate.
func (d *junitSuites) addGate(g *event.GateEnded, id int) {
	d.Suites = append(d.Suites, junitSuite{Name: "gate", ID: strconv.Itoa(id), Tests: 1, Failures: 1,
		Cases: []junitCase{{Name: "gate", Classname: d.Name, Time: seconds(0), Status: "refused",
			Failure: &junitReason{Message: "the gate refused", Text: textfmt.Block(strings.Join(g.Reasons, "\n"))}}}})
	d.Tests++
	d.Failures++
}

func (t *Task) junit(class string) junitCase {
	c := junitCase{Name: strings.TrimSpace(textfmt.Line(t.ID) + " " + textfmt.Line(t.Subject)), Classname: class,
		Time: seconds(t.Duration), Status: string(t.Status), Out: t.attemptsText()}
	if t.Earlier != "" {
		c.Out = "up to date: completed by run " + textfmt.Line(t.Earlier) + "\n"
	}
	if known := Known(t.Shown); known != "" {
		c.Out = "known: " + textfmt.Line(known) + "\n" + c.Out
	}
	why := &junitReason{Message: cmp.Or(textfmt.Line(t.Reason), string(t.Status))}
	switch {
	case t.Status == event.Completed:
	case t.Allowed:
		why.Message = "failed, which its group allows: " + why.Message
		c.Skipped = why
	case t.Status == event.Failed:
		why.Type, why.Text = string(t.Outcome), t.failureOutput()
		c.Failure = why
	case t.needsPerson():
		why.Type, why.Text = string(t.Outcome), t.failureOutput()
		c.Error = why
	default:
		c.Skipped = why
	}
	return c
}

// needsPerson reports whether a task that is not settled waits for a person.
func (t *Task) needsPerson() bool {
	switch t.Outcome {
	case runner.Denied, runner.Unauthorised, runner.Broken, runner.Truncated:
		return t.Status != event.Blocked
	}
	return false
}

// failureOutput returns the output of the last attempt's failing checks, or else the attempt's own reason.
func (t *Task) failureOutput() string {
	if len(t.History) == 0 {
		return ""
	}
	last := &t.History[len(t.History)-1].End.Result
	var b strings.Builder
	for _, c := range last.Checks {
		if !c.Passed {
			fmt.Fprintf(&b, "%s: %s\n%s\n", textfmt.Line(c.Check), textfmt.Line(c.Reason), textfmt.Block(c.Output))
		}
	}
	if b.Len() == 0 {
		b.WriteString(textfmt.Block(last.Detail))
	}
	return strings.TrimSpace(b.String())
}

// attemptsText describes the attempts in order.
func (t *Task) attemptsText() string {
	var b strings.Builder
	for _, a := range t.History {
		end := &a.End.Result
		fmt.Fprintf(&b, "attempt %d: %s, %s, %s", a.Attempt, end.Outcome, FormatDuration(end.Duration), end.Cost.Spent())
		if end.Worker != "" {
			b.WriteString(", on " + textfmt.Line(end.Worker))
		}
		if end.Reason != "" {
			b.WriteString(": " + textfmt.Line(end.Reason))
		}
		b.WriteByte('\n')
		if a.Escaped() {
			b.WriteString("  " + scheduler.LeftProcess + "\n")
		}
		for _, c := range end.Checks {
			verdict := "passed"
			if !c.Passed {
				verdict = "FAILED"
			}
			fmt.Fprintf(&b, "  %s: %s\n", verdict, textfmt.Line(c.Check))
			for line := range strings.Lines(textfmt.Block(c.Output)) {
				b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
			}
		}
		if v := a.Advice(); v != nil {
			b.WriteString("  counsel: " + cmp.Or(textfmt.Line(v.Fix), "unavailable: "+textfmt.Line(v.Unavailable)) + "\n")
		}
	}
	return b.String()
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
