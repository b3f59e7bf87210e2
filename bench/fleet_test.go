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
)

// BenchmarkFleet is twelve short tasks of the real CLI against a scripted API that
// answers after 0.2 s: wavex beside xargs on the same prompts.
func BenchmarkFleet(b *testing.B) {
	if given.claude == "" {
		fmt.Println("\nfleet: not measured; name the CLI with -claude or WAVEX_CLAUDE")
		return
	}
	const tasks = 12
	said := fakeapi.Text("It is done.")
	said.Delay = 200 * time.Millisecond
	srv, err := fakeapi.Start(fakeapi.Script{Agents: []*fakeapi.Agent{{Then: &said}}})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	wavex, dir := built(b), b.TempDir()
	var list, prompts []string
	for i := range tasks {
		text := fmt.Sprintf("Say that task %d is done.", i)
		quoted, err := json.Marshal(text)
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, fmt.Sprintf(`{"id":"T-%03d","subject":"Task %d","description":%s}`, i, i, quoted))
		prompts = append(prompts, text)
	}
	plan := file(b, dir, "plan.json", fmt.Sprintf(`{"name":"fleet","tasks":[%s]}`, strings.Join(list, ",")))
	lines := file(b, dir, "prompts", strings.Join(prompts, "\n")+"\n")
	env := []string{"HOME=" + dir, "CLAUDE_CONFIG_DIR=" + dir + "/.claude", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + b.TempDir(),
		"ANTHROPIC_BASE_URL=" + srv.URL(), "ANTHROPIC_API_KEY=anything", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_MAX_RETRIES=1", "WAVEX_CLAUDE=" + given.claude}
	for b.Loop() {
		s := race(b, fmt.Sprintf("%d short tasks of the real CLI at -j4", tasks), []contestant{
			{name: "xargs", env: env, argv: []string{"sh", "-c", "xargs -P4 -d '\\n' -n1 " + given.claude + " -p < " + lines}},
			{name: "wavex", env: env, argv: []string{wavex, "run", plan, "-j4", "--plain", "--review", "off", "--accept-assumptions"}},
			{name: "wavex, nothing waits", env: env, argv: []string{wavex, "run", plan, "-j4", "--plain", "--review", "off", "--accept-assumptions", "--warm", "0"}},
		})
		r := ratio(s["wavex"].wall, s["xargs"].wall)
		verdict(b, "wavex over xargs", r, 0.7)
		b.ReportMetric(r, "x-xargs")
	}
}
