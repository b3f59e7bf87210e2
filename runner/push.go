package runner

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"wavex/internal/proc"
)

// This file takes pushing from the git of agents. docs/policy.md lists its limits.

// pushAddress begins the addresses to which git pushes instead, a path that cannot exist. Git shows it in its error.
const pushAddress = "/dev/null/wavex: the plan denies git push: "

// withoutPush returns the variables of an agent whose git neither pushes nor gets passwords, beside those of the plan.
// Its tests may push into its own directory for temporary files.
func (t *attempt) withoutPush() map[string]string {
	temp := proc.Getenv(t.env, "TMPDIR")
	if t.Wall.Strict() {
		temp = "/tmp"
	}
	vars := map[string]string{"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": "",
		"SSH_ASKPASS_REQUIRE": "never"}
	n, _ := strconv.Atoi(proc.Getenv(t.env, "GIT_CONFIG_COUNT")) // git refuses another text
	set := func(name, value string) {
		vars[fmt.Sprintf("GIT_CONFIG_KEY_%d", n)], vars[fmt.Sprintf("GIT_CONFIG_VALUE_%d", n)] = name, value
		n++
	}
	set("credential.helper", "") // takes away those before
	set("url."+pushAddress+".pushInsteadOf", "")
	if temp != "" {
		real, _ := filepath.EvalSymlinks(temp)
		for _, dir := range slices.Compact([]string{temp, cmp.Or(real, temp)}) { // the longest prefix counts
			set("url."+dir+"/.pushInsteadOf", dir+"/")
			set("url.file://"+dir+"/.pushInsteadOf", "file://"+dir+"/")
		}
	}
	vars["GIT_CONFIG_COUNT"] = strconv.Itoa(n)
	return vars
}
