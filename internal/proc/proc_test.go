//go:build unix

package proc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/proc/proctest"
)

func TestStreams(t *testing.T) {
	t.Parallel()
	t.Run("stdin, stdout, stderr, code", func(t *testing.T) {
		t.Parallel()
		var stderr bytes.Buffer
		p := start(t, Spec{Argv: Shell("cat; echo err >&2; exit 3"), Stdin: true, Stderr: &stderr})
		if _, err := io.WriteString(p.Stdin, "in"); err != nil {
			t.Fatal(err)
		}
		_ = p.Stdin.Close()
		out, err := io.ReadAll(p.Stdout)
		e := p.Wait()
		if string(out) != "in" || err != nil || stderr.String() != "err\n" {
			t.Errorf("stdout %q %v, stderr %q", out, err, stderr.String())
		}
		if e.Code != 3 || e.Signal != "" || !e.Contained {
			t.Errorf("%+v", e)
		}
		if again := p.Wait(); again != e {
			t.Errorf("a second Wait: %+v, the first %+v", again, e)
		}
	})
	t.Run("combined, in order", func(t *testing.T) {
		t.Parallel()
		var both bytes.Buffer
		p := start(t, Spec{Argv: Shell("for i in 1 2 3; do echo o$i; echo e$i >&2; done"), Combined: &both})
		p.Wait()
		if got := strings.ReplaceAll(both.String(), "\n", " "); got != "o1 e1 o2 e2 o3 e3 " || p.Stdout != nil {
			t.Errorf("%q, Stdout %v", got, p.Stdout)
		}
	})
	t.Run("a file, directly", func(t *testing.T) {
		t.Parallel()
		f, err := os.Create(filepath.Join(t.TempDir(), "out"))
		must(t, err)
		defer f.Close()
		start(t, Spec{Argv: Shell("echo a; echo b >&2"), Combined: f}).Wait()
		if b, _ := os.ReadFile(f.Name()); string(b) != "a\nb\n" {
			t.Errorf("%q", b)
		}
	})
	t.Run("no stdin", func(t *testing.T) {
		t.Parallel()
		p := start(t, Spec{Argv: []string{"cat"}})
		if out, err := io.ReadAll(p.Stdout); len(out) > 0 || err != nil || p.Stdin != nil {
			t.Errorf("%q %v", out, err)
		}
	})
	t.Run("nobody reads stdin", func(t *testing.T) {
		t.Parallel()
		p := start(t, Spec{Argv: Shell("exec sleep 0"), Stdin: true})
		_, err := p.Stdin.Write(make([]byte, 1<<20)) // more than a pipe holds
		if err == nil {
			t.Error("a megabyte was written to nobody")
		}
		p.Wait()
	})
	t.Run("a writer that fails", func(t *testing.T) {
		t.Parallel()
		p := start(t, Spec{Argv: []string{"yes"}, Combined: full{}})
		if e := p.Wait(); e.Signal != "SIGPIPE" {
			t.Errorf("%+v, want SIGPIPE", e)
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

// TestLastOutput shows that no output of a process is lost, even with a late reader or with other
// processes that hold the output.
func TestLastOutput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		args  []string
		bytes int
		late  bool // read only after Wait
	}{
		{"much, read at once", []string{"blurt", "8000000"}, 8000000, false},
		{"much, held by another", []string{"blurt", "8000000", "leave"}, 8000000, false},
		{"a pipe full, read late", []string{"blurt", "65536"}, 65536, true},
		{"a pipe full, held by another, read late", []string{"blurt", "65536", "leave"}, 65536, true},
		{"nothing, held by another", []string{"blurt", "0", "leave"}, 0, false},
		{"nothing, held by another, read late", []string{"blurt", "0", "leave"}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, Spec{Argv: self(t, c.args...), Mark: mark(c.name)})
			if c.late {
				p.Wait()
			}
			n, err := io.Copy(io.Discard, p.Stdout)
			if n != int64(c.bytes) || err != nil {
				t.Errorf("read %d bytes, %v; want %d", n, err, c.bytes)
			}
			<-p.Done()
			if e := p.Wait(); e.Code != 0 || !e.Contained || (len(c.args) == 3) != (e.Swept == 1) {
				t.Errorf("%+v", e)
			}
			if n, err := p.Stdout.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("after the end: %d %v", n, err)
			}
		})
	}
}

func TestTerminate(t *testing.T) {
	t.Parallel()
	t.Run("heard", func(t *testing.T) {
		t.Parallel()
		p := start(t, Spec{Argv: Shell("echo ready; exec sleep 300")})
		line(t, bufio.NewReader(p.Stdout))
		must(t, p.Terminate())
		if e := p.Wait(); e.Signal != "SIGTERM" || e.Code != -1 {
			t.Errorf("%+v", e)
		}
		if err := p.Terminate(); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%v, want os.ErrProcessDone", err)
		}
	})
	t.Run("ignored", func(t *testing.T) {
		t.Parallel()
		p := start(t, Spec{Argv: self(t, "hold"), Stdin: true})
		out := bufio.NewReader(p.Stdout)
		line(t, out)
		must(t, p.Terminate())
		select {
		case <-p.Done():
			t.Fatal("it did not ignore SIGTERM")
		default:
		}
		must(t, p.Kill())
		if e := p.Wait(); e.Signal != "SIGKILL" {
			t.Errorf("%+v", e)
		}
	})
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	proctest.Script(t, filepath.Join(bin, "orphaned"), "#!/no/such/interpreter\n")
	proctest.Script(t, filepath.Join(dir, "here"), "#!/bin/sh\necho here\n")
	must(t, os.WriteFile(filepath.Join(bin, "plain"), []byte("#!/bin/sh\n"), 0o644))
	env := []string{"PATH=.:" + bin + "::/bin:/usr/bin"}

	for _, c := range []struct {
		argv []string
		dir  string
		want error
	}{
		{nil, dir, exec.ErrNotFound},
		{[]string{""}, dir, exec.ErrNotFound},
		{[]string{"no-such-program"}, dir, exec.ErrNotFound},
		{[]string{"here"}, dir, exec.ErrNotFound}, // "." in PATH is skipped
		{[]string{"plain"}, dir, fs.ErrPermission},
		{[]string{"./bin/plain"}, dir, fs.ErrPermission},
		{[]string{"/no/such/program"}, dir, fs.ErrNotExist},
		{[]string{"orphaned"}, dir, fs.ErrNotExist},
		{[]string{"true"}, filepath.Join(dir, "nowhere"), fs.ErrNotExist},
	} {
		p, err := Start(Spec{Argv: c.argv, Dir: c.dir, Env: env, Stdin: true})
		var start *StartError
		if p != nil || !errors.Is(err, c.want) || !errors.As(err, &start) {
			t.Errorf("%q in %s: %v, want a StartError of %v", c.argv, c.dir, err, c.want)
			continue
		}
		if len(c.argv) > 0 && start.Program != c.argv[0] {
			t.Errorf("program %q, want %q", start.Program, c.argv[0])
		}
	}

	p := start(t, Spec{Argv: []string{"./here"}, Dir: dir, Env: env})
	if out, _ := io.ReadAll(p.Stdout); string(out) != "here\n" {
		t.Errorf("relative to Dir: %q", out)
	}
}

// TestStartedEnvironment shows that a child sees the variables of Env, the mark, and nothing
// else.
func TestStartedEnvironment(t *testing.T) {
	t.Parallel()
	mark := mark("t") // used by no other process, because every process that carries it is swept
	env := []string{"GORACE=atexit_sleep_ms=0", "WAVEX_ATTEMPT=forged", "WAVEX_RUN=r"}
	for _, c := range []struct {
		mark string
		want []string
	}{
		{mark, []string{"GORACE=atexit_sleep_ms=0", "WAVEX_ATTEMPT=" + mark, "WAVEX_RUN=r"}},
		{"", []string{"GORACE=atexit_sleep_ms=0", "WAVEX_ATTEMPT=forged", "WAVEX_RUN=r"}},
	} {
		p := start(t, Spec{Argv: self(t, "environ"), Env: env, Mark: c.mark})
		out, _ := io.ReadAll(p.Stdout)
		got := strings.Fields(string(out))
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("mark %q: %q, want %q", c.mark, got, c.want)
		}
	}
	p := start(t, Spec{Argv: self(t, "environ"), Env: []string{}})
	if out, _ := io.ReadAll(p.Stdout); string(out) != "\n" {
		t.Errorf("an empty environment came to %q", out)
	}
}
