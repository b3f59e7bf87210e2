//go:build unix

package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/internal/testrepo"
)

// fileSize is the size of each file of a generated repository, in bytes: 60,000 of them have 1.1 GB.
const fileSize = 18 << 10

// benchRepo is a generated repository with one commit, in a temporary folder. Every git process that
// uses its environment is recorded in trace, which trace2 of git writes.
type benchRepo struct {
	files     int
	size      int64 // of a checkout and its index on the disk, in bytes
	root, dir string
	trace     string
	env       []string
}

// newRepo generates a repository: the same for the same number of files.
func newRepo(b *testing.B, files int) *benchRepo {
	b.Helper()
	root := b.TempDir()
	r := &benchRepo{files: files, root: root, dir: filepath.Join(root, "repo"), trace: filepath.Join(root, "trace")}
	home := filepath.Join(root, "home")
	testrepo.Must(b, os.Mkdir(home, 0o755))
	file(b, home, ".gitconfig", "[user]\nname = a\nemail = a@example.com\n[trace2]\neventTarget = "+r.trace+"\n")
	r.env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "GIT_CONFIG_NOSYSTEM=1")
	r.git(b, nil, "init", "-q", "-b", "main", r.dir)
	in, out := io.Pipe()
	go func() { _ = out.CloseWithError(writeFiles(out, files)) }()
	r.git(b, in, "-C", r.dir, "-c", "core.compression=1", "fast-import", "--quiet", "--depth=0")
	r.git(b, nil, "-C", r.dir, "update-ref", "refs/bench", "main")
	r.reset(b)
	git := filepath.Join(r.dir, ".git")
	r.size = diskUsage(b, r.dir) - diskUsage(b, git) + diskUsage(b, filepath.Join(git, "index"))
	return r
}

// writeFiles writes a commit for git fast-import: files with 20 in a folder, and lines like those of programs.
func writeFiles(to io.Writer, files int) error {
	w := bufio.NewWriterSize(to, 1<<20)
	rnd := rand.New(rand.NewPCG(5, 6))
	lines := make([]string, 4096)
	for i := range lines {
		lines[i] = fmt.Sprintf("\tvalue%d, err := load(ctx, %q, %d)\n", i, fmt.Sprintf("%016x", rnd.Uint64()), rnd.IntN(1e6))
	}
	fmt.Fprint(w, "commit refs/heads/main\ncommitter a <a@example.com> 1700000000 +0000\ndata 6\nfiles\n\n")
	add := func(path, text string) { fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", path, len(text), text) }
	add(".gitignore", ".loop\n")
	var text strings.Builder
	for i := range files - 1 {
		for text.Reset(); text.Len() < fileSize; {
			text.WriteString(lines[rnd.IntN(len(lines))])
		}
		add(fmt.Sprintf("d%02d/e%02d/f%05d.go", i/20%100, i/2000, i), text.String())
	}
	fmt.Fprint(w, "done\n")
	return w.Flush()
}

// git runs git with the repository's environment.
func (r *benchRepo) git(b *testing.B, in io.Reader, args ...string) string {
	b.Helper()
	c := exec.CommandContext(b.Context(), "git", args...)
	c.Env, c.Stdin = r.env, in
	out, err := c.CombinedOutput()
	if err != nil {
		b.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return string(out)
}

// reset removes everything that a run left, except for its objects, and the trace.
func (r *benchRepo) reset(b *testing.B) {
	b.Helper()
	testrepo.Must(b, os.RemoveAll(filepath.Join(r.dir, ".loop")))
	r.git(b, nil, "-C", r.dir, "checkout", "-q", "-f", "-B", "main", "refs/bench")
	r.git(b, nil, "-C", r.dir, "clean", "-ffdxq")
	r.git(b, nil, "-C", r.dir, "update-index", "-q", "--refresh")
	testrepo.Must(b, os.RemoveAll(filepath.Join(r.dir, ".git", "worktrees")))
	for ref := range strings.Lines(r.git(b, nil, "-C", r.dir, "for-each-ref", "--format=%(refname)", "refs/wavex",
		"refs/heads/wavex")) {
		r.git(b, nil, "-C", r.dir, "update-ref", "-d", strings.TrimSpace(ref))
	}
	file(b, r.root, "trace", "")
}

func (r *benchRepo) remove(b *testing.B) {
	b.Helper()
	testrepo.Must(b, os.RemoveAll(r.root))
}

// processes returns how many git processes began between two times. Those that git itself starts do not count.
func (r *benchRepo) processes(b *testing.B, from, to time.Time) (n int) {
	b.Helper()
	text, err := os.ReadFile(r.trace)
	testrepo.Must(b, err)
	for line := range strings.Lines(string(text)) {
		var ev struct {
			Event, SID string
			Time       time.Time
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			b.Fatalf("%v in the trace of git: %s", err, line)
		}
		if ev.Event == "start" && !strings.Contains(ev.SID, "/") && ev.Time.After(from) && ev.Time.Before(to) {
			n++
		}
	}
	return n
}
