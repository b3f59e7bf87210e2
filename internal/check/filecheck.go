package check

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// pieceSize is the number of bytes of a file that are read at once.
const pieceSize = 64 << 10

// checkFile makes a check of a file. It reads in pieces, because a file may be larger than the
// memory. It opens regular files only, because a pipe or device could block.
func checkFile(dir string, c plan.Check, e *Evidence) {
	path := resolvePath(dir, c.File)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Reason = textfmt.OneLine(c.File+" does not exist", maxReason)
		return
	case err != nil: // opening it fails too
	case !info.Mode().IsRegular():
		e.Reason = textfmt.OneLine(c.File+" is not a regular file", maxReason)
		return
	case isPresence(c):
		if e.Passed = info.Size() > 0; !e.Passed {
			e.Reason = textfmt.OneLine(c.File+" is empty", maxReason)
		}
		return
	}
	f, err := os.Open(path)
	if err != nil {
		e.Reason = textfmt.OneLine(err.Error(), maxReason)
		return
	}
	defer f.Close() // read only: no data can be lost
	src := &errReader{r: f}
	if c.Contains != "" {
		e.Passed = contains(src, []byte(c.Contains))
		e.Reason = fmt.Sprintf("%s does not contain %q", c.File, c.Contains)
	} else {
		re, err := regexp.Compile(c.Matches)
		if err != nil { // plans are validated, but other callers may not be
			e.Reason = textfmt.OneLine(err.Error(), maxReason)
			return
		}
		e.Passed = re.MatchReader(bufio.NewReaderSize(src, pieceSize))
		e.Reason = fmt.Sprintf("%s does not match /%s/", c.File, c.Matches)
	}
	if src.err != nil && !e.Passed {
		e.Reason = src.err.Error()
	}
	if e.Passed {
		e.Reason = ""
	}
	e.Reason = textfmt.OneLine(e.Reason, maxReason)
}

// errReader records the read error, because regexp takes every error for the end.
type errReader struct {
	r   io.Reader
	err error
}

func (s *errReader) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// contains reports whether r contains want, also across the borders of pieces.
func contains(r io.Reader, want []byte) bool {
	keep := len(want) - 1
	buf := make([]byte, 0, pieceSize+keep)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if bytes.Contains(buf, want) {
			return true
		}
		if err != nil {
			return false
		}
		if len(buf) > keep {
			buf = buf[:copy(buf, buf[len(buf)-keep:])]
		}
	}
}

// resolvePath returns the path of a check's file on this machine.
func resolvePath(dir, file string) string {
	file = filepath.FromSlash(strings.TrimSpace(file))
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// isPresence reports whether a check only asks for a file.
func isPresence(c plan.Check) bool { return c.Run == "" && c.Contains == "" && c.Matches == "" }
