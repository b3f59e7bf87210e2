package rehearse

// This file leaves a process behind, as a tool command of the CLI is left behind when the CLI is
// killed: in a session of its own, ignoring polite signals. The process is the agent's own program,
// so that no other program is needed.

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"wavex/internal/proc"
)

// orphanFlag is the hidden argument that makes Main an orphan.
const orphanFlag = "--rehearse-orphan"

// leaveOrphan starts the orphan and does not wait for it. args are those of this process; the words
// before them in os.Args are the agent's program.
func leaveOrphan(dir string, args, env []string, life time.Duration, holdOut bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv := []string{self}
	if n := len(os.Args) - len(args); n > 1 {
		argv = append(argv, os.Args[1:n]...)
	}
	out, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	if holdOut {
		out = os.Stdout
	}
	_, err = proc.Start(proc.Spec{Argv: append(argv, orphanFlag, life.String()), Dir: dir, Env: env,
		Combined: out, Detached: true})
	return err
}

// orphanMain sleeps and ignores every signal that can be ignored.
func orphanMain(args []string) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	life := time.Hour
	if len(args) > 0 {
		if d, err := time.ParseDuration(args[0]); err == nil {
			life = d
		}
	}
	time.Sleep(life)
	return 0
}
