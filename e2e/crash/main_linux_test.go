package crash

// Prepares what all tests share: the wavex binary, built once, and a mount namespace
// of our own, so that a full disk is a small tmpfs that nobody else sees and that is
// gone with the process.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// shared is set by TestMain before any test runs and never written again.
var shared struct {
	wavex  string // the executable
	mounts bool   // we are in a mount namespace of our own
}

// insideMark, in the environment, is the wavex binary; it is set in the namespace.
const insideMark = "WAVEX_CRASH_INSIDE"

func TestMain(m *testing.M) {
	if os.Getenv(bulkVar) != "" {
		os.Exit(bulkAgent(os.Stdin, os.Stdout))
	}
	flag.Parse()
	if flag.Lookup("test.list").Value.String() != "" {
		os.Exit(m.Run())
	}
	code, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		code = 1
	}
	os.Exit(code)
}

func prepare(m *testing.M) (int, error) {
	if wavex := os.Getenv(insideMark); wavex != "" {
		// What is mounted from now on stays in here.
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return 0, fmt.Errorf("making the namespace's mounts private: %w", err)
		}
		shared.mounts = true
		return run(m, wavex), nil
	}
	wavex, clean, err := build()
	if err != nil {
		return 0, err
	}
	defer clean()
	code, err := inNamespace(wavex)
	if err == nil {
		return code, nil
	}
	fmt.Fprintln(os.Stderr, "crash: no mount namespace, running without:", err)
	return run(m, wavex), nil
}

func run(m *testing.M, wavex string) int {
	shared.wavex = wavex
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "8") // most of them wait for processes
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "crash: goroutines left:", err)
			code = 1
		}
	}
	return code
}

// build builds the checkout's wavex. WAVEX_E2E_WAVEX names one to test instead.
func build() (path string, clean func(), err error) {
	if path := os.Getenv("WAVEX_E2E_WAVEX"); path != "" {
		return path, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "wavex-crash-")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	path = filepath.Join(dir, "wavex")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/wavex")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, fmt.Errorf("building wavex: %w\n%s", err, out)
	}
	return path, func() { _ = os.RemoveAll(dir) }, nil
}

// inNamespace runs the tests again in a mount namespace, and gives their exit code.
// Who is not root becomes root of a user namespace.
func inNamespace(wavex string) (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideMark+"="+wavex)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid := os.Geteuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	runtime.LockOSThread() // Pdeathsig is about the thread that started the child
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals: // go test asks for a goroutine dump with SIGQUIT
			_ = cmd.Process.Signal(s)
		case err := <-done:
			var exit *exec.ExitError
			switch {
			case errors.As(err, &exit):
				return max(exit.ExitCode(), 1), nil
			case err != nil:
				return 1, nil
			}
			return 0, nil
		}
	}
}

// waitUntil looks again and again until cond holds, and tells whether it did before
// ctx was over. It is the only clock that tests wait on here.
func waitUntil(ctx context.Context, cond func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if cond() {
			return true
		}
		select {
		case <-ctx.Done():
			return cond()
		case <-tick.C:
		}
	}
}
