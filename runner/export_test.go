//go:build unix

package runner

import "testing"

// StandIn returns an Agent whose stand-in plays a scenario of the conformance suite.
func StandIn(t *testing.T, scenario string) *Agent {
	t.Helper()
	const id = "11111111-1111-4111-8111-111111111111"
	line := func(s string, pairs ...string) step {
		return step{Print: with(with(s, pairs...), id, "22222222-2222-4222-8222-222222222222")}
	}
	good := []string{"0.00625,\"usage\"", "0.01,\"usage\""}
	start := []step{{Read: true}, line(initLine), line(textLine)}
	steps := map[string][]step{
		"works": then(start, step{Write: map[string]string{"made.txt": "made\n"}}, line(resultGood, good...),
			step{EOF: true}),
		"idles": then(start, line(resultGood, good...), step{EOF: true}),
		"hangs": then(start, step{Await: "interrupt"}, line(aborted, good...), step{EOF: true}, step{Exit: code(1)}),
		"denied": then(start, line(resultGood, append(good, `"permission_denials":[]`,
			`"permission_denials":[{"tool_name":"Bash","tool_input":{"command":"make it"}}]`)...), step{EOF: true}),
		"over-cap": then(start, line(resultBad, "0.13", "0.02"), step{Exit: code(1)}),
		"fails":    {{Read: true}, line(initLine), line(retryLine), line(apiError), {Exit: code(1)}},
	}[scenario]
	if steps == nil {
		t.Fatalf("no steps for %q", scenario)
	}
	return setup(t, script{Steps: steps}).agent
}
