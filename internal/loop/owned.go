package loop

import (
	"path/filepath"
	"slices"
	"strings"
)

// This file tells the directories of wavex from those whose contents are the user's.

// Owned splits a path at the last directory in it that is .loop or a backup. names begins with that directory, and is
// empty if there is none. wavex alone makes the first own of names: none of them may be a link. The names behind them
// are the contents of a working tree, or of another copy of the project.
func Owned(path string) (project string, names []string, own int) {
	names = strings.Split(filepath.Clean(path), string(filepath.Separator))
	at := len(names) - 1
	for at >= 0 && names[at] != Name && !strings.HasPrefix(names[at], Name+BackupMark) {
		at--
	}
	if at < 0 {
		return "", nil, 0
	}
	project = strings.Join(names[:at], string(filepath.Separator))
	if at == 1 && project == "" {
		project = string(filepath.Separator)
	}
	names = slices.Clone(names[at:])
	return project, names, ownedNames(names)
}

const (
	BackupMark = ".bak-" // follows Name in the names of backups
	PartMark   = ".part" // follows MadeUp until the copy is complete
)

// ownedNames returns how many of names, of which the first is that of a Dir, are wavex's.
func ownedNames(names []string) int {
	trees, most := filepath.Base(Worktrees), len(names)
	switch {
	case most > 3 && names[1] == trees && !strings.HasSuffix(names[2], ".bundles"):
		return 3 // a working tree, or the trash, which has working trees
	case most > 4 && names[1] == Runs && strings.TrimSuffix(names[3], PartMark) == MadeUp:
		return 4
	}
	return most
}
