package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"wavex/internal/proc"
)

// maxChanges bounds, in bytes, what is read of each source of a diff; the panel cuts
// it to its own measure.
const maxChanges = 64 << 10

// changes tells what the declared files look like now: against a commit (base "": HEAD)
// where the directory is in a git repository, and in full where git does not know them.
// It is for people and experts to read, not to apply; what cannot be had is left out.
func changes(ctx context.Context, dir, base string, files []string) string {
	if len(files) == 0 {
		return ""
	}
	if base == "" {
		base = "HEAD"
	}
	out := git(ctx, dir, append([]string{"diff", "--no-color", "--no-ext-diff", base, "--"}, files...)...)
	var b strings.Builder
	b.WriteString(out)
	for _, f := range files {
		if strings.Contains(out, "/"+f) || git(ctx, dir, "ls-files", "--", f) != "" {
			continue
		}
		if text := head(filepath.Join(dir, filepath.FromSlash(f))); text != "" {
			fmt.Fprintf(&b, "new file %s\n%s\n", f, text)
		}
	}
	return b.String()
}

func head(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // read only
	text, err := io.ReadAll(io.LimitReader(f, maxChanges))
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return ""
	}
	return string(text)
}

// git gives the output of a read-only git command, or nothing.
func git(ctx context.Context, dir string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out := &bounded{left: maxChanges}
	p, err := proc.Start(proc.Spec{Argv: append([]string{"git", "--no-optional-locks"}, args...), Dir: dir,
		Env: proc.Environ(os.Environ(), nil), Combined: out})
	if err != nil {
		return ""
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Kill()
	}
	if p.Wait().Code != 0 {
		return ""
	}
	return out.b.String()
}

// bounded keeps the first bytes and takes the rest without keeping them.
type bounded struct {
	b    bytes.Buffer
	left int
}

func (w *bounded) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	w.b.Write(p[:n])
	return len(p), nil
}
