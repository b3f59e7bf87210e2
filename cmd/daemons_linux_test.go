package cmd_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"wavex/internal/testrepo"
)

// ssh-agent, gpg-agent and docker answer in attempts, and sudo could change the user there as it
// could for wavex itself.
func TestDaemonsInAttempts(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "w") // the path of a socket has 107 bytes at most
	testrepo.Must(t, err)
	t.Cleanup(func() { testrepo.Must(t, os.RemoveAll(dir)) })
	for _, name := range []string{"ssh", "S.gpg-agent", "docker"} {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		testrepo.Must(t, err)
		served := make(chan struct{})
		go func() {
			defer close(served)
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				fmt.Fprintln(c, "here is "+name)
				_ = c.Close()
			}
		}()
		t.Cleanup(func() { testrepo.Must(t, l.Close()); <-served })
	}
	const ask = `{ dial \"$SSH_AUTH_SOCK\" \"$GNUPGHOME/S.gpg-agent\" \"$DOCKER_HOST\"; ` +
		`grep -E '^(NoNewPrivs|CapBnd|Uid)' /proc/self/status; } >%s 2>&1`
	testrepo.Files{"plan.json": fmt.Sprintf(`{"tasks": [
		{"id": "command", "subject": "a", "command": "`+ask+`"},
		{"id": "agent", "subject": "b", "verify": ["`+ask+`"], "rehearse": {"duration": "0s", "runs": ["`+ask+`"]}}]}`,
		"command", "check", "agent")}.Write(t, dir)
	run := exec.CommandContext(t.Context(), "wavex", "run", "plan.json", "--agent", "rehearse", "--yes", "--plain",
		"--counsel", "off", "--review", "off", "--accept-assumptions", "--isolation", "shared")
	run.Dir = dir
	run.Env = append(os.Environ(), "SSH_AUTH_SOCK="+filepath.Join(dir, "ssh"), "GNUPGHOME="+dir,
		"DOCKER_HOST=unix://"+filepath.Join(dir, "docker"), "WAVEX_CLAUDE="+filepath.Join(dir, "none"))
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	status, err := exec.Command("grep", "-E", "^(NoNewPrivs|CapBnd|Uid)", "/proc/self/status").Output()
	testrepo.Must(t, err)
	want := "here is ssh\nhere is S.gpg-agent\nhere is docker\n" + string(status)
	for _, who := range []string{"command", "check", "agent"} {
		if got, err := os.ReadFile(filepath.Join(dir, who)); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", who, err, got, want)
		}
	}
}
