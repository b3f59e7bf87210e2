package temporal_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	poll "wavex/e2e/rig"
	"wavex/internal/testrepo"
)

// This file makes machines: namespaces with an own network, own processes and an own name, in which /root is an own
// directory. They share the files of this machine. Only root can make them.

// machine is one of them. Its processes end with the test.
type machine struct {
	t    testing.TB
	name string
	dir  string // for its files: home is its /root, and bin the first directory of its PATH
	cwd  string // of its commands
	env  []string
	init *exec.Cmd // its first process
	off  func()    // ends all its processes

	started []*exec.Cmd // commands that go on
}

// firstProcess is a shell script for the first process of a machine. It ends with its input.
const firstProcess = `set -e
mount --make-rprivate / 2>/dev/null || ! grep -q shared: /proc/self/mountinfo
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir /run/sshd
mount --bind "$1/home" /root
mount --bind "$1/hosts" /etc/hosts
mount --bind "$1/passwd" /etc/passwd
hostname "$2"
ip link set lo up
echo up
exec cat`

// newMachine returns a machine whose commands begin in its /root. hosts has the lines of its /etc/hosts, and users
// those of its /etc/passwd beyond the ones of this machine.
func newMachine(t testing.TB, name, hosts, users string) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("only root can make machines")
	}
	passwd, err := os.ReadFile("/etc/passwd")
	testrepo.Must(t, err)
	m := &machine{t: t, name: name, dir: t.TempDir(), cwd: "/root"}
	testrepo.Files{"home/.gitconfig": "[user]\nname = Some One\nemail = one@example.com\n[init]\ndefaultBranch = main\n",
		"tmp/.keep": "", "hosts": "127.0.0.1 localhost\n" + hosts, "passwd": string(passwd) + users}.Write(t, m.dir)
	m.env = []string{"PATH=" + m.dir + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
		"TMPDIR=" + m.dir + "/tmp", "LC_ALL=C.UTF-8"}
	m.init = exec.Command("sh", "-c", firstProcess, "sh", m.dir, name)
	m.init.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS}
	said := &strings.Builder{}
	m.init.Stderr = said
	in, err := m.init.StdinPipe()
	testrepo.Must(t, err)
	out, err := m.init.StdoutPipe()
	testrepo.Must(t, err)
	testrepo.Must(t, m.init.Start())
	m.off = func() { _ = in.Close() }
	t.Cleanup(func() {
		m.off()
		for _, c := range m.started {
			_ = c.Wait()
		}
		_ = m.init.Wait()
		if t.Failed() {
			t.Logf("machine %s:\n%s", name, said)
		}
	})
	if n, err := out.Read(make([]byte, 3)); n != 3 {
		t.Fatalf("machine %s does not start: %v", name, err)
	}
	wavex, err := os.Executable() // this program is wavex, too
	testrepo.Must(t, err)
	m.install("wavex", wavex)
	return m
}

// link joins two machines by a cable, with the addresses of their hosts files.
func link(t testing.TB, a *machine, addressA string, b *machine, addressB string) {
	t.Helper()
	pid := func(m *machine) string { return fmt.Sprint(m.init.Process.Pid) }
	out, err := exec.Command("ip", "link", "add", "eth0", "netns", pid(a), "type", "veth", "peer", "name", "eth0", "netns",
		pid(b)).CombinedOutput()
	if err != nil {
		t.Fatalf("ip link: %v\n%s", err, out)
	}
	a.must("ip address add " + addressA + "/24 dev eth0 && ip link set eth0 up")
	b.must("ip address add " + addressB + "/24 dev eth0 && ip link set eth0 up")
}

// install puts a program into the PATH of the machine.
func (m *machine) install(name, program string) {
	m.t.Helper()
	testrepo.Must(m.t, os.MkdirAll(filepath.Join(m.dir, "bin"), 0o755))
	testrepo.Must(m.t, os.Symlink(program, filepath.Join(m.dir, "bin", name)))
}

// command returns a command of the machine: a line for its shell. The end of ctx ends the machine: a command that was
// killed from outside would leave its process behind.
func (m *machine) command(ctx context.Context, line string) *exec.Cmd {
	c := exec.CommandContext(ctx, "nsenter", "--target", fmt.Sprint(m.init.Process.Pid), "--net", "--mount", "--uts",
		"--pid", "sh", "-c", `cd "$1" && eval "$2"`, "sh", m.cwd, line)
	c.Env = m.env
	c.Cancel = func() error { m.off(); return nil }
	return c
}

// run runs a command to its end, and returns its output.
func (m *machine) run(line string) (string, error) {
	ctx, cancel := context.WithTimeout(m.t.Context(), 10*time.Minute)
	defer cancel()
	out, err := m.command(ctx, line).CombinedOutput()
	return string(out), err
}

// must runs a command that must succeed.
func (m *machine) must(line string) string {
	m.t.Helper()
	out, err := m.run(line)
	if err != nil {
		m.t.Fatalf("%s$ %s\n%s%v", m.name, line, out, err)
	}
	return out
}

// start starts a command that goes on until the end of the test, which shows its output after a failure. It returns
// when the command has written a text.
func (m *machine) start(line, ready string) {
	m.t.Helper()
	log, err := os.Create(filepath.Join(m.t.TempDir(), "log"))
	testrepo.Must(m.t, err)
	c := m.command(context.WithoutCancel(m.t.Context()), line)
	c.Stdout, c.Stderr = log, log
	_, err = c.StdinPipe() // it stays open
	testrepo.Must(m.t, err)
	testrepo.Must(m.t, c.Start())
	m.started = append(m.started, c)
	said := func() string {
		text, _ := os.ReadFile(log.Name())
		return string(text)
	}
	m.t.Cleanup(func() {
		if _ = log.Close(); m.t.Failed() {
			m.t.Logf("%s$ %s\n%s", m.name, line, said())
		}
	})
	ctx, cancel := context.WithTimeout(m.t.Context(), 10*time.Minute)
	defer cancel()
	if !poll.Until(ctx, func() bool { return strings.Contains(said(), ready) }) {
		m.t.Fatalf("%s$ %s does not say %q", m.name, line, ready)
	}
}

// listen listens on the loopback of the machine.
func (m *machine) listen() net.Listener {
	m.t.Helper()
	type result struct {
		l   net.Listener
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine, since it stays in the other network
		fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", m.init.Process.Pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			_ = unix.Close(fd)
		}
		if err != nil {
			done <- result{nil, err}
			return
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		done <- result{l, err}
	}()
	r := <-done
	testrepo.Must(m.t, r.err)
	return r.l
}

// serveSSH lets the other machine log in, with the key that both have.
func (m *machine) serveSSH(key string) {
	m.t.Helper()
	testrepo.Files{"sshd_config": "HostKey " + key + "\nStrictModes no\nUsePAM no\nPidFile none\n" +
		"Subsystem sftp internal-sftp\n"}.Write(m.t, m.dir)
	m.start("/usr/sbin/sshd -D -e -f "+m.dir+"/sshd_config", "Server listening on 0.0.0.0 ")
}

// trust makes a home directory one from which, and to which, the key may log in.
func trust(t testing.TB, home, key string) {
	t.Helper()
	secret, err := os.ReadFile(key)
	testrepo.Must(t, err)
	public, err := os.ReadFile(key + ".pub")
	testrepo.Must(t, err)
	testrepo.Files{"config": "Host *\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n",
		"authorized_keys": string(public)}.Write(t, filepath.Join(home, ".ssh"))
	testrepo.Must(t, os.WriteFile(filepath.Join(home, ".ssh", "id_ed25519"), secret, 0o600))
}
