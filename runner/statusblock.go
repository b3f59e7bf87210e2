package runner

import (
	"encoding/json"
	"slices"
	"strings"
)

// claim is the agent's own account of its work, from the status block at the end of its report. It
// can make the outcome worse, never better.
type claim struct {
	found  bool
	failed bool
	why    string // one line, when failed
}

// readClaim parses the last status block of a report. A block reports failure if one of its
// criteria is false, or if exit_signal is false and it does not report every criterion as met. A
// block that cannot be parsed claims nothing.
func readClaim(report string) claim {
	i := strings.LastIndex(report, "---LOOP_STATUS---")
	if i < 0 {
		return claim{}
	}
	block, _, _ := strings.Cut(report[i:], "---END_STATUS---")
	c := claim{found: true}
	exit, next := "", ""
	var criteria map[string]json.RawMessage
	for line := range strings.Lines(block) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch strings.ToUpper(strings.TrimSpace(key)) {
		case "EXIT_SIGNAL":
			exit = strings.ToLower(value)
		case "CRITERIA":
			if json.Unmarshal([]byte(value), &criteria) != nil {
				criteria = nil
			}
		case "NEXT":
			next = value
		}
	}
	var unmet []string
	for name, v := range criteria {
		if string(v) == "false" {
			unmet = append(unmet, name)
		}
	}
	slices.Sort(unmet)
	switch {
	case len(unmet) > 0:
		c.failed, c.why = true, "the agent reports unmet: "+strings.Join(unmet, ", ")
	case exit == "false" && len(criteria) == 0:
		c.failed, c.why = true, "the agent reports that it is not finished"
	}
	if c.failed && next != "" && !strings.EqualFold(next, "none") {
		c.why += "; next: " + next
	}
	return c
}
