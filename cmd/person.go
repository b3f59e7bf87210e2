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

// This file asks the person at the terminal. Without a terminal nothing here is called and stdin is
// never read.

// errNoAnswer reports that the input ended before an answer.
var errNoAnswer = errors.New("no answer")

// mayAskAnybody reports whether stdin and stderr are terminals of a person.
func mayAskAnybody(std Stdio) bool {
	if std.Terminal != nil {
		return std.Terminal()
	}
	return os.Getenv("CI") == "" && isTerminal(std.In) && isTerminal(std.Err)
}

type person struct {
	in  *bufio.Reader
	out io.Writer

	reading chan read // the line being read; nil when no read is in progress
}

// read is a line of input, or the error of reading it.
type read struct {
	line string
	err  error
}

// person returns the person that is asked at the gates of a run, or nil for an unattended run.
func (r *launch) person() scheduler.Person {
	if !r.config.Attended {
		return nil
	}
	return atGate{r.sitting()}
}

// atGate is a person whose questions appear in the view, below the run.
type atGate struct{ *person }

// Confirm waits for the answer to a question that the view already shows.
func (g atGate) Confirm(ctx context.Context, question string) (bool, error) {
	return g.answer(ctx, question)
}

// sitting returns the person at the terminal. A session has only one, so that no answer goes to
// another question.
func (r *launch) sitting() *person {
	if r.who == nil {
		r.who = &person{in: bufio.NewReader(r.std.In), out: r.std.Err}
	}
	return r.who
}

// Confirm asks at a gate of a run. It gives up when ctx ends; the line that it waited for goes to
// the next question. Only a line ends a read of a terminal, so the reading goroutine may live until
// the process ends.
func (p *person) Confirm(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(p.out, ui.Prompt(question))
	return p.answer(ctx, question)
}

// answer waits for the answer to a question that was already shown. It repeats the question after
// an unclear answer.
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

// next waits for a line until ctx ends. It trims blanks.
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

// line prints a prompt and returns the answer without surrounding blanks.
func (p *person) line(prompt string) (string, error) {
	fmt.Fprint(p.out, prompt)
	line, err := p.in.ReadString('\n')
	if line = strings.TrimSpace(line); err != nil && line == "" {
		fmt.Fprintln(p.out)
		return "", errNoAnswer
	}
	return line, nil
}

// ask is like line, but returns when ctx ends.
func (p *person) ask(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(p.out, prompt)
	line, err := p.next(ctx)
	if err != nil {
		fmt.Fprintln(p.out)
	}
	return line, err
}

// yes asks a question whose default answer is yes.
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

// Clarify asks each question. A letter selects a proposal.
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
		if i := strings.IndexByte("ab", (a + " ")[0]); i >= 0 && len(strings.TrimSuffix(a, ")")) == 1 &&
			i < len(q.Proposals) {
			a = q.Proposals[i]
		}
		if a != "" {
			out[q.Dimension] = a
		}
	}
	return out, nil
}

// menu asks, once and only on a terminal, for the settings that no flag gives. The journal keeps
// the answers with the request.
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

// resumeList is the choice of an existing task list: its tasks are run, and nothing is planned.
type resumeList struct{ name string }

func (r *resumeList) Error() string { return "the task list " + r.name + " is run instead" }

// ownList returns the name of the project's own task list.
func (q *request) ownList() string { return filepath.Base(q.dir) + "-loop" }

// runList runs an existing task list with the settings of the menu.
func (q *request) runList(ctx context.Context, name string) error {
	path, err := planOrList(nil, name)
	if err != nil {
		return err
	}
	q.say("nothing is planned: the tasks are those of the list " + name)
	return runPlan(ctx, q.handOver(&plan.Plan{Path: path}, ""), q.std)
}

// shareList writes the plan into a new task list, so that sessions of Claude Code see its tasks.
// The run itself reads the plan, which holds more. An existing list, as after a resume, is not
// changed.
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

// choose asks for one of the choices, or for a number.
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
