package checkfiles

import (
	"io/fs"
	"os"
	"strings"

	"wavex/internal/safefile"
)

// State identifies a version of a file: its type, whether it is executable, and its content. "" is a missing file.
type State string

const (
	plainState, execState, linkState = "file ", "exec ", "link "
	directory                        = State("directory")
	unreadable                       = State("unreadable")
	special                          = State("special")
)

// StateOf returns the state of the file at path.
func StateOf(path string) State {
	st, err := os.Lstat(path)
	switch {
	case err != nil && os.IsNotExist(err):
		return ""
	case err != nil:
		return unreadable
	case st.Mode().Type() == fs.ModeSymlink:
		to, err := os.Readlink(path)
		if err != nil {
			return unreadable
		}
		return State(linkState + to)
	case st.IsDir():
		return directory
	case !st.Mode().IsRegular():
		return special
	}
	sum, err := safefile.Digest(safefile.Open(path))
	switch {
	case err != nil:
		return unreadable
	case st.Mode()&0o111 != 0:
		return State(execState + sum)
	}
	return State(plainState + sum)
}

// Digest returns the SHA-256 of the content of a regular file in hex; "" for others.
func (s State) Digest() string {
	if !s.regular() {
		return ""
	}
	return string(s[len(plainState):])
}

// Link returns the target of a symbolic link; "" for others.
func (s State) Link() string {
	to, _ := strings.CutPrefix(string(s), linkState)
	if to == string(s) {
		return ""
	}
	return to
}

// Mode returns the permissions of a regular file.
func (s State) Mode() fs.FileMode {
	if s.executable() {
		return 0o755
	}
	return 0o644
}

// IsDir reports whether it is a directory.
func (s State) IsDir() bool { return s == directory }

func (s State) executable() bool { return strings.HasPrefix(string(s), execState) }

func (s State) regular() bool { return strings.HasPrefix(string(s), plainState) || s.executable() }

func (s State) describe() string {
	if s.Link() != "" {
		return "a symbolic link"
	}
	return "something that is no regular file"
}
