package rehearse

// This file has the agent's tools. They really write, delete and run, and their lines on the stream
// are those of the CLI's Write, Edit and Bash.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"wavex/internal/proc"
)

// action is one use of a tool.
type action struct {
	id      string
	tool    string
	input   any
	command string // of Bash, if the block has it
	note    string // "wrote a.txt", for the report
	do      func(context.Context) (string, error)
}

// toolError is a tool's refusal: the model sees it, and the turn continues.
type toolError string

func (e toolError) Error() string { return string(e) }

// maxOutput bounds, in bytes, a command's output on the stream.
const maxOutput = 30_000

// actions returns the tool uses of the block, in order.
func (t *turn) actions() []action {
	var out []action
	for _, p := range t.b.Deletes {
		path := t.path(p)
		out = append(out, action{tool: "Bash", note: "deleted " + string(p),
			input: map[string]string{"command": "rm -r " + string(p)},
			do: func(context.Context) (string, error) {
				if _, err := os.Lstat(path); err != nil {
					return "", asToolError(err)
				}
				return "(Bash completed with no output)", asToolError(os.RemoveAll(path))
			}})
	}
	for _, w := range t.b.Writes {
		out = append(out, t.writeAction(w))
	}
	runs := t.b.Runs
	if t.b.Outcome == Denial && len(runs) == 0 {
		runs = []string{"git push"}
	}
	for _, cmd := range runs {
		out = append(out, action{tool: "Bash", command: cmd, note: "ran " + cmd,
			input: map[string]string{"command": cmd, "description": "rehearsed"},
			do:    func(ctx context.Context) (string, error) { return t.shell(ctx, cmd) }})
	}
	for i := range out {
		out[i].id = t.newToolID()
	}
	return out
}

func (t *turn) path(p LocalPath) string { return filepath.Join(t.dir, filepath.FromSlash(string(p))) }

// writeAction returns the tool use for w: a Write for a whole file, an Edit for a change of one.
func (t *turn) writeAction(w Write) action {
	path := t.path(w.Path)
	act := action{tool: "Write", note: "wrote " + string(w.Path)}
	var content func() (string, error)
	switch {
	case w.Content != nil:
		act.input = map[string]string{"file_path": path, "content": *w.Content}
		content = func() (string, error) { return *w.Content, nil }
	case w.From != "":
		act.input = map[string]string{"file_path": path, "content": "(a copy of " + w.From + ")"}
		content = func() (string, error) {
			b, err := os.ReadFile(filepath.Join(t.dir, filepath.FromSlash(w.From)))
			return string(b), err
		}
	case w.Append != nil:
		act.tool = "Edit"
		act.input = map[string]any{"replace_all": false, "file_path": path, "old_string": "", "new_string": *w.Append}
		content = func() (string, error) {
			b, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return string(b) + *w.Append, err
		}
	case w.Fill != nil:
		act.note = "made up " + string(w.Path)
		act.input = map[string]string{"file_path": path, "content": strings.Join(w.Fill, "\n")}
		content = func() (string, error) { return t.fill(path, w.Fill) }
	default:
		act.tool = "Edit"
		act.input = map[string]any{"replace_all": false, "file_path": path, "old_string": w.Replace.Old,
			"new_string": w.Replace.New}
		content = func() (string, error) { return replaced(path, w.Replace) }
	}
	act.do = func(context.Context) (string, error) {
		text, err := content()
		if err == nil {
			err = writeFile(path, text, fs.FileMode(w.Mode))
		}
		if err != nil {
			return "", asToolError(err)
		}
		if act.tool == "Edit" {
			return "The file " + path + " has been updated successfully.", nil
		}
		return "File created successfully at: " + path, nil
	}
	return act
}

// replaced returns the content of a file in which r has replaced the only occurrence of its old text.
func replaced(path string, r *Replace) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	switch n := strings.Count(string(b), r.Old); {
	case n == 0:
		return "", toolError("String to replace not found in file.\nString: " + r.Old)
	case n > 1:
		return "", toolError(fmt.Sprintf("Found %d matches of the string to replace, but replace_all is false.", n))
	}
	return strings.Replace(string(b), r.Old, r.New, 1), nil
}

// fill returns the content of a file with the lines that it shall have.
func (t *turn) fill(path string, lines []string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	note := fmt.Sprintf("made up by a rehearsal of %s, attempt %d", t.task.Task, max(t.task.Attempt, 1))
	return filled(path, string(b), note, lines), err
}

// writeFile writes a file and the directories above it. Mode 0 keeps the mode of an existing file.
func writeFile(path, text string, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	if mode != 0 {
		return os.Chmod(path, mode)
	}
	return nil
}

// asToolError converts a file system error to one that the model sees.
func asToolError(err error) error {
	var tool toolError
	if err == nil || errors.As(err, &tool) {
		return err
	}
	return toolError(err.Error())
}

// shell runs a command as the Bash tool does. It stops the command when the turn is stopped.
func (t *turn) shell(ctx context.Context, cmd string) (string, error) {
	out := proc.HeadBuffer{Max: maxOutput}
	p, err := proc.Start(proc.Spec{Argv: proc.Shell(cmd), Dir: t.dir, Env: t.env, Combined: &out})
	if err != nil {
		return "", asToolError(err)
	}
	if err := t.await(ctx, nil, p.Done()); err != nil {
		_ = p.Kill() // it may have ended already
		p.Wait()
		return "", err
	}
	e := p.Wait()
	text := strings.TrimRight(out.String(), "\n")
	if e.Code != 0 {
		return "", toolError(strings.TrimRight(fmt.Sprintf("Exit code %d\n%s", e.Code, text), "\n"))
	}
	text = cmp.Or(text, "(Bash completed with no output)")
	return text, nil
}
