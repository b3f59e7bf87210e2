package counsel

// This file builds the prompt of a reviewer.

// reviewBrief returns the case as a prompt. The diff comes last and has the most room.
func reviewBrief(c ReviewCase, room int) string {
	head := "thorough review of a whole run, before it is called complete.\n"
	if c.Mode == Light {
		head = "review of one wave's changes; the run goes on meanwhile.\n"
	}
	var doubts, files []string
	for _, d := range c.Doubts {
		if d.File == "" {
			doubts = append(doubts, d.Task+": "+d.Why)
			continue
		}
		doubts, files = append(doubts, d.Task+", "+d.File+": "+d.Why), append(files, d.File)
	}
	first, rest := splitDiff(c.Diff, files)
	return head + Fence([]Section{
		{"what was asked for", c.Request, 2000},
		{"tasks", bulletList(c.Tasks), 3000},
		{"criteria and how they are met", bulletList(c.Criteria), 3000},
		{"must not happen", bulletList(c.MustNot), 1500},
		{"blockers that quick reviews claimed, not confirmed", findingLines(c.Candidates), 3000},
		{"open blockers of earlier rounds; others are asked whether they are resolved", findingLines(c.Open), 3000},
		{"tasks that their checks do not show: look at them first, by name",
			bulletList(doubts), 3000},
		{"changes", first + rest, room},
	})
}

func findingLines(fs []Finding) string {
	var lines []string
	for _, f := range fs {
		lines = append(lines, f.Location()+f.Text)
	}
	return bulletList(lines)
}
