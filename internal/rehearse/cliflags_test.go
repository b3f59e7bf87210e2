package rehearse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	all := strings.Split(
		"-p|--input-format|stream-json|--output-format|stream-json|--verbose|--session-id|33333333-3333-4333-8333-333333333333|"+
			"--permission-mode|acceptEdits|--allowedTools|Bash(go test:*)|Edit|--disallowedTools|WebFetch|--max-budget-usd|0.5|--max-turns|30|--model|opus|"+
			"--json-schema|{}|--system-prompt|-be brief|--append-system-prompt|x|--tools||--strict-mcp-config|--mcp-config|a.json|"+
			"--setting-sources|user,project|--no-session-persistence|--fallback-model|sonnet,haiku|--agent|reviewer|--settings|{}", "|")
	c, err := parseArgs(all)
	testrepo.Must(t, err)
	want(t, "tools", c.has("--tools") && c.value("--tools") == "", true)
	want(t, "allowed", strings.Join(c.given["--allowedTools"], ","), "Bash(go test:*),Edit")
	want(t, "system", c.value("--system-prompt"), "-be brief")
	want(t, "cap", c.cap, 500_000)
	want(t, "turns", c.turns, 30)
}

// The CLI's refusals: exit 1, the reason on stderr, nothing on stdout.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"-p --nonsense-flag x", "error: unknown option '--nonsense-flag'"},
		{"-p words", "error: unknown option 'words'"},
		{"-p --max-turns", "error: option '--max-turns <value>' argument missing"},
		{"-p --max-budget-usd abc", "error: --max-budget-usd must be a positive number greater than 0"},
		{"-p --max-budget-usd 0", "error: --max-budget-usd must be a positive number greater than 0"},
		{"-p --resume nope", "No conversation found with session ID: nope"},
		{"-p --permission-mode bypassPermissions",
			"--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"},
	} {
		r := newFixture(t, "null")
		r.host.isRoot = true
		e := r.batch("hello", strings.Fields(c.args)...)
		want(t, c.args, e.code, 1)
		want(t, c.args, e.out, "")
		want(t, c.args, strings.TrimSuffix(e.stderr, "\n"), c.says)
	}
	r := newFixture(t, `{"duration":"0s"}`)
	r.host.isRoot = true
	r.env = append(r.env, "IS_SANDBOX=1")
	want(t, "root in a sandbox", r.batch(prompt, "-p", "--permission-mode", "bypassPermissions").code, 0)
	want(t, "an unreadable number of turns is no limit", r.batch(prompt, "-p", "--max-turns", "abc").code, 0)
	want(t, "version", r.batch("", "--version").out, "2.1.258 (wavex rehearsal)\n")
}

// The agent's own refusals contain advice.
func TestBadAssignments(t *testing.T) {
	t.Parallel()
	known := ""
	for _, o := range Outcomes {
		known += ", " + string(o)
	}
	for block, says := range map[string]string{
		`{"durat":"1s"}`: `/durat: unknown key "durat"; known are duration, cost, turns, report, model, writes, deletes, runs, outcome, ` +
			`usage, structured, after, reset_in, linger, attempts`,
		`{"outcome":"stal"}`:           `/outcome: unknown outcome "stal"; known are ` + known[2:],
		`{"writes":[{"path":"../x"}]}`: `/writes/0/path: path "../x" must be relative and stay inside the working directory`,
	} {
		e := newFixture(t, block).batch(prompt, streaming...)
		want(t, "exit", e.code, 1)
		want(t, "stdout", e.out, "")
		want(t, "stderr", e.stderr, "wavex agent: the rehearse block of \"T-001\": "+says+"\n")
	}
	r := newFixture(t, "null")
	r.env = append(r.env, FileVar+"="+t.TempDir()+"/missing")
	if e := r.batch(prompt, streaming...); e.code != 1 ||
		!strings.HasPrefix(e.stderr, "wavex agent: reading the assignment: ") {
		t.Errorf("%+v", e)
	}
	r = newFixture(t, "null")
	for _, bad := range []string{"0", "-1", "fast", "NaN", "Inf"} {
		r.env = append(r.env, SpeedVar+"="+bad)
		want(t, bad, r.batch(prompt, streaming...).stderr, "wavex agent: "+SpeedVar+"=\""+bad+"\" is not a positive number\n")
	}
}

// With a directory for sessions, session ids behave as in the CLI.
func TestSessions(t *testing.T) {
	t.Parallel()
	const id = "44444444-4444-4444-8444-444444444444"
	r := newFixture(t, `{"duration":"0s"}`)
	want(t, "without a store all goes", r.batch(prompt, append([]string{"--resume", id},
		streaming...)...).result(t).Session, id)
	r.env = append(r.env, SessionsVar+"="+filepath.Join(t.TempDir(), "not-yet-there"))
	resume, fresh := append([]string{"--resume", id}, streaming...), append([]string{"--session-id", id}, streaming...)
	want(t, "unknown", r.batch(prompt, resume...).stderr, "No conversation found with session ID: "+id+"\n")
	want(t, "first", r.batch(prompt, fresh...).result(t).Session, id)
	want(t, "twice", r.batch(prompt, fresh...).stderr, "Error: Session ID "+id+" is already in use.\n")
	want(t, "resumed", r.batch(prompt, resume...).result(t).Session, id)
	r.host.dir = t.TempDir()
	want(t, "elsewhere", r.batch(prompt, resume...).code, 1)
	if _, err := os.Stat(r.host.dir); err != nil {
		t.Fatal(err)
	}
}

func FuzzFlags(f *testing.F) {
	f.Add("-p --tools a b --verbose -- x")
	f.Add("--resume --max-budget-usd 1")
	f.Fuzz(func(t *testing.T, args string) {
		c, err := parseArgs(strings.Split(args, " "))
		if err == nil && c == nil || err != nil && err.Error() == "" {
			t.Fatalf("%q: %v, %v", args, c, err)
		}
	})
}
