package cmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/semaphore"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/plan"
	"wavex/internal/request"
	"wavex/internal/tasklist"
	"wavex/internal/ui"
	"wavex/internal/userdata"
	"wavex/internal/usererr"
	"wavex/scheduler"
)

// This file asks the person at the terminal. Without a terminal nothing here is called and stdin is
// never read.

// errNoAnswer reports that the input ended before an answer.
var errNoAnswer = errors.New("no answer")

type prompter struct {
	in  *bufio.Reader
	out io.Writer

	pending chan inputLine      // the line being read; nil when no read is in progress
	turn    *semaphore.Weighted // held while a question of a run waits for its answer
}

// inputLine is a line of input, or the error of reading it.
type inputLine struct {
	line string
	err  error
}

// approver returns the person that is asked at the gates of a run, or nil for an unattended run.
func (r *invocation) approver() scheduler.Approver {
	if !r.config.Attended {
		return nil
	}
	return gatePrompter{r.terminalPrompter()}
}

// gatePrompter is a person whose questions appear in the view, below the run.
type gatePrompter struct{ *prompter }

// Confirm waits for the answer to a question that the view already shows.
func (g gatePrompter) Confirm(ctx context.Context, question string) (bool, error) {
	if !g.turn.TryAcquire(1) {
		if g.turn.Acquire(ctx, 1) != nil {
			return false, context.Cause(ctx)
		}
		fmt.Fprint(g.out, ui.Prompt(question)) // a tool call had the last line
	}
	defer g.turn.Release(1)
	a, err := g.awaitWord(ctx, ui.Prompt(question), "yes", "yes", "no")
	return a == "yes", err
}

// newPrompter returns the person at std. Prompters of one Stdio share its reader only if that is buffered.
func newPrompter(std Stdio) *prompter {
	return &prompter{in: bufio.NewReader(std.In), out: std.Err, turn: semaphore.NewWeighted(1)}
}

// terminalPrompter returns the person at the terminal. A session has only one, so that no answer goes to
// another question.
func (r *invocation) terminalPrompter() *prompter {
	if r.prompter == nil {
		r.prompter = newPrompter(r.std)
	}
	return r.prompter
}

// promptYesNo asks a question whose default answer is yes.
func (p *prompter) promptYesNo(ctx context.Context, prompt string) (bool, error) {
	a, err := p.promptWord(ctx, prompt, "yes", "yes", "no")
	return a == "yes", err
}

// promptWord prints a prompt and returns one of the words, each of which its first letter stands for.
func (p *prompter) promptWord(ctx context.Context, prompt, byDefault string, words ...string) (string, error) {
	fmt.Fprint(p.out, prompt)
	return p.awaitWord(ctx, prompt, byDefault, words...)
}

// awaitWord waits for the answer to a prompt that was already shown. It repeats the prompt after an unclear answer.
func (p *prompter) awaitWord(ctx context.Context, prompt, byDefault string, words ...string) (string, error) {
	for {
		line, err := p.nextLine(ctx)
		if err != nil {
			fmt.Fprintln(p.out)
			return "", err
		}
		line = strings.ToLower(cmp.Or(line, byDefault))
		for _, w := range words {
			if line == w || line == w[:1] {
				return w, nil
			}
		}
		last := len(words) - 1
		fmt.Fprintf(p.out, "Please answer %s or %s.\n%s", strings.Join(words[:last], ", "), words[last], prompt)
	}
}

// nextLine waits for a line until ctx ends, and leaves the line then to the next question. It trims blanks. Only a line
// ends a read of a terminal, so the reading goroutine may live until the process ends.
func (p *prompter) nextLine(ctx context.Context) (string, error) {
	if p.pending == nil {
		c := make(chan inputLine, 1)
		p.pending = c
		go func() {
			line, err := p.in.ReadString('\n')
			c <- inputLine{strings.TrimSpace(line), err}
		}()
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case r := <-p.pending:
		p.pending = nil
		if r.err != nil && r.line == "" {
			return "", errNoAnswer
		}
		return r.line, nil
	}
}

// promptLine prints a prompt and returns the answer without surrounding blanks. It gives up when ctx ends.
func (p *prompter) promptLine(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(p.out, prompt)
	line, err := p.nextLine(ctx)
	if err != nil {
		fmt.Fprintln(p.out)
	}
	return line, err
}

// agreeToPlan returns the function that asks about a plan that an attempt has changed, or nil if no
// person can be asked.
func (r *invocation) agreeToPlan(ctx context.Context) func(change string) bool {
	if r.opts.acceptPlan {
		return func(string) bool { return true }
	}
	if !canPrompt(r.std) {
		return nil
	}
	return func(change string) bool {
		fmt.Fprintln(r.std.Err, change)
		return r.terminalPrompter().promptNoYes(ctx, "Use this plan?")
	}
}

// promptNoYes asks a question whose default answer is no. A missing or unclear answer counts as no.
func (p *prompter) promptNoYes(ctx context.Context, question string) bool {
	line, err := p.promptLine(ctx, question+" [y/N] ")
	return err == nil && slices.Contains([]string{"y", "yes"}, strings.ToLower(line))
}

// DismissLearnings asks which of the learnings do not matter.
func (p *prompter) DismissLearnings(ctx context.Context, list []userdata.Learning) ([]string, error) {
	for {
		a, err := p.promptLine(ctx, "Keep them in mind? Enter keeps all, numbers dismiss some, none dismisses all: ")
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
func (p *prompter) Clarify(ctx context.Context, s request.Score,
	asked []counsel.ClarifyQuestion) (map[string]string, error) {
	fmt.Fprintf(p.out, "The request is not clear enough yet: %s. At least %d points are needed.\nEnter skips a question; an empty round ends it.\n", s, request.MinReady)
	out := map[string]string{}
	for _, q := range asked {
		fmt.Fprintf(p.out, "%s: %s\n", q.Dimension, q.Question)
		for i, x := range q.Proposals {
			fmt.Fprintf(p.out, "  %c) %s\n", 'a'+i, x)
		}
		a, err := p.promptLine(ctx, "> ")
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

// promptSettings asks, once and only on a terminal, for the settings that no flag gives. The journal keeps
// the answers with the request.
func (q *requestCommand) promptSettings(ctx context.Context) error {
	if q.prompter == nil || q.progress != nil || q.offline {
		return nil
	}
	p := q.prompter
	if !q.run.given("budget") {
		a, err := p.promptChoice(ctx, "Budget in dollars", []string{"10", "25", "50", "none"}, "25", true)
		if err != nil {
			return err
		}
		l := &q.config.Limits
		if !limit(&l.USD, &l.NoUSD, "", 0, budget.ParseUSD).set(a) {
			return usage("the budget %s is too large", a)
		}
		q.config.BudgetGiven = true
	}
	if q.planOnly {
		return nil
	}
	if !q.run.given("max-iterations") {
		a, err := p.promptChoice(ctx, "Most attempts", []string{"10", "25", "50", "unlimited"},
			"by the number of tasks", true)
		if err != nil {
			return err
		}
		if a != "by the number of tasks" {
			q.config.Iterations = a
		}
	}
	a, err := p.promptChoice(ctx, "Task list of Claude Code", []string{"new", "resume", "session-only"}, "session-only",
		false)
	switch {
	case err == nil && a == "new":
		q.config.TaskList = a
	case err == nil && a == "resume":
		if a, err = p.promptLine(ctx, fmt.Sprintf("Its name [%s] ", q.projectList())); err == nil {
			return &resumeListError{cmp.Or(a, q.projectList())}
		}
	}
	return err
}

// resumeListError is the choice of an existing task list: its tasks are run, and nothing is planned.
type resumeListError struct{ name string }

func (r *resumeListError) Error() string { return "the task list " + r.name + " is run instead" }

// projectList returns the name of the project's own task list.
func (q *requestCommand) projectList() string { return tasklist.NameOf(q.dir) }

// runTaskList runs an existing task list with the settings of the menu.
func (q *requestCommand) runTaskList(ctx context.Context, name string) error {
	path, err := planOrListPath(nil, name)
	if err != nil {
		return err
	}
	q.notify("nothing is planned: the tasks are those of the list " + name)
	return runPlan(ctx, q.runOptionsFor(&plan.Plan{Path: path}, ""), q.std)
}

// createTaskList writes the plan into a new task list, which shows the run to sessions of Claude Code. The run itself
// reads the plan, which holds more. An existing list, as after a resume, is not changed.
func (q *requestCommand) createTaskList(ctx context.Context, p *plan.Plan) error {
	if q.config.TaskList != "new" {
		return nil
	}
	err := exportList(ctx, q.projectList(), p.Path, p, q.id, q.std)
	var use *usererr.UsageError
	if errors.As(err, &use) {
		q.notify("task list: " + use.Error())
		return nil
	}
	return err
}

// promptChoice asks for one of the choices, or with numbers also for a number.
func (p *prompter) promptChoice(ctx context.Context, what string, choices []string, def string,
	numbers bool) (string, error) {
	takes := map[bool]string{true: "a number, or one", false: "one"}[numbers]
	for {
		a, err := p.promptLine(ctx, fmt.Sprintf("%s: %s [%s] ", what, strings.Join(choices, "/"), def))
		if err != nil {
			return "", err
		}
		if a == "" {
			return def, nil
		}
		n, err := strconv.ParseUint(a, 10, 32)
		if slices.Contains(choices, a) || numbers && err == nil && n > 0 {
			return a, nil
		}
		fmt.Fprintf(p.out, "Please give %s of the words.\n", takes)
	}
}
