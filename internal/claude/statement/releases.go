package statement

// Release is a tested release of the CLI.
type Release struct {
	Version string
	Date    string // of its publication on npm, as YYYY-MM-DD
	// Size is the size in bytes of the program for linux/amd64, as npm has it in
	// @anthropic-ai/claude-code-linux-x64. A file of another size is probed: it is a wrapper, was altered, or is
	// for another platform.
	Size  int64
	Fails []ID // the statements that fail; all others hold
}

// Releases returns the tested releases, from the oldest to the newest: within 90 days, one a month.
func Releases() []Release {
	return []Release{
		{"2.1.258", "2026-09-01", 215473560, []ID{TurnCost}},
		{"2.1.283", "2026-09-25", 241556664, []ID{TurnCost}},
		{"2.1.311", "2026-10-26", 293776752, nil},
		{"2.1.332", "2026-11-24", 402325736, nil},
	}
}

// Oldest returns the oldest tested version. wavex refuses older ones.
func Oldest() string { return Releases()[0].Version }

// Newest returns the newest tested version.
func Newest() string { return Releases()[len(Releases())-1].Version }

// Tested returns the tested release of a version, such as "2.1.332", and false if there is none.
func Tested(version string) (Release, bool) {
	for _, r := range Releases() {
		if r.Version == version {
			return r, true
		}
	}
	return Release{}, false
}

// Support returns the verdicts on the release.
func (r Release) Support() SupportSet {
	out := SupportSet{}
	for _, s := range All() {
		out[s.ID] = Holds
	}
	for _, id := range r.Fails {
		out[id] = Fails
	}
	return out
}
