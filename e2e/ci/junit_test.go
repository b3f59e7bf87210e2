//go:build unix

package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestJUnitSchema holds every JUnit report that the tests know against the schema of the
// systems that read them, and shows that the schema refuses what is none.
func TestJUnitSchema(t *testing.T) {
	t.Parallel()
	lint := xmllint(t)
	reports, err := filepath.Glob("../../internal/report/testdata/*.xml")
	if err != nil || len(reports) < 4 {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	validate := func(path string) ([]byte, error) {
		return exec.CommandContext(t.Context(), lint, "--noout", "--nonet", "--schema", "testdata/junit.xsd", path).CombinedOutput()
	}
	for _, path := range reports {
		if out, err := validate(path); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
	bad := filepath.Join(t.TempDir(), "bad.xml")
	if err := os.WriteFile(bad, []byte(`<testsuites><testsuite name="a" tests="1"><testcase time="1.0"/></testsuite></testsuites>`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := validate(bad); err == nil {
		t.Errorf("a case without a name is valid:\n%s", out)
	}
}

// xmllint finds the validator. In CI, on a Debian that we may change, it is installed.
func xmllint(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("xmllint"); err == nil {
		return path
	}
	if os.Getenv("CI") == "" || os.Geteuid() != 0 {
		t.Fatal("xmllint is not here; Debian's libxml2-utils has it")
	}
	for _, args := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", "libxml2-utils"}} {
		c := exec.CommandContext(t.Context(), "apt-get", args...)
		c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("installing xmllint: apt-get %s: %v\n%s", args[0], err, out)
		}
	}
	path, err := exec.LookPath("xmllint")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
