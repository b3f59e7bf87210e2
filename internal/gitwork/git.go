package gitwork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/internal/async"
	"wavex/internal/proc"
	"wavex/internal/textfmt"
)

// This file runs git. It prevents git from prompting, paging, starting daemons and locking where it
// only reads, and waits for locks that other processes hold. It does not know the purpose of a
// command.

const (
	lockTimeout = 20 * time.Second // for a lock that another process holds
	killDelay   = 3 * time.Second  // from the request to terminate to the kill
	maxIndex    = 1 << 30          // bytes of the largest index that is read
)

// git runs git in one directory. It is a value: with and at return changed copies.
type git struct {
	program string // "": git
	dir     string
	env     []string
	most    int                  // bytes of output that are kept; 0: all
	mark    string               // marks the hooks' processes as the attempt's
	stderr  *string              // gets the stderr of a git that succeeds; nil: not needed
	changed func(ref, id string) // is told of each ref that was set, or with the id "" deleted; nil: not needed
}

// newGit chooses git's environment. The user's configuration applies, prompts are off, and messages
// are in English because locked reads them. The environment does not contain the run's mark:
// otherwise the guard of a killed wavex would kill the git processes of the wavex that resumes the
// run. Processes that the repository's hooks start carry the attempt's mark.
func newGit(dir string, parent []string) git {
	return git{dir: dir, env: proc.Environ(parent, map[string]string{
		"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": ":", "GIT_SEQUENCE_EDITOR": ":",
		"GIT_PAGER": "cat", "PAGER": "cat", "LC_ALL": "C", "LANGUAGE": "", "GIT_OPTIONAL_LOCKS": "0",
		"GIT_ASKPASS": "", "SSH_ASKPASS": "", "GCM_INTERACTIVE": "never", "GIT_ADVICE": "0", "GIT_MERGE_AUTOEDIT": "no",
	})}.withConfig("gc.auto=0", "maintenance.auto=false", "core.fsmonitor=false", "submodule.recurse=false",
		"commit.gpgSign=false", "core.safecrlf=false", "core.splitIndex=false")
}

// withEnv returns a copy of g with more environment variables. A variable that exists is replaced.
func (g git) withEnv(kvs ...string) git {
	env := slices.Clone(g.env)
	for _, kv := range kvs {
		name, _, _ := strings.Cut(kv, "=")
		env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		env = append(env, kv)
	}
	g.env = env
	return g
}

// filterEnv returns the variables of an environment that begin with one of the prefixes.
func filterEnv(env []string, prefixes ...string) (out []string) {
	for _, kv := range env {
		for _, p := range prefixes {
			if strings.HasPrefix(kv, p) {
				out = append(out, kv)
			}
		}
	}
	return out
}

// asWavex returns a copy of g whose commits are by wavex.
func (g git) asWavex() git {
	return g.withEnv("GIT_AUTHOR_NAME=wavex", "GIT_AUTHOR_EMAIL=wavex@localhost", "GIT_COMMITTER_NAME=wavex",
		"GIT_COMMITTER_EMAIL=wavex@localhost")
}

func (g git) inDir(dir string) git { g.dir = dir; return g }

// gitError is a git command that failed.
type gitError struct {
	program string
	args    []string
	code    int
	signal  string
	stderr  string // stderr
	stdout  string
	disk    string // the limit of a full disk, which need not be the cause; "" if it has space
}

func (e *gitError) Error() string {
	return fmt.Sprintf("%s %s: %s", e.program, e.args[0], e.said(600))
}

// said returns the first most bytes of the output as one line, or the exit code if there is none, and the full disk.
func (e *gitError) said(most int) string {
	exit := fmt.Sprintf("exit code %d %s", e.code, e.signal)
	said := textfmt.OneLine(cmp.Or(strings.TrimSpace(e.stderr), strings.TrimSpace(e.stdout), exit), most)
	if e.disk != "" {
		said += "; " + e.disk
	}
	return said
}

// exitCode returns the exit code of a git command that failed, 0 for a nil error, and -1 for other
// errors.
func exitCode(err error) int {
	var e *gitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e) && e.signal == "":
		return e.code
	}
	return -1
}

// output runs git and returns its output without the last newline. The error is a *gitError, a
// *proc.StartError, or the cause of ctx's end.
func (g git) output(ctx context.Context, args ...string) (string, error) {
	return g.outputOf(ctx, "", args...)
}

func (g git) run(ctx context.Context, args ...string) error {
	_, err := g.output(ctx, args...)
	return err
}

// settingsVariable begins the variable that has settings.
const settingsVariable = "GIT_CONFIG_PARAMETERS="

// withConfig returns a copy of g with more settings, NAME=VALUE. The variable is that of git -c; a git
// before 2.31 does not know GIT_CONFIG_COUNT.
func (g git) withConfig(settings ...string) git {
	kv := settingsVariable
	for _, has := range filterEnv(g.env, kv) {
		kv = has + " "
	}
	for i, s := range settings {
		if i > 0 {
			kv += " "
		}
		kv += "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return g.withEnv(kv)
}

// withoutHooks returns a copy of g that runs none of the repository's hooks.
func (g git) withoutHooks() git { return g.withConfig("core.hooksPath=" + os.DevNull) }

// runWithoutHooks runs git without the repository's hooks.
func (g git) runWithoutHooks(ctx context.Context, args ...string) error {
	return g.withoutHooks().run(ctx, args...)
}

// outputOf runs git with text on its standard input. If another process holds a lock, it tries again until lockTimeout
// is over.
func (g git) outputOf(ctx context.Context, in string, args ...string) (out string, err error) {
	err = retryLocked(ctx, func() error {
		out, err = g.runOnce(ctx, in, args)
		return err
	})
	return strings.TrimSuffix(out, "\n"), err
}

// retryLocked calls do, and calls it again while another process holds a lock, until lockTimeout is over.
func retryLocked(ctx context.Context, do func() error) error {
	deadline := time.Now().Add(lockTimeout)
	pause := 5 * time.Millisecond
	for {
		err := do()
		if err == nil || !isLockError(err) || time.Now().After(deadline) {
			return err
		}
		if err := async.Sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return err
		}
		pause = min(2*pause, 200*time.Millisecond)
	}
}

// isLockError reports whether git failed because a lock file exists. It matches the message because git
// uses one exit code for all errors.
func isLockError(err error) bool {
	var e *gitError
	if !errors.As(err, &e) {
		return false
	}
	return strings.Contains(e.stderr, ".lock': File exists") ||
		strings.Contains(e.stderr, "could not lock config file") && strings.Contains(e.stderr, "File exists") ||
		// A git that adds a worktree may see another one that is half made.
		strings.Contains(e.stderr, "commondir") && strings.Contains(e.stderr, "failed to read")
}

func (g git) runOnce(ctx context.Context, in string, args []string) (string, error) {
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	stderr, stdout := proc.HeadBuffer{Max: math.MaxInt}, proc.HeadBuffer{Max: cmp.Or(g.most, math.MaxInt)}
	p, err := g.start(args, in != "", &stderr)
	if err != nil {
		return "", err
	}
	ios := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(&stdout, p.Stdout) // the exit code reports a failure
		ios <- struct{}{}
	}()
	go func() {
		if in != "" {
			_, _ = io.WriteString(p.Stdin, in) // a git that does not read it reports that itself
			_ = p.Stdin.Close()
		}
		ios <- struct{}{}
	}()
	stopped := false
	select {
	case <-p.Done():
	case <-ctx.Done():
		stopped = true
		p.Stop(killDelay) // asked to end, git removes its locks
	}
	exit := p.Wait()
	<-ios
	<-ios
	switch {
	case exit.Code == 0:
		if g.stderr != nil {
			*g.stderr = stderr.String()
		}
		return stdout.String(), nil
	case stopped:
		return "", context.Cause(ctx)
	}
	return stdout.String(), g.failure(args, exit, stderr.String(), stdout.String())
}

func (g git) name() string {
	program := g.program
	if program == "" {
		program = "git"
	}
	return program
}

// start starts git.
func (g git) start(args []string, stdin bool, stderr io.Writer) (*proc.Process, error) {
	return proc.Start(proc.Spec{Argv: append([]string{g.name()}, args...), Dir: g.dir, Env: g.env,
		Mark: g.mark, Stdin: stdin, Stderr: stderr, EndsOnTerm: true})
}

// failure returns the error for a git that ended with a failure.
func (g git) failure(args []string, exit proc.Exit, stderr, stdout string) *gitError {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	failed := &gitError{program: g.name(), args: args, code: exit.Code, signal: exit.Signal,
		stderr: stderr, stdout: stdout}
	if l, full := proc.DiskLimit(g.dir); full {
		failed.disk = l.String()
	}
	return failed
}

// Read returns the first most bytes of the output of a git command that only reads, in dir. env is
// added to wavex's environment. Paths are not quoted.
func Read(ctx context.Context, dir string, env map[string]string, most int, args ...string) (string, error) {
	g := newGit(dir, os.Environ())
	g.most = most
	for name, value := range env {
		g = g.withEnv(name + "=" + value)
	}
	return g.runOnce(ctx, "", append([]string{"-c", "core.quotePath=false"}, args...))
}

// Git runs git in one repository, for other packages.
type Git struct{ g git }

// NewGit returns the Git of the repository in dir. Git and its ssh do not prompt. env is the environment from which
// that of git is made.
func NewGit(ctx context.Context, dir string, env []string) Git {
	return Git{newGit(dir, env).withBatchSSH(ctx)}
}

// AsWavex returns a copy whose commits are by wavex.
func (g Git) AsWavex() Git { return Git{g.g.asWavex()} }

// EmptyIndex returns a copy with an empty index. The caller must call done, which removes it.
func (g Git) EmptyIndex() (index Git, done func(), err error) {
	with, done, err := g.g.emptyIndex("")
	return Git{with}, done, err
}

// Output runs git with text on its standard input and returns its output without the last newline.
func (g Git) Output(ctx context.Context, in string, args ...string) (string, error) {
	return g.g.outputOf(ctx, in, args...)
}

// Raw runs git with text on its standard input and returns its output as it is.
func (g Git) Raw(ctx context.Context, in string, args ...string) (string, error) {
	return g.g.runOnce(ctx, in, args)
}

// withBatchSSH returns a git whose ssh does not prompt, unless the user sets the ssh command.
func (g git) withBatchSSH(ctx context.Context) git {
	if len(filterEnv(g.env, "GIT_SSH_COMMAND=")) > 0 {
		return g
	}
	if own, _ := g.config(ctx, "core.sshCommand"); own != "" {
		return g
	}
	return g.withEnv("GIT_SSH_COMMAND=ssh -o BatchMode=yes")
}

// resolve returns the id of a commit, or "" if it does not exist.
func (g git) resolve(ctx context.Context, rev string) (string, error) {
	id, err := g.output(ctx, "rev-parse", "--verify", "--quiet", rev+"^{commit}")
	if exitCode(err) > 0 {
		return "", nil
	}
	return id, err
}

// listRefs returns the ids of the refs below names that end with "/", by their full names.
func (g git) listRefs(ctx context.Context, below ...string) (map[string]string, error) {
	out, err := g.output(ctx, append([]string{"for-each-ref", "--format=%(objectname) %(refname)"}, below...)...)
	refs := map[string]string{}
	for _, line := range splitLines(out) {
		id, name, _ := strings.Cut(line, " ")
		refs[name] = id
	}
	return refs, err
}

// config returns the value of a setting, or "" if it is not set. args are options of git config and the name.
func (g git) config(ctx context.Context, args ...string) (string, error) {
	value, err := g.output(ctx, append([]string{"config"}, args...)...)
	if exitCode(err) == 1 {
		return "", nil
	}
	return value, err
}

// updateRefs sets refs to commits in one transaction. The id "" deletes a ref.
func (g git) updateRefs(ctx context.Context, pairs ...string) error {
	var commands []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			commands = append(commands, "delete "+pairs[i])
		} else {
			commands = append(commands, "update "+pairs[i]+" "+pairs[i+1])
		}
	}
	return g.refTransaction(ctx, commands...)
}

// splitLines splits output into lines. It returns nil for "".
func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// splitNUL splits NUL-separated output.
func splitNUL(s string) []string {
	s = strings.TrimSuffix(s, "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

// absolute returns a path that git names, which may be relative to dir.
func absolute(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
