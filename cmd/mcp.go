package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"wavex/internal/async"
	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/planfile"
	"wavex/internal/proc"
	"wavex/internal/question"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
)

// This file serves the commands of wavex as tools of the Model Context Protocol. A tool is a command line, and its
// answer is the output of the command.

// maxAnswer is the length of an answer, in bytes. Claude Code takes 25,000 tokens (2.1.330).
const maxAnswer = 60_000

func newMCP(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Serve wavex to an agent, as tools of MCP",
		Long: `mcp serves the Model Context Protocol on stdin and stdout, for the current
directory, until stdin ends. Its tools check a plan, run it in the background,
and show and cancel the run. A run goes on when the server ends: it has its own
process, the limits of its plan, and its journal in .loop.

The plugin starts the server by itself. Without the plugin:

  claude mcp add wavex -- wavex mcp

Exit status: 0 stdin has ended, 2 stdin is a terminal.`,
		Example: "  wavex mcp",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if isTerminal(std.In) {
				return usage("wavex mcp is started by a client of MCP\nto add it to Claude Code: claude mcp add wavex -- wavex mcp")
			}
			err := newToolServer().Run(c.Context(), &mcp.IOTransport{Reader: io.NopCloser(std.In),
				Writer: unclosed{std.Out}})
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		},
	}
}

// unclosed is an output that stays open.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

type planInput struct {
	Plan string `json:"plan,omitempty" jsonschema:"path of the plan file; default: the one in the directory"`
}

type runInput struct {
	planInput
	Agent string `json:"agent,omitempty" jsonschema:"claude (default), or rehearse: no account, no money, no model"`
}

type statusInput struct {
	planInput
	Wait int `json:"wait_seconds,omitempty" jsonschema:"wait for the end of the run, at most so many seconds"`
}

type logsInput struct {
	Task    string `json:"task" jsonschema:"id of the task"`
	Attempt int    `json:"attempt,omitempty" jsonschema:"number of the attempt; default: the last"`
}

// args returns a command line with the plan.
func (in planInput) args(command ...string) []string {
	return append(append(command, "--"), in.paths()...)
}

func (in planInput) paths() []string {
	if in.Plan == "" {
		return nil
	}
	return []string{in.Plan}
}

func newToolServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "wavex", Version: Version()}, &mcp.ServerOptions{
		Instructions: "Plans of tasks as waves of headless Claude Code processes. Check a plan before you run it. " +
			"A run spends money, at most the budget of its plan, and goes on when this session ends.",
		Capabilities: &mcp.ServerCapabilities{}})
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "check", Annotations: reads, Description: "Check a plan: " +
		"diagnostics with file, line and column, the waves, the critical path, the commands that a run starts."},
		tool(func(ctx context.Context, c *toolCall, in planInput) error {
			return c.wavex(ctx, in.args("check", "--output", "json")...)
		}))
	mcp.AddTool(s, &mcp.Tool{Name: "run", Description: "Start a run of a plan in the background, or continue the " +
		"unfinished one. It spends at most the budget of the plan, and goes on when this session ends."}, tool(startRun))
	mcp.AddTool(s, &mcp.Tool{Name: "status", Annotations: reads, Description: "Show where the run stands: each task, " +
		"the money, questions of the run, and the command that continues. With wait_seconds it waits for the end " +
		"of the run, or for a question."}, tool(awaitRun))
	mcp.AddTool(s, &mcp.Tool{Name: "logs", Annotations: reads, Description: "Show what the agent of a task said and " +
		"did, or what its command printed."},
		tool(func(ctx context.Context, c *toolCall, in logsInput) error {
			return c.wavex(ctx, "logs", "--attempt", strconv.Itoa(in.Attempt), "--", in.Task)
		}))
	mcp.AddTool(s, &mcp.Tool{Name: "answer", Description: "Pass on the user's answer to a question that status shows: " +
		"whether a tool call of an agent may run. Ask the user; do not answer by yourself."}, tool(answerQuestion))
	mcp.AddTool(s, &mcp.Tool{Name: "cancel", Description: "Give up the unfinished run for good. Its files stay."},
		tool(func(ctx context.Context, c *toolCall, in planInput) error {
			if err := refuseChild(); err != nil {
				return err
			}
			return c.wavex(ctx, in.args("cancel")...)
		}))
	return s
}

// tool returns the handler of a tool. Its answer is the printed text, with the exit code if that is not 0.
func tool[In any](do func(context.Context, *toolCall, In) error) mcp.ToolHandlerFor[In, any] {
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		c := &toolCall{req: req}
		code := reportError(Stdio{Err: &c.printed}, do(ctx, c, in))
		text := textfmt.HeadTail(c.printed.String(), maxAnswer)
		if code != 0 {
			text += fmt.Sprintf("exit code %d\n", code)
		}
		return &mcp.CallToolResult{IsError: code != 0, Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	}
}

// toolCall is one call of a tool.
type toolCall struct {
	req      *mcp.CallToolRequest
	printed  bytes.Buffer
	progress float64
}

// wavex gives a command to the command line. Its text for people is also the progress of the call.
func (c *toolCall) wavex(ctx context.Context, args ...string) error {
	if code := Main(ctx, args, Stdio{In: strings.NewReader(""), Out: &c.printed, Err: progressWriter{ctx, c}}); code != 0 {
		return exitCode(code)
	}
	return nil
}

type progressWriter struct {
	ctx context.Context
	c   *toolCall
}

func (w progressWriter) Write(b []byte) (int, error) {
	w.c.tell(w.ctx, string(b))
	return w.c.printed.Write(b)
}

// tell notifies the client of the progress of a call, if the client asked for that.
func (c *toolCall) tell(ctx context.Context, text string) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return
	}
	c.progress++ // MCP asks that it grows
	// A client that is gone needs no progress.
	_ = c.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: c.progress,
		Message: textfmt.FirstLine(text)})
}

// follow follows the run of a plan.
func (c *toolCall) follow(in planInput) (follower, error) {
	return follow(in.paths(), Stdio{Err: io.Discard}) // wavex status says where that is
}

// awaitRun shows the run, after its end or after some seconds.
func awaitRun(ctx context.Context, c *toolCall, in statusInput) error {
	if in.Wait > 0 {
		f, err := c.follow(in.planInput)
		if err != nil {
			return err
		}
		questions := f.questions()
		if release, err := questions.Watch(); err == nil {
			defer release()
		}
		late, cancel := context.WithTimeout(ctx, time.Duration(min(in.Wait, math.MaxInt32))*time.Second)
		defer cancel()
		for again := true; again && !f.Done() && len(openQuestions(questions)) == 0; {
			c.tell(ctx, f.progress())
			if again, err = f.wait(late, nil); err != nil {
				return err
			}
		}
	}
	err := c.wavex(ctx, in.args("status", "--plain")...)
	if f, err := c.follow(in.planInput); err == nil && !f.Done() {
		for _, q := range openQuestions(f.questions()) {
			fmt.Fprintf(&c.printed, "question %s, until %s: may the agent of task %s call %s: %s (policy.ask: %s)\n", q.ID,
				q.Deadline.Format(time.RFC3339), textfmt.Line(q.Task), textfmt.Line(q.Tool), textfmt.Line(q.Target),
				textfmt.Line(q.Pattern))
		}
	}
	return err
}

type answerInput struct {
	planInput
	ID     string `json:"id" jsonschema:"the question, as status names it"`
	Answer string `json:"answer" jsonschema:"once, run (all such calls of this run), always (of later runs too), or no"`
}

// answerQuestion answers a question of the run.
func answerQuestion(_ context.Context, c *toolCall, in answerInput) error {
	f, err := c.follow(in.planInput)
	if err = errors.Join(refuseChild(), err); err != nil {
		return err
	}
	err = f.questions().Answer(in.ID, question.Answer{Choice: question.Choice(in.Answer), By: "mcp"}, time.Now())
	if err != nil {
		return usererr.Input(err)
	}
	_, err = fmt.Fprintf(&c.printed, "%s: %s\n", in.ID, in.Answer)
	return err
}

// questions returns the directory of the run's questions.
func (f follower) questions() question.Dir {
	return question.Dir(f.Loop.Run(f.State.Config.Run, loop.Questions))
}

// openQuestions returns the questions that can be answered.
func openQuestions(dir question.Dir) []question.Question {
	open, _ := dir.Open(time.Now()) // of unreadable ones nothing can be shown
	return open
}

// progress says in one line how far the run is.
func (f follower) progress() string {
	n := report.FiguresOf(f.State)
	return fmt.Sprintf("%d of %s completed, %s", n.Total.Completed, report.Plural(n.Total.All, "task", "tasks"),
		n.MoneyText())
}

// refuseChild refuses to start or to end a run for a process of a run: a task would spend more than its run may.
func refuseChild() error {
	if isChild() {
		return usage("this is a process of a run of wavex, which can neither start nor cancel a run")
	}
	return nil
}

// startRun starts a run in a process of its own, which outlives this process, and waits until the run is
// under way.
func startRun(ctx context.Context, c *toolCall, in runInput) error {
	if err := errors.Join(refuseChild(), refuseOutside(in.Plan)); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	out, err := os.CreateTemp("", "wavex-run-*")
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	_ = os.Remove(out.Name()) // Windows removes no file that is open
	// A session must not be held by a run that it does not wait for.
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "CLAUDE_CODE_SESSION_ID=")
	})
	p, err := proc.Start(proc.Spec{Argv: append([]string{self}, in.args("run", "--status-block=false", "--agent",
		cmp.Or(in.Agent, flagDefaults().Agent))...), Dir: dir, Env: env, Combined: out, Detached: true})
	if err != nil {
		return err
	}
	return c.awaitStart(ctx, p, in.planInput, out)
}

// awaitStart waits until a process works at its run, or has ended.
func (c *toolCall) awaitStart(ctx context.Context, p *proc.Process, in planInput, out io.ReaderAt) error {
	for {
		select {
		case <-p.Done():
			text, err := io.ReadAll(io.NewSectionReader(out, 0, math.MaxInt64))
			c.printed.Write(text)
			return errors.Join(err, exitStatus(event.ExitCode(p.Wait().Code)))
		default:
		}
		if f, err := c.follow(in); err == nil && !f.Done() {
			if pid, err := journal.LockOwner(f.State.Config.Loop); err == nil && pid == p.Pid() {
				_, err := fmt.Fprintf(&c.printed, "run %s is under way in process %d: %s\nit goes on when this session ends\n",
					f.State.Config.Run, pid, f.progress())
				return err
			}
		}
		if err := async.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// refuseOutside refuses a plan from outside the repository, whose folder the user has not trusted. In CI a run does not
// ask, because there the user names the plan. Here a model may name it.
func refuseOutside(path string) error {
	if path == "" || !inCI() {
		return nil // the run refuses it by itself
	}
	p, diags, err := planfile.Load(path, listRunID(path, true))
	switch {
	case err != nil:
		return err
	case p == nil:
		return planfile.NewPlanError(diags)
	}
	here, err := outside(p, "")
	if err != nil || here == "" || isUserList(path) {
		return err
	}
	return untrusted(path, here)
}
