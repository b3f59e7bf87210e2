package counsel

// This file builds the prompt of a reviewer.

// reviewBrief returns the case as a prompt. The diff comes last and has the most room.
func reviewBrief(c ReviewCase, room int) string {
	head := "thorough review of a whole run, before it is called complete.\n"
	if c.Mode == Light {
		head = "review of one wave's changes; the run goes on meanwhile.\n"
	}
	return head + fence([]section{
		{"what was asked for", c.Request, 2000},
		{"tasks", bulletList(c.Tasks), 3000},
		{"criteria and how they are met", bulletList(c.Criteria), 3000},
		{"must not happen", bulletList(c.MustNot), 1500},
		{"blockers that quick reviews claimed, not confirmed", findingLines(c.Candidates), 3000},
		{"blockers of the round before, which were to be mended: look whether they are", findingLines(c.Remediated), 3000},
		{"changes", c.Diff, room},
	})
}

func findingLines(fs []Finding) string {
	var lines []string
	for _, f := range fs {
		lines = append(lines, f.Location()+f.Text)
	}
	return bulletList(lines)
}
