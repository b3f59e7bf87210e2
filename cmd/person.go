package cmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/intent"
	"wavex/internal/learn"
	"wavex/internal/plan"
	"wavex/internal/refuse"
	"wavex/internal/ui"
	"wavex/scheduler"
)

// This file asks the person at the terminal. Where nobody sits, nothing here is called,
// and stdin is never read.

// errNoAnswer is the end of the input where an answer was wanted.
var errNoAnswer = errors.New("no answer")

// mayAskAnybody tells whether a person sits at both ends.
func mayAskAnybody(std Stdio) bool {
	if std.Terminal != nil {
		return std.Terminal()
	}
	return os.Getenv("CI") == "" && isTerminal(std.In) && isTerminal(std.Err)
}

type person struct {
	in  *bufio.Reader
	out io.Writer

	reading chan read // of a line that is not there yet; nil: nobody waits for one
}

// read is a line, or the lack of one.
type read struct {
	line string
	err  error
}

// person is who is asked at the gates of a run; nil where nobody attends.
func (r *launch) person() scheduler.Person {
	if !r.config.Attended {
		return nil
	}
	return atGate{r.sitting()}
}

// atGate is a person whose questions the view shows, behind what it shows of the run.
type atGate struct{ *person }

// Confirm waits for the answer to a question that stands there.
func (g atGate) Confirm(ctx context.Context, question string) (bool, error) {
	return g.answer(ctx, question)
}

// sitting is the person at the terminal: one for all questions of a session, so that no
// answer goes to another question.
func (r *launch) sitting() *person {
	if r.who == nil {
		r.who = &person{in: bufio.NewReader(r.std.In), out: r.std.Err}
	}
	return r.who
}

// Confirm asks at a gate of a run. It gives up when ctx ends; the line that was waited
// for then is for the next question. (Nothing ends a read of a terminal but a line, so
// its goroutine may be there until the process ends.)
func (p *person) Confirm(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(p.out, ui.Prompt(question))
	return p.answer(ctx, question)
}

// answer takes the answer to a question that was put, and puts it again after another one.
func (p *person) answer(ctx context.Context, question string) (bool, error) {
	for {
		line, err := p.next(ctx)
		if err != nil {
			fmt.Fprintln(p.out)
			return false, err
		}
		if yes, ok := yesOrNo(line); ok {
			return yes, nil
		}
		fmt.Fprint(p.out, "Please answer yes or no.\n"+ui.Prompt(question))
	}
}

// next waits for a line, without blanks around it, until ctx ends.
func (p *person) next(ctx context.Context) (string, error) {
	if p.reading == nil {
		c := make(chan read, 1)
		p.reading = c
		go func() {
			line, err := p.in.ReadString('\n')
			c <- read{strings.TrimSpace(line), err}
		}()
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case r := <-p.reading:
		p.reading = nil
		if r.err != nil && r.line == "" {
			return "", errNoAnswer
		}
		return r.line, nil
	}
}

func yesOrNo(a string) (yes, ok bool) {
	switch strings.ToLower(a) {
	case "", "y", "yes":
		return true, true
	case "n", "no":
		return false, true
	}
	return false, false
}

// line asks and gives the answer without blanks around it.
func (p *person) line(prompt string) (string, error) {
	fmt.Fprint(p.out, prompt)
	line, err := p.in.ReadString('\n')
	if line = strings.TrimSpace(line); err != nil && line == "" {
		fmt.Fprintln(p.out)
		return "", errNoAnswer
	}
	return line, nil
}

// ask is line until ctx ends.
func (p *person) ask(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(p.out, prompt)
	line, err := p.next(ctx)
	if err != nil {
		fmt.Fprintln(p.out)
	}
	return line, err
}

// yes asks a question that is answered by yes unless somebody says no.
func (p *person) yes(question string) (bool, error) {
	for {
		a, err := p.line(question + " [Y/n] ")
		if err != nil {
			return false, err
		}
		if yes, ok := yesOrNo(a); ok {
			return yes, nil
		}
		fmt.Fprintln(p.out, "Please answer yes or no.")
	}
}

// Recalled asks which of the learnings do not matter.
func (p *person) Recalled(ctx context.Context, list []learn.Learning) ([]string, error) {
	for {
		a, err := p.ask(ctx, "Keep them in mind? Enter keeps all, numbers dismiss some, none dismisses all: ")
		if err != nil {
			return nil, err
		}
		var out []string
		bad := false
		for _, w := range strings.FieldsFunc(a, func(r rune) bool { return r == ' ' || r == ',' }) {
			n, err := strconv.Atoi(w)
			switch {
			case w == "none":
				for _, l := range list {
					out = append(out, l.ID)
				}
			case err == nil && n >= 1 && n <= len(list):
				out = append(out, list[n-1].ID)
			case w != "y" && w != "yes":
				bad = true
			}
		}
		if !bad {
			slices.Sort(out)
			return slices.Compact(out), nil
		}
		fmt.Fprintf(p.out, "Please give numbers from 1 to %d.\n", len(list))
	}
}

// Clarify asks each question; a letter takes a proposal.
func (p *person) Clarify(ctx context.Context, s intent.Score, asked []counsel.Asked) (map[string]string, error) {
	fmt.Fprintf(p.out, "The request is not clear enough yet: %s. At least %d points are needed.\nEnter skips a question; an empty round ends it.\n", s, intent.Ready)
	out := map[string]string{}
	for _, q := range asked {
		fmt.Fprintf(p.out, "%s: %s\n", q.Dimension, q.Question)
		for i, x := range q.Proposals {
			fmt.Fprintf(p.out, "  %c) %s\n", 'a'+i, x)
		}
		a, err := p.ask(ctx, "> ")
		if err != nil {
			return nil, err
		}
		if i := strings.IndexByte("ab", (a + " ")[0]); i >= 0 && len(strings.TrimSuffix(a, ")")) == 1 && i < len(q.Proposals) {
			a = q.Proposals[i]
		}
		if a != "" {
			out[q.Dimension] = a
		}
	}
	return out, nil
}

// menu asks once, on a terminal, for what the flags do not say (LEDGER S0-74); the answers
// are frozen in the journal with the request.
func (q *request) menu() error {
	if q.person == nil || q.standing != nil || q.offline {
		return nil
	}
	p := q.person
	if !q.run.changed("budget") {
		a, err := p.choose("Budget in dollars", []string{"10", "25", "50", "none"}, "25")
		if err != nil {
			return err
		}
		if q.config.Limits.NoUSD = a == "none"; q.config.Limits.NoUSD {
			q.config.Limits.USD = 0
		} else if q.config.Limits.USD, err = budget.ParseUSD(a); err != nil {
			return err
		}
	}
	if q.planOnly {
		return nil
	}
	if !q.run.changed("max-iterations") {
		a, err := p.choose("Most attempts", []string{"10", "25", "50", "unlimited"}, "by the number of tasks")
		if err != nil {
			return err
		}
		if a != "by the number of tasks" {
			q.config.Iterations = a
		}
	}
	for {
		a, err := p.line("Task list of Claude Code: new/resume/session-only [session-only] ")
		switch {
		case err != nil:
			return err
		case a == "" || a == "session-only":
			return nil
		case a == "new":
			q.config.TaskList = a
			return nil
		case a == "resume":
			name, err := p.line(fmt.Sprintf("Its name [%s] ", q.ownList()))
			if err != nil {
				return err
			}
			return &resumeList{cmp.Or(name, q.ownList())}
		}
		fmt.Fprintln(p.out, "Please give one of the words.")
	}
}

// resumeList is the choice of a task list that is there: its tasks are run, and nothing is
// planned.
type resumeList struct{ name string }

func (r *resumeList) Error() string { return "the task list " + r.name + " is run instead" }

// ownList is the name of the project's own task list.
func (q *request) ownList() string { return filepath.Base(q.dir) + "-loop" }

// runList runs a task list that is there, with what the menu was told.
func (q *request) runList(ctx context.Context, name string) error {
	path, err := planOrList(nil, name)
	if err != nil {
		return err
	}
	q.say("nothing is planned: the tasks are those of the list " + name)
	return runPlan(ctx, q.handOver(&plan.Plan{Path: path}, ""), q.std)
}

// shareList puts the plan into a new task list, so that sessions of Claude Code see its
// tasks. The run itself reads the plan, which has more; a list that is there already, as
// after a resume, stays as it is.
func (q *request) shareList(ctx context.Context, p *plan.Plan) error {
	if q.config.TaskList != "new" {
		return nil
	}
	err := exportList(ctx, q.ownList(), p.Path, p, q.std)
	var use *refuse.UsageError
	if errors.As(err, &use) {
		q.say("task list: " + use.Error())
		return nil
	}
	return err
}

// choose asks for one of a few words, or a number of the person's own.
func (p *person) choose(what string, choices []string, def string) (string, error) {
	for {
		a, err := p.line(fmt.Sprintf("%s: %s [%s] ", what, strings.Join(choices, "/"), def))
		if err != nil {
			return "", err
		}
		if a == "" {
			return def, nil
		}
		if n, err := strconv.Atoi(a); slices.Contains(choices, a) || err == nil && n > 0 {
			return a, nil
		}
		fmt.Fprintln(p.out, "Please give a number, or one of the words.")
	}
}
