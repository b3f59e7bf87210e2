package runner

import (
	"encoding/json"
	"slices"
	"strings"
)

// claim is what an agent says of its own work, in the status block that ends its
// report (LEDGER S2-34). It can spoil an attempt, never make one good.
type claim struct {
	found  bool
	failed bool
	why    string // one line, when failed
}

// readClaim reads the last status block of a report. A block reports failure when a
// criterion is false in it, or when it holds the exit signal back without
// saying that every criterion is met. What cannot be read claims nothing.
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
