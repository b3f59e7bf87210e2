//go:build unix

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

// BenchmarkParallelAgents compares wavex with xargs on twelve short tasks of the real CLI in a clean git repository, at
// -j4 against a scripted API, which answers after 1 s in one case and at once in the other.
func BenchmarkParallelAgents(b *testing.B) {
	if benchFlags.claude == "" {
		fmt.Println("\nfleet: not measured; name the CLI with -claude or WAVEX_CLAUDE")
		return
	}
	for delay, wall := range map[time.Duration]float64{time.Second: 1.03, 0: 1.1} {
		b.Run(fmt.Sprint("answer-after-", delay), func(b *testing.B) { runParallelAgents(b, delay, wall) })
	}
}

// runParallelAgents has the most that the wall time of wavex may be over that of xargs.
func runParallelAgents(b *testing.B, delay time.Duration, most float64) {
	const tasks = 12
	said := fakeapi.Text("It is done.")
	said.Delay = delay
	srv, err := fakeapi.Start(fakeapi.Script{Agents: []*fakeapi.Agent{{Then: &said}}})
	testrepo.Must(b, err)
	defer srv.Close()
	wavex, dir := wavexBinary(b), b.TempDir()
	var list, prompts []string
	for i := range tasks {
		text := fmt.Sprintf("Say that task %d is done.", i)
		quoted, err := json.Marshal(text)
		testrepo.Must(b, err)
		list = append(list, fmt.Sprintf(`{"id":"T-%03d","subject":"Task %d","description":%s}`, i, i, quoted))
		prompts = append(prompts, text)
	}
	plan := file(b, dir, "plan.json", fmt.Sprintf(`{"name":"fleet","tasks":[%s]}`, strings.Join(list, ",")))
	lines := file(b, dir, "prompts", strings.Join(prompts, "\n")+"\n")
	env := []string{"HOME=" + dir, "CLAUDE_CONFIG_DIR=" + dir + "/.claude", "PATH=" + os.Getenv("PATH"), "TMPDIR=" +
		b.TempDir(),
		"ANTHROPIC_BASE_URL=" + srv.URL(), "ANTHROPIC_API_KEY=anything", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_MAX_RETRIES=1", "WAVEX_CLAUDE=" + benchFlags.claude}
	commit := func(repo string) {
		file(b, repo, ".gitignore", ".loop\n")
		testrepo.Git(b, repo, "init", "-q")
		testrepo.Git(b, repo, "add", ".")
		testrepo.Git(b, repo, "commit", "-q", "-m", "first")
	}
	for b.Loop() {
		s := race(b, fmt.Sprintf("%d short tasks of the real CLI at -j4, the API answers after %s", tasks, delay),
			[]competitor{
				{name: "xargs", env: env, prepare: commit, argv: []string{"sh", "-c", "xargs -P4 -d '\\n' -n1 " +
					benchFlags.claude + " -p < " + lines}},
				{name: "wavex", env: env, prepare: commit, argv: []string{wavex, "run", plan, "--trust", "-j4", "--plain",
					"--review", "off", "--accept-assumptions"}},
			})
		wall, cpu := ratio(s["wavex"].wall, s["xargs"].wall), ratio(s["wavex"].cpu, s["xargs"].cpu)
		checkBound(b, "wall of wavex over xargs", wall, most)
		checkBound(b, "CPU of wavex over xargs", cpu, 1.12)
		b.ReportMetric(wall, "x-xargs")
		b.ReportMetric(cpu, "x-xargs-cpu")
	}
}
