package runner

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"wavex/internal/loop"
	"wavex/internal/plan"
)

// A log file keeps the head and the tail of a long output, in whole lines if they are not too long, and counts the
// rest.
func TestLongLog(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]func(i int) string{
		"lines":      func(i int) string { return fmt.Sprintf("%d %s\n", i, strings.Repeat("x", i%200)) },
		"long lines": func(i int) string { return fmt.Sprintf("%d %s\n", i, strings.Repeat("x", i%(2*lineRoom))) },
		"no lines":   func(i int) string { return fmt.Sprintf("%d %s", i, strings.Repeat("x", 900)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log, err := (&Host{}).CreateLog(dir, "output.txt")
			must(t, err)
			defer log.Close()
			var whole bytes.Buffer
			out := bufio.NewWriterSize(log, 9973) // a write for each line takes most of the time
			for i := 0; whole.Len() < 3*maxLog+maxLog/8; i++ {
				text := line(i)
				whole.WriteString(text)
				_, err := out.WriteString(text)
				must(t, err)
				if whole.Len() > maxLog && i%40000 == 0 {
					must(t, out.Flush())
					checkLog(t, dir, whole.Bytes(), name == "lines")
				}
			}
			must(t, out.Flush())
			checkLog(t, dir, whole.Bytes(), name == "lines")
			got, err := os.ReadFile(filepath.Join(dir, "output.txt"))
			must(t, err)
			if whole := bytes.Index(got, []byte("\n...")) == maxLog/2; name == "no lines" && !whole {
				t.Error("the head is not half of the file")
			}
			if open := openIn(dir); name == "lines" && len(open) > 1 {
				t.Errorf("open are %q", open)
			}
		})
	}
}

// One write may be longer than the whole file.
func TestLongWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, err := (&Host{}).CreateLog(dir, "output.txt")
	must(t, err)
	defer log.Close()
	var whole bytes.Buffer
	for i := 0; whole.Len() < 3*maxLog; i++ {
		fmt.Fprintf(&whole, "%d %s\n", i, strings.Repeat("x", i%200))
	}
	for _, part := range [][2]int{{0, maxLog}, {maxLog, maxLog + 1}, {maxLog + 1, whole.Len()}} {
		n, err := log.Write(whole.Bytes()[part[0]:part[1]])
		if n != part[1]-part[0] || err != nil {
			t.Fatalf("%d bytes written after %d: %v", n, part[0], err)
		}
		if part[1] > maxLog {
			checkLog(t, dir, whole.Bytes()[:part[1]], true)
		} else if st, err := os.Stat(filepath.Join(dir, "output.txt")); err != nil || st.Size() != maxLog {
			t.Errorf("after %d bytes: %v, %v", maxLog, st, err)
		}
	}
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openIn returns the open files of this process below a directory, where the system lists them.
func openIn(dir string) (open []string) {
	links, _ := filepath.Glob("/proc/self/fd/*") // the pattern is valid
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, dir+"/") {
			open = append(open, at)
		}
	}
	return open
}

// checkLog compares a log file with the whole output.
func checkLog(t *testing.T, dir string, whole []byte, lines bool) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "output.txt"))
	must(t, err)
	mark := regexp.MustCompile(`\n\.\.\. (\d+) bytes left out \.\.\.\n`).FindSubmatchIndex(got)
	if mark == nil || len(got) > maxLog {
		t.Fatalf("%d bytes kept, the mark: %v", len(got), mark)
	}
	head, tail := got[:mark[0]], got[mark[1]:]
	n, err := strconv.Atoi(string(got[mark[2]:mark[3]]))
	must(t, err)
	if len(head)+n+len(tail) != len(whole) || !bytes.HasPrefix(whole, head) || !bytes.HasSuffix(whole, tail) {
		t.Fatalf("of %d bytes, %d and %d are kept and %d left out", len(whole), len(head), len(tail), n)
	}
	if len(head) < maxLog/2-lineRoom || len(tail) < maxLog/4-lineRoom {
		t.Errorf("the head has %d bytes, the tail %d", len(head), len(tail))
	}
	if lines && (head[len(head)-1] != '\n' || whole[len(whole)-len(tail)-1] != '\n') {
		t.Errorf("a line is cut: %q, %q", head[len(head)-30:], tail[:30])
	}
	if line, _, _ := bytes.Cut(got[mark[0]+1:], []byte("\n")); !IsOmission(line) {
		t.Errorf("%q is no omission", line)
	}
}

// Only the line of wavex stands for bytes that were left out.
func TestIsOmission(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{"... 1 bytes left out ...": true, "": false, "... 12 bytes": false,
		"x ... 1 bytes left out ...": false, `{"type":"system"}`: false} {
		if IsOmission([]byte(line)) != want {
			t.Errorf("%q is an omission: %v", line, !want)
		}
	}
}

// A log file that another file has replaced is not read, and a file that was cut or removed ends the log. The writer
// learns how much was written before.
func TestReplacedLog(t *testing.T) {
	t.Parallel()
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for name, c := range map[string]struct {
		chunks, written int // before the change, and by the next write, in MB
		change          func(path string) error
	}{
		"replaced": {14, 2, func(path string) error {
			return errors.Join(os.Rename(path, filepath.Join(filepath.Dir(path), "aside")),
				os.WriteFile(path, bytes.Repeat([]byte("secret "), 4<<20), 0o600))
		}},
		"removed":               {14, 2, os.Remove},
		"cut":                   {16, 0, func(path string) error { return os.Truncate(path, 0) }},
		"cut after an omission": {18, 0, func(path string) error { return os.Truncate(path, maxLog/2) }},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "output.txt")
		log, err := (&Host{}).CreateLog(dir, "output.txt")
		must(t, err)
		defer log.Close()
		for range c.chunks {
			_, err := log.Write(chunk)
			must(t, err)
		}
		must(t, c.change(path))
		if n, err := log.Write(bytes.Repeat(chunk, 4)); err == nil || n != c.written<<20 {
			t.Errorf("%s: %d bytes written, %v", name, n, err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "aside")); name == "replaced" &&
			(err != nil || bytes.Contains(got, []byte("secret"))) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
}

// The writer of a log learns that the disk is full, and how much was written.
func TestLogOnAFullDisk(t *testing.T) {
	t.Parallel()
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	log := boundedFile{File: f}
	if n, err := log.Write([]byte("text")); n != 0 || err == nil {
		t.Errorf("%d bytes written, %v", n, err)
	}
}

// A command whose output has no place in the log folder still runs and reports its end.
func TestLogNowhere(t *testing.T) {
	t.Parallel()
	l := lazyFile{Host: &Host{}, dir: filepath.Join(os.DevNull, "x"), name: "output.txt"}
	for range 2 {
		if n, err := l.Write([]byte("text")); n != 0 || err == nil {
			t.Errorf("%d bytes written, %v", n, err)
		}
	}
	l.close()
}

// A command closes the file of its output. A result that has no JSON is an error, and leaves no file.
func TestFilesOfACommand(t *testing.T) {
	t.Parallel()
	a := &attempt{Local: &Local{}, env: os.Environ(),
		req: Request{Dir: t.TempDir(), LogDir: t.TempDir(), Command: "echo told"}}
	a.turn.Settings.Timeout = plan.DefaultTimeout
	v := a.runCommand(t.Context())
	text, err := os.ReadFile(filepath.Join(a.req.LogDir, loop.OutputFile))
	if open := openIn(a.req.LogDir); v.outcome != Done || string(text) != "told\n" || err != nil || open != nil {
		t.Errorf("%+v, %q, %v; open are %q", v, text, err, open)
	}
	if err := a.WriteResult(a.req.LogDir, math.NaN()); err == nil {
		t.Error("the result is no JSON")
	}
	if _, err := os.Lstat(filepath.Join(a.req.LogDir, loop.ResultFile)); err == nil {
		t.Error("there is a result")
	}
}

// holding is a Redactor whose writers pass everything on when they are closed.
type holding struct{}

func (holding) Bytes(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte("secret"), []byte("[removed]"))
}

func (h holding) String(s string) string { return string(h.Bytes([]byte(s))) }
func (holding) Value(v any) any          { return v }

func (h holding) Writer(w io.Writer) io.WriteCloser { return &heldWriter{to: w} }

type heldWriter struct {
	bytes.Buffer
	to io.Writer
}

func (h *heldWriter) Close() error {
	_, err := h.to.Write(holding{}.Bytes(h.Next(h.Len())))
	return err
}

// Secrets are removed from a log file. Flush writes the rest.
func TestRedactedLog(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	log, err := (&Host{Redactor: holding{}}).CreateLog(dir, "output.txt")
	must(t, err)
	_, err = log.Write([]byte("my secret"))
	must(t, err)
	path := log.Flush()
	if got, err := os.ReadFile(path); err != nil || string(got) != "my [removed]" ||
		path != filepath.Join(dir, "output.txt") {
		t.Errorf("%s: %q, %v", path, got, err)
	}
	_, err = log.Write([]byte(" and more"))
	must(t, err)
	log.Close()
	if got, err := os.ReadFile(path); err != nil || string(got) != "my [removed] and more" {
		t.Errorf("%q, %v", got, err)
	}
	for _, dir := range []string{path, filepath.Dir(dir)} { // a file; a folder in which the name is taken
		if log, err := (&Host{}).CreateLog(dir, "new"); err == nil || log != nil {
			t.Errorf("a log in %s: %v, %v", dir, log, err)
		}
	}
	gone := filepath.Join(dir, "link")
	must(t, os.Symlink("gone", gone))
	if _, err := (&Host{}).CreateLog(gone, "new"); err == nil || !strings.HasPrefix(err.Error(), "mkdir ") {
		t.Errorf("a log in a folder that cannot be made: %v", err)
	}
}
