// This file gathers the experts: the embedded ones, and the user's own, which replace or join
// them. It reads files and chooses no experts.

package counsel

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/safefile"
)

//go:embed profiles/*.md
var profiles embed.FS

// Roster holds the experts that may be asked, by name. It is immutable and may be shared.
type Roster struct {
	experts []Expert // sorted by name
}

// Experts returns the experts of the roster, sorted by name. The caller owns the slice.
func (r *Roster) Experts() []Expert {
	return slices.Clone(r.experts)
}

// embeddedExperts returns the embedded experts by name.
func embeddedExperts() map[string]Expert {
	entries, _ := profiles.ReadDir("profiles") // embedded, as are the files, which are valid
	byName := map[string]Expert{}
	for _, entry := range entries {
		name := "profiles/" + entry.Name()
		data, _ := profiles.ReadFile(name)
		e, _ := parseProfile(name, data)
		byName[e.Name] = e
	}
	return byName
}

// LoadRoster gathers the embedded experts and those in dir (each *.md file except README.md and
// names that begin with a dot; usually .loop/experts). An expert in dir replaces an embedded one
// of the same name. dir may be "" or missing. Errors in profiles are *ProfileError, all of them joined.
func LoadRoster(dir string) (*Roster, error) {
	byName := embeddedExperts()
	own := map[string]Expert{}
	files, err := ownProfiles(dir)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, file := range files {
		data, err := safefile.Read(file, maxProfile)
		if err != nil {
			errs = append(errs, fmt.Errorf("reading an expert's profile: %w", err))
			continue
		}
		e, err := parseProfile(file, data)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if first, dup := own[e.Name]; dup {
			errs = append(errs, &ProfileError{file, nameLine(data),
				fmt.Sprintf("%s has the name %q as well; give one of them another", first.Source, e.Name)})
			continue
		}
		own[e.Name], byName[e.Name] = e, e
	}

	r := &Roster{}
	for _, e := range byName {
		r.experts = append(r.experts, e)
	}
	slices.SortFunc(r.experts, func(a, b Expert) int { return strings.Compare(a.Name, b.Name) })
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

// Names returns the names of the experts, sorted.
func (r *Roster) Names() []string {
	names := make([]string, len(r.experts))
	for i, e := range r.experts {
		names[i] = e.Name
	}
	return names
}

// maxProfile bounds an expert's profile, in bytes.
const maxProfile = 1 << 20

// ownProfiles returns the profile files of dir, sorted by name.
func ownProfiles(dir string) ([]string, error) {
	entries, err := safefile.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the experts: %w", err)
	}
	var files []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, ".") || !strings.HasSuffix(name, ".md") ||
			strings.EqualFold(name, "README.md") {
			continue
		}
		files = append(files, filepath.Join(dir, name))
	}
	return files, nil
}

// nameLine returns the line of the name in a valid profile.
func nameLine(data []byte) int {
	for i, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "name") {
			return i + 1
		}
	}
	return 1
}
