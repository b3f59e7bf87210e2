package gitwork

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// relay runs a git that reads requests, and counts them as the script of TestKilled counts calls: each name that
// cat-file reads, and each transaction of update-ref.
type relay struct {
	counter string // the path of the script
	wavex   int    // the process that makes the requests
	git     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// relayGit relays the requests on the standard input to a git, and returns its exit code.
func relayGit(counter string, argv []string) int {
	r := &relay{counter: counter, wavex: os.Getppid(), git: exec.Command(argv[0], argv[1:]...)}
	r.git.Stderr = os.Stderr
	in, err := r.git.StdinPipe()
	out, failed := r.git.StdoutPipe()
	if err = errors.Join(err, failed); err == nil {
		err = r.git.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	r.in, r.out = in, bufio.NewReader(out)
	whole := argv[1] != "cat-file" // the input is one transaction, without "start"
	requests := bufio.NewScanner(os.Stdin)
	for requests.Scan() {
		switch line := requests.Text(); {
		case argv[1] == "cat-file", line == "commit":
			r.count(func() { r.ask(line) })
		case line == "start":
			whole = false
			r.ask(line)
		default:
			r.send(line)
		}
	}
	if whole {
		r.count(r.end)
	} else {
		r.end()
	}
	return r.git.ProcessState.ExitCode()
}

// count counts a request that do makes, and kills wavex and git before or after the chosen one.
func (r *relay) count(do func()) {
	n := r.number(".n") + 1
	if err := os.WriteFile(r.counter+".n", []byte(strconv.Itoa(n)+"\n"), 0o600); err != nil {
		panic(err)
	}
	r.strike(n)
	do()
	r.strike(-n)
}

func (r *relay) strike(n int) {
	if n != r.number(".at") {
		return
	}
	wavex, err := os.FindProcess(r.wavex)
	if err == nil {
		err = wavex.Kill()
	}
	if err != nil {
		panic(err)
	}
	_ = r.git.Process.Kill() // it may have ended
	os.Exit(137)
}

// number returns the number in a file beside the script, or 0 if there is none.
func (r *relay) number(ext string) (n int) {
	data, _ := os.ReadFile(r.counter + ext)
	_, _ = fmt.Sscan(string(data), &n)
	return n
}

// send sends a line. A git that has failed does not read it, and its exit code says so.
func (r *relay) send(line string) { _, _ = io.WriteString(r.in, line+"\n") }

// ask sends a line and passes the answer on: a line, and the content of an object.
func (r *relay) ask(line string) {
	r.send(line)
	head, _ := r.out.ReadString('\n')
	_, _ = io.WriteString(os.Stdout, head)
	if facts := strings.Fields(head); len(facts) == 3 && isObjectID(facts[0]) {
		size, _ := strconv.ParseInt(facts[2], 10, 64)
		_, _ = io.CopyN(os.Stdout, r.out, size+1)
	}
}

func (r *relay) end() {
	_ = r.in.Close()
	_, _ = io.Copy(os.Stdout, r.out)
	_ = r.git.Wait() // its exit code is passed on
}
