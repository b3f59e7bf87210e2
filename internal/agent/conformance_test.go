//go:build unix

package agent

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"wavex/budget"
	"wavex/internal/proc"
	"wavex/internal/rehearse"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/runner/runnertest"
)

// asAgent makes the test binary the rehearsal agent.
const asAgent = "WAVEX_TEST_AS_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		os.Exit(rehearse.Main(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	testrepo.Main(m)
}

// The entry of the rehearsal agent keeps the contract of runner.Agent with the real program.
func TestConformance(t *testing.T) {
	t.Parallel()
	blocks := map[runnertest.Scenario]string{
		runnertest.Works:   `"cost":0.01,"writes":[{"path":"made.txt","content":"made\n"}]`,
		runnertest.Idles:   `"cost":0.01,"structured":"no object"`,
		runnertest.Hangs:   `"cost":0.02,"outcome":"stall"`, // it stalls half-way
		runnertest.Denied:  `"cost":0.01,"outcome":"denial","runs":["make it"]`,
		runnertest.OverCap: `"cost":0.02,"outcome":"over-cap"`,
		runnertest.Fails:   `"cost":0,"outcome":"error-529"`,
	}
	prices, err := budget.LoadPrices(nil)
	testrepo.Must(t, err)
	runnertest.Conformance(t, func(t *testing.T, s runnertest.Scenario) runner.Agent {
		dir := t.TempDir()
		testrepo.Files{"a.json": `{"task":"T-001","attempt":1,"block":{"duration":"10ms",` + blocks[s] + `}}`}.Write(t, dir)
		return Agent{Name: Rehearsal, Argv: []string{os.Args[0]}}.New(Setup{Prices: prices,
			Host: runner.Host{Env: proc.Inherit(os.Environ(), nil), ExtraEnv: map[string]string{asAgent: "1",
				rehearse.FileVar: filepath.Join(dir, "a.json")}}})
	})
}

// A name that no entry has is an error, and no name is that of claude.
func TestLookup(t *testing.T) {
	t.Parallel()
	for _, name := range append(Names(), "") {
		if p, err := Lookup(name); err != nil || p == nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if p, err := Lookup("another"); err == nil || p != nil {
		t.Errorf("%v", p)
	}
}
