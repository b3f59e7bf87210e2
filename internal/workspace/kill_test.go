package workspace

func helper(string, []string) int { return 2 }
