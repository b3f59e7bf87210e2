package runner

import (
	"encoding/json"
	"slices"
	"strings"
)

// unfinishedWork returns the agent's own account of the missing work, in one line, from the last status
// block of a report. It returns "" if the block claims success. A block reports failure if one of its
// criteria is false, or if exit_signal is false and it does not report every criterion as met. A
// block that cannot be parsed claims nothing.
func unfinishedWork(report string) string {
	i := strings.LastIndex(report, "---LOOP_STATUS---")
	if i < 0 {
		return ""
	}
	block, _, _ := strings.Cut(report[i:], "---END_STATUS---")
	exit, next, why := "", "", ""
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
		why = "the agent reports unmet: " + strings.Join(unmet, ", ")
	case exit == "false" && len(criteria) == 0:
		why = "the agent reports that it is not finished"
	}
	if why != "" && next != "" && !strings.EqualFold(next, "none") {
		why += "; next: " + next
	}
	return why
}
