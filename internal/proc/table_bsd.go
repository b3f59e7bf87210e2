//go:build unix && !linux && !darwin

package proc

import (
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// snapshot reads the table of processes from ps, in the columns of POSIX and lstart, which the
// BSDs have.
func snapshot() (scanUntilFound, error) {
	out, err := ps("-ax", "-o", "pid=,ppid=,pgid=,state=,lstart=")
	if err != nil {
		return nil, err
	}
	all := scanUntilFound{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 9 {
			continue
		}
		pid, _ := strconv.Atoi(f[0])
		ppid, _ := strconv.Atoi(f[1])
		pgrp, _ := strconv.Atoi(f[2])
		start, err := time.ParseInLocation("Jan 2 15:04:05 2006", strings.Join(f[5:], " "), time.Local)
		if err != nil || pid == 0 {
			continue
		}
		all[pid] = entry{pid: pid, ppid: ppid, pgrp: pgrp, start: start.UnixMicro(), zombie: f[3][0] == 'Z'}
	}
	return all, nil
}

// readMarks reads the marks from ps's text of a process with its environment. The text does not
// separate arguments from variables: an argument that looks like a mark counts.
func readMarks(pid int) (run, attempt string) {
	out, err := ps("-eww", "-o", "command=", "-p", strconv.Itoa(pid))
	if err != nil {
		return "", ""
	}
	return parseMarks(strings.Fields(out))
}

func ps(args ...string) (string, error) {
	c := exec.Command("/bin/ps", args...)
	c.Env = []string{"LC_ALL=C"}
	out, err := c.Output()
	return string(out), err
}
