//go:build unix

package proc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// helper runs one of the programs that the tests start.
func helper(name string, args []string) int {
	switch name {
	case "environ":
		fmt.Println(strings.Join(os.Environ(), "\n"))
	case "hold":
		// Ignores the signals that can be ignored, prints a line, and stays.
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		fmt.Println(os.Getpid())
		_, _ = io.Copy(io.Discard, os.Stdin)
		<-time.After(time.Hour) // the runtime reports a bare select {} as a deadlock
	case "leave":
		// leave HOW: starts a hold that outlives it, prints its pid, and exits.
		return leave(args[0])
	case "blurt":
		// blurt N [leave]: leaves a hold with its stdout, then writes N bytes and exits.
		n, _ := strconv.Atoi(args[0])
		if len(args) > 1 {
			spawn(&syscall.SysProcAttr{Setsid: true}, os.Environ(), os.Stdout, "hold")
		}
		_, _ = os.Stdout.Write(bytes.Repeat([]byte("x"), n))
	case "stay":
		// stay [HOW]: as leave HOW, but stays. Without HOW it starts a hold in its own session, as claude does with its
		// tools.
		if len(args) > 0 {
			leave(args[0])
		} else {
			fmt.Println(spawn(&syscall.SysProcAttr{Setsid: true}, os.Environ(), os.Stderr, "hold"))
		}
		<-time.After(time.Hour)
	case "sweepstarts":
		return sweepStarts(args[0], args[1])
	case "guard":
		return WatchdogMain(os.Stdin, args[0])
	case "wavex":
		return wavex(args[0])
	case "guarded":
		return guarded(args[0], args[1], args[2:]...)
	case "reach":
		return reachLimit(args[0], args[1])
	default:
		return 98
	}
	return 0
}

// sweepStarts sweeps a run while it starts processes of it, one after the other, and collects garbage all the time.
func sweepStarts(run, lock string) int {
	defer Contain(context.Background(), nil, run, lock, func(error) {})()
	var all sync.WaitGroup
	over := make(chan struct{})
	for _, work := range []func(){runtime.GC, func() { _, _ = Sweep(context.Background(), run) }} {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					work()
				}
			}
		})
	}
	for range 120 {
		p, err := Start(Spec{Argv: []string{"/bin/sleep", "100"}, Dir: "/", Env: testEnv, Mark: run + "/a/1"})
		if err == nil {
			p.Wait()
		}
	}
	close(over)
	all.Wait()
	return 0
}

// cleared is the environment of a process that hides its mark.
var cleared = []string{"GORACE=atexit_sleep_ms=0"}

// leave starts a hold in the named way, waits until it is ready, and exits before it.
func leave(how string) int {
	switch how {
	case "setsid": // its own session, with our output
		fmt.Println(spawn(&syscall.SysProcAttr{Setsid: true}, os.Environ(), os.Stdout, "hold"))
	case "group": // a background job of our group
		fmt.Println(spawn(nil, os.Environ(), nil, "hold"))
	case "blank": // the same, without our limit
		unlimit()
		fallthrough
	case "hidden": // a daemon: its own session, forked twice, no mark, none of our output
		fmt.Println(spawn(&syscall.SysProcAttr{Setsid: true}, cleared, nil, "leave", "detached"))
	case "detached":
		fmt.Println(spawn(&syscall.SysProcAttr{Setsid: true}, cleared, nil, "hold"))
	default:
		return 97
	}
	return 0
}

// spawn starts a helper, and returns the first line that it prints on a pipe. If out is not nil,
// it is the helper's standard error.
func spawn(attr *syscall.SysProcAttr, env []string, out *os.File, args ...string) string {
	exe, _ := os.Executable()
	r, w, _ := os.Pipe()
	c := exec.Command(exe, append([]string{"helper"}, args...)...)
	c.Env, c.Stdout, c.SysProcAttr = env, w, attr
	if out != nil {
		c.Stderr = out
	}
	if err := c.Start(); err != nil {
		return err.Error()
	}
	_ = w.Close()
	var pid string
	_, _ = fmt.Fscanln(r, &pid)
	if args[0] == "leave" {
		_ = c.Wait()
	}
	return pid
}

// guarded is a small wavex with the containment of a run and one marked process, stay with its arguments. It prints the
// pid of the hold and each warning. Without a lock there is no guard.
func guarded(run, lock string, stay ...string) int {
	unlimit() // the test may be a child of a wavex, or forked beside one
	exe, _ := os.Executable()
	guard := []string{exe, "helper", "guard"}
	if lock == "" {
		guard = nil
	}
	defer Contain(context.Background(), guard, run, lock, func(err error) { fmt.Println(err) })()
	argv := append([]string{exe, "helper", "stay"}, stay...)
	p, err := Start(Spec{Argv: argv, Dir: "/", Env: testEnv, Mark: run + "/t/1"})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var pid string
	_, _ = fmt.Fscanln(p.Stdout, &pid)
	fmt.Println(pid)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test kills us, or says that we may go
	_ = p.Kill()
	p.Wait()
	return 0
}

// wavex is a small wavex: a guard, and three attempts that leave holds in their own sessions. All
// processes inherit our standard error, so its reader sees the end of the last one.
func wavex(run string) int {
	if err := Subreaper(); err != nil {
		fmt.Println(err)
		return 1
	}
	exe, _ := os.Executable()
	g, err := StartWatchdog([]string{exe, "helper", "guard", run}, run)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for i := range 3 {
		mark := fmt.Sprintf("%s/t/%d", run, i)
		env := append([]string{RunVar + "=" + run}, testEnv...)
		p, err := Start(Spec{Argv: []string{exe, "helper", "stay"}, Dir: "/", Env: env, Mark: mark, Stderr: os.Stderr})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		var pid string
		_, _ = fmt.Fscanln(p.Stdout, &pid)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test kills us, or says that we may go
	_ = g.Close()
	return 0
}
