package worker

import "testing"

func TestCheckPrefix(t *testing.T) {
	t.Parallel()
	for prefix, good := range map[string]bool{
		"git@host:team/": true, "git@host:": true, "host:team/x.git": true, "https://host/": true,
		"ssh://git@host/team/": true, "/srv/git/": true, "file:///srv/git/": true,
		"": false, "/": false, "file:///": false, "https://": false, "https:///team/": false, "https://host": false,
		"git@:team/": false, "team/": false, "team": false, "://host/": false, "-o/x": false, "git@host:team/../": false,
		"https://host/%2e%2e/": false,
	} {
		if err := CheckPrefix(prefix); (err == nil) != good {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

// A prefix names whole parts of a remote, and no remote leaves it again.
func TestAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prefix, repo string
		want         bool
	}{
		{"git@host:team/", "git@host:team/a.git", true},
		{"git@host:team", "git@host:team/a.git", true},
		{"git@host:", "git@host:a.git", true},
		{"/srv/a.git", "/srv/a.git", true},
		{"git@host:team", "git@host:teams/a.git", false},
		{"git@host:team/", "git@host:team/../other.git", false},
		{"git@host:team/", "git@other:team/a.git", false},
		{"ssh://git@host/team/", "ssh://git@host/team/%2e%2E/other.git", false},
		{"file:///srv/git/", "file:///srv/git/.%2e%2fother.git", false},
		{"https://host/team/", "https://host/team/a%20b..c.git", true},
		{"/srv/a.git", "/srv/a.git.evil", false},
	} {
		if got := allows(c.prefix, c.repo); got != c.want {
			t.Errorf("%s for %s: %t", c.prefix, c.repo, got)
		}
	}
}
