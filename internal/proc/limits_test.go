package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

func TestLimitOf(t *testing.T) {
	t.Parallel()
	in := func(op string, code syscall.Errno) error {
		return fmt.Errorf("doing it: %w", &fs.PathError{Op: op, Path: "/none/file", Err: code})
	}
	for name, c := range map[string]struct {
		err  error
		want string // "": none
	}{
		"machine's files":  {in("open", syscall.ENFILE), "raise fs.file-max"},
		"memory":           {in("fork/exec", syscall.ENOMEM), "no memory left; run fewer attempts at once (-j)"},
		"quota":            {in("write", syscall.EDQUOT), "the quota on the disk of /none/file is used up; free some space"},
		"port":             {syscall.EADDRINUSE, "the port is in use"},
		"ports":            {syscall.EADDRNOTAVAIL, "raise net.ipv4.ip_local_port_range"},
		"processes":        {in("fork/exec", syscall.EAGAIN), "processes; raise "},
		"files of a child": {in("fork/exec", syscall.EBADF), "files; raise "},
		"a closed file":    {in("read", syscall.EBADF), ""},
		"no data yet":      {in("read", syscall.EAGAIN), ""},
		"another error":    {in("open", syscall.ENOENT), ""},
		"no errno":         {errors.New("x"), ""},
	} {
		l, limited := LimitOf(c.err)
		if limited != (c.want != "") || !strings.Contains(l.String(), c.want) {
			t.Errorf("%s: %v", name, l)
		}
		text := ErrorText(c.err)
		if !strings.HasPrefix(text, c.err.Error()) || limited != strings.HasSuffix(text, ": "+l.String()) {
			t.Errorf("%s: %s", name, text)
		}
		if again := ErrorText(errors.New(text)); again != text {
			t.Errorf("%s: told twice: %s", name, again)
		}
	}
	text := ErrorText(fmt.Errorf("%w: %s", syscall.EADDRINUSE, ErrorText(syscall.EADDRINUSE)))
	if strings.Count(text, "choose another port") != 1 {
		t.Error("told twice: " + text)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[uint64]string{0: "0 MB", 4 << 10: "4 KB", 1<<20 - 1: "1023 KB", 1 << 20: "1 MB",
		1<<30 - 1: "1023 MB", 1 << 30: "1.0 GB", 3 << 29: "1.5 GB"} {
		if got := FormatSize(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if l := MemoryLimit(); !strings.Contains(l.String(), "for lack of memory; run fewer attempts") {
		t.Error(l)
	}
}
