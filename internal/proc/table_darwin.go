package proc

import (
	"bytes"
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"
)

// snapshot reads the table of processes.
func snapshot() (scanUntilFound, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	out := scanUntilFound{}
	for _, k := range all {
		pid := int(k.Proc.P_pid)
		out[pid] = entry{
			pid: pid, ppid: int(k.Eproc.Ppid), pgrp: int(k.Eproc.Pgid),
			start:  k.Proc.P_starttime.Sec*1e6 + int64(k.Proc.P_starttime.Usec),
			zombie: k.Proc.P_stat == 5, // SZOMB of sys/proc.h
		}
	}
	return out, nil
}

// readMarks reads the marks in the environment of a process of the same user.
func readMarks(pid int) (run, attempt string) {
	return parseMarks(procEnv(pid))
}

// procEnv asks the kernel for KERN_PROCARGS2: the number of arguments, the path, zeros for alignment,
// then the arguments and the environment, each ended by a zero.
func procEnv(pid int) []string {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(b) < 4 {
		return nil
	}
	argc := int(binary.NativeEndian.Uint32(b))
	_, rest, _ := bytes.Cut(b[4:], []byte{0})
	all := strings.Split(string(bytes.TrimLeft(rest, "\x00")), "\x00")
	if argc < 0 || argc > len(all) {
		return nil
	}
	return all[argc:]
}
