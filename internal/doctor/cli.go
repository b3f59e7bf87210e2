package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"wavex/internal/claude/statement"
	"wavex/internal/proc"
	"wavex/internal/textfmt"
)

// CLI resolves the links of a path and asks the program for its version. env is the environment
// of attempts. It fails if the program cannot be started, does not answer within wait, or is too
// old. A program whose answer does not name Claude Code may be a wrapper: it fails unless it
// speaks the CLI's protocol.
//
// Version managers (mise, volta) install links to their own program, which acts by the link's
// name. If the file behind the links is not a CLI but the link acts as one, the link is the
// program.
func CLI(ctx context.Context, path string, env []string, wait time.Duration) (statement.Program, Check) {
	ask := func(path string) (string, error) {
		return runOutput(ctx, programRun{argv: []string{path, "--version"}, env: env}, wait)
	}
	p := statement.Program{Path: path, Env: env}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		p.Path = real
	}
	said, err := ask(p.Path)
	if p.Path != path && (err != nil || !statement.NamesClaude(said)) {
		if again, err2 := ask(path); err2 == nil {
			p.Path, p.Link = path, true
			said, err = again, nil
		}
	}
	if err != nil {
		return p, noVersionCheck(p.Path, said, err, wait)
	}
	v, told := statement.ParseVersion(said)
	oldest, _ := statement.ParseVersion(statement.Oldest())
	switch {
	case told && v.Less(oldest):
		p.Version = v
		return p, failCheck(cliCheck, fmt.Sprintf("%s is version %s; wavex needs %s or later", p.Path, v, oldest),
			"update it with: "+statement.Install)
	case !statement.NamesClaude(said):
		if !speaksProtocol(ctx, []string{p.Path}, env, wait) {
			return p, failCheck(cliCheck, fmt.Sprintf(
				"%s is not the claude CLI: it says %q when asked for its version, and does not speak its protocol",
				p.Path, firstLine(said)), "name the CLI with WAVEX_CLAUDE, or install it with: "+statement.Install)
		}
		return p, warnCheck(cliCheck, fmt.Sprintf("%s tells no version: %q", p.Path, firstLine(said)),
			"see that it is the claude CLI")
	}
	p.Version = v
	return p, okCheck(cliCheck, fmt.Sprintf("%s, version %s", p.Path, v))
}

const cliCheck = "cli"

// noVersionCheck returns the check of a program that did not report its version.
func noVersionCheck(program, said string, err error, wait time.Duration) Check {
	const name = cliCheck
	var start *proc.StartError
	switch {
	case errors.As(err, &start) && errors.Is(err, fs.ErrNotExist):
		if isFile(program) {
			return failCheck(name, program+" cannot be started: the program that its first line names is not there",
				"install it again with: "+statement.Install)
		}
		return failCheck(name, program+" is not there", "install it with: "+statement.Install)
	case errors.As(err, &start):
		return failCheck(name, fmt.Sprintf("this system (%s/%s) cannot start %s: %v", runtime.GOOS, runtime.GOARCH,
			program, errors.Unwrap(start)),
			"name the CLI with WAVEX_CLAUDE, or install it with: "+statement.Install)
	case errors.Is(err, errNoAnswer):
		return failCheck(name, fmt.Sprintf("%s --version gave no answer in %s", program, wait),
			"try it by hand; something holds it up")
	}
	return failCheck(name, fmt.Sprintf("%s --version: %v: %s", program, err, firstLine(said)),
		"try it by hand; install it again with: "+statement.Install)
}

// speaksProtocol reports whether a program answers a control request of the CLI's protocol before any
// prompt. The CLI makes no API request for that (observed on claude 2.1.258 and 2.1.330).
func speaksProtocol(ctx context.Context, argv, env []string, wait time.Duration) bool {
	said, err := runOutput(ctx, programRun{env: env,
		argv: slices.Concat(argv, []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json",
			"--verbose"}),
		input: `{"type":"control_request","request_id":"wavex-hello","request":{"subtype":"initialize","hooks":null}}` + "\n",
	}, wait)
	return err == nil && strings.Contains(said, `"control_response"`) && strings.Contains(said, `"wavex-hello"`)
}

// programRun is a program to run, with its environment and input.
type programRun struct {
	argv  []string
	dir   string   // absolute; "" means the current one
	env   []string // complete
	input string   // at most the capacity of a pipe, 4 KB
}

// errNoAnswer means that a program did not end in time.
var errNoAnswer = errors.New("no answer in time")

// runOutput runs a program to its end and returns at most maxOutput bytes of stdout and stderr
// together.
func runOutput(ctx context.Context, q programRun, wait time.Duration) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errNoAnswer)
	defer cancel()
	b := proc.HeadBuffer{Max: maxOutput}
	p, err := proc.Start(proc.Spec{Argv: q.argv, Dir: q.dir, Env: q.env, Combined: &b, Stdin: q.input != ""})
	if err != nil {
		return "", err
	}
	if q.input != "" {
		_, _ = io.WriteString(p.Stdin, q.input) // a program that does not read it does not answer
		_ = p.Stdin.Close()
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Kill() // it may have ended by now
	}
	exit := p.Wait()
	switch {
	case ctx.Err() != nil && exit.Signal != "":
		return "", context.Cause(ctx)
	case exit.Signal != "":
		return b.String(), fmt.Errorf("ended by %s", exit.Signal)
	case exit.Code != 0:
		return b.String(), fmt.Errorf("exit status %d", exit.Code)
	}
	return b.String(), nil
}

const maxOutput = 64 << 10

// firstLine returns the first line of a text, bounded.
func firstLine(text string) string { return textfmt.Shorten(textfmt.FirstLine(text), 200) }

// Statements reports whether the CLI behaves as wavex requires. It fails if the CLI must not be
// used, and warns if wavex uses a fallback.
func Statements(c statement.CLI) Check {
	const name = "statements"
	if why, advice := c.Refusal(); why != "" {
		return failCheck(name, why, advice)
	}
	all := len(statement.All())
	if c.Source == statement.BuiltIn {
		return okCheck(name, fmt.Sprintf("what wavex relies on was tested on this version (%d statements)", all))
	}
	text := fmt.Sprintf("the program %s; %d of %d statements hold%s", c.VersionStatus(),
		len(c.Support.Select(statement.Holds)), all, c.Fallbacks())
	if c.Fallbacks() == "" {
		return okCheck(name, text)
	}
	return warnCheck(name, text, "see wavex doctor --probe; wavex does without what does not hold")
}

// modelAliases are names that the CLI replaces with a model, also with the suffix [1m] for a long context. `--help` of
// 2.1.330 names fable, opus and sonnet.
var modelAliases = []string{"default", "best", "fable", "opus", "sonnet", "haiku", "opusplan"}

// Prices reports the models that the price table does not list. For an attempt that ends, the ledger uses the CLI's
// own figure. Without a list price, that figure cannot be checked, and an attempt that dies counts by a guess.
func Prices(models []string, listed func(model string) bool) Check {
	const name = "prices"
	var missing []string
	for _, m := range models {
		alias := slices.Contains(modelAliases, strings.TrimSuffix(m, "[1m]"))
		if m != "" && !alias && !listed(m) && !slices.Contains(missing, m) {
			missing = append(missing, m)
		}
	}
	if len(missing) == 0 {
		return okCheck(name, "every model that is named by its id has a list price")
	}
	return warnCheck(name, fmt.Sprintf("no list price for %s: an attempt that is killed is priced by a guess",
		strings.Join(missing, ", ")),
		"add it to a price table and name that with run --prices FILE")
}
