//go:build unix

package claude

import (
	"testing"

	"wavex/runner"
	"wavex/runner/runnertest"
)

// The Agent, with a stand-in for the CLI, keeps the contract of runner.Agent.
func TestConformance(t *testing.T) {
	t.Parallel()
	const id = "11111111-1111-4111-8111-111111111111"
	line := func(s string, pairs ...string) step {
		return step{Print: with(with(s, pairs...), id, "22222222-2222-4222-8222-222222222222")}
	}
	good := []string{"0.00625,\"usage\"", "0.01,\"usage\""}
	start := []step{{Read: true}, line(initLine), line(textLine)}
	steps := map[runnertest.Scenario][]step{
		runnertest.Works: then(start, step{Write: map[string]string{"made.txt": "made\n"}}, line(resultGood, good...),
			step{EOF: true}),
		runnertest.Idles: then(start, line(resultGood, good...), step{EOF: true}),
		runnertest.Hangs: then(start, step{Await: "interrupt"}, line(aborted, good...), step{EOF: true}, step{Exit: code(1)}),
		runnertest.Denied: then(start, line(resultGood, append(good, `"permission_denials":[]`,
			`"permission_denials":[{"tool_name":"Bash","tool_input":{"command":"make it"}}]`)...), step{EOF: true}),
		runnertest.OverCap: then(start, line(resultBad, "0.13", "0.02"), step{Exit: code(1)}),
		runnertest.Fails:   {{Read: true}, line(initLine), line(retryLine), line(apiError), {Exit: code(1)}},
	}
	runnertest.Conformance(t, func(t *testing.T, s runnertest.Scenario) runner.Agent {
		return setup(t, script{Steps: steps[s]}).agent
	})
}
