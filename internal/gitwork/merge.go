package gitwork

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"wavex/internal/plan"
)

// This file applies commits on top of each other. It writes objects and no ref. Each commit that it
// makes depends on its arguments alone, so a second run makes the same commit.

// candidate is a task to integrate.
type candidate struct {
	VerifiedTask
	commit string // its work; "": a success without changes
	facts  commitFacts
	diff   []change
}

// commitFacts has the parts of a commit.
type commitFacts struct {
	id, tree  string
	parents   string // separated by spaces
	author    signature
	committer signature
	message   string
}

// signature is a person and a time, in the form of git's environment variables.
type signature struct{ name, email, date string }

// env returns the variables that give a commit this signature; role is AUTHOR or COMMITTER.
func (s signature) env(role string) []string {
	role = "GIT_" + role
	return []string{role + "_NAME=" + s.name, role + "_EMAIL=" + s.email, role + "_DATE=" + s.date}
}

// readCommits returns the commits of refs, by ref. A ref that does not exist, or of another object, has none.
func (g git) readCommits(ctx context.Context, refs []string) (map[string]commitFacts, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	objects, err := g.readObjects(ctx, refs...)
	commits := map[string]commitFacts{}
	for i, o := range objects {
		if o.kind == "commit" {
			commits[refs[i]] = o.commit()
		}
	}
	return commits, err
}

// commit returns the parts of an object that is a commit.
func (o object) commit() commitFacts {
	head, text, _ := strings.Cut(o.content, "\n\n")
	c := commitFacts{id: o.id, message: strings.TrimLeft(text, "\n")}
	var parents []string
	for line := range strings.Lines(head) {
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); name {
		case "tree":
			c.tree = value
		case "parent":
			parents = append(parents, value)
		case "author":
			c.author = parseSignature(value)
		case "committer":
			c.committer = parseSignature(value)
		}
	}
	c.parents = strings.Join(parents, " ")
	return c
}

// parseSignature parses "NAME <EMAIL> SECONDS ZONE".
func parseSignature(text string) signature {
	name, rest, _ := strings.Cut(text, " <")
	email, date, _ := strings.Cut(rest, "> ")
	return signature{name, email, "@" + date}
}

// conflict says why a candidate cannot be put on top of others.
type conflict struct {
	paths    []string
	messages string
}

// applyCandidates applies candidates to a commit, in order, and stops at the first conflict. at is the index
// of that candidate. made has the commits of the tasks that changed something.
func (m *Manager) applyCandidates(ctx context.Context, base string,
	cs []candidate) (top string, made map[string]string, at int, c *conflict, err error) {
	top, made = base, map[string]string{}
	for i, cand := range cs {
		if cand.commit == "" {
			continue
		}
		next, c, err := m.cherryPick(ctx, top, cand)
		if err != nil || c != nil {
			return top, made, i, c, err
		}
		top, made[cand.Task] = next, next
	}
	return top, made, 0, nil, nil
}

// pick is a candidate's commit on top of another commit.
type pick struct{ top, commit string }

// cherryPick applies one candidate to a commit with a three-way merge. An integration needs most picks several times
// and makes each once.
func (m *Manager) cherryPick(ctx context.Context, top string, cand candidate) (string, *conflict, error) {
	p := pick{top, cand.commit}
	if id, ok := m.picks[p]; ok {
		return id, nil, nil
	}
	id, c, err := m.makePick(ctx, top, cand)
	if err == nil && c == nil {
		m.picks[p] = id
	}
	return id, c, err
}

func (m *Manager) makePick(ctx context.Context, top string, cand candidate) (string, *conflict, error) {
	facts, text := cand.facts, cand.facts.message
	if m.opts.Subject == nil && cand.Subject != "" {
		text = commitMessage(cand.Subject, m.opts.Run, cand.Task)
	}
	merged := facts.tree
	if facts.parents != top {
		var c *conflict
		var err error
		if merged, c, err = m.mergeTrees(ctx, top, cand.commit); err != nil || c != nil {
			return "", c, err
		}
	} else if text == facts.message && !m.signing {
		return cand.commit, nil, nil
	}
	g := m.g.withEnv(slices.Concat(facts.author.env("AUTHOR"), facts.committer.env("COMMITTER"))...)
	args := []string{"commit-tree", "-p", top, merged}
	if m.signing {
		g, args = g.withoutPrompts(), append(args, "-S")
	}
	id, err := g.outputOf(ctx, text, args...)
	if err == nil {
		m.treesOf.Store(id, merged)
	}
	return id, nil, err
}

// mergeTrees returns the tree of two merged commits.
func (m *Manager) mergeTrees(ctx context.Context, ours, theirs string) (string, *conflict, error) {
	if m.checkout.version[0] == 2 && m.checkout.version[1] < 38 {
		return m.mergeInWorktree(ctx, ours, theirs)
	}
	out, err := m.g.output(ctx, "merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, theirs)
	if code := exitCode(err); code != 0 && code != 1 {
		return "", nil, err
	}
	parts := strings.Split(out, "\x00")
	if err == nil {
		return parts[0], nil, nil
	}
	c := &conflict{}
	i := 1
	for ; i < len(parts) && parts[i] != ""; i++ {
		c.paths = append(c.paths, parts[i])
	}
	// Each message is: the number of paths, the paths, its kind, its text.
	var said []string
	for i++; i+1 < len(parts); {
		n := 0
		if _, err := fmt.Sscan(parts[i], &n); err != nil || i+n+2 >= len(parts) {
			break
		}
		if text := strings.TrimSpace(parts[i+n+2]); strings.HasPrefix(text, "CONFLICT") {
			said = append(said, text)
		}
		i += n + 3
	}
	c.messages = strings.Join(said, "\n")
	return "", c, nil
}

// mergeInWorktree merges in a worktree that no task uses, for a git whose merge-tree cannot do it.
func (m *Manager) mergeInWorktree(ctx context.Context, ours, theirs string) (string, *conflict, error) {
	t, done, err := m.integrationTree(ctx, ours)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = done() }() // the next save stores it
	g := m.gitIn(t)
	err = g.runWithoutHooks(ctx, "cherry-pick", "--no-commit", theirs)
	if exitCode(err) < 0 {
		return "", nil, err
	}
	said := err
	out, err := g.output(ctx, "diff", "--name-only", "--diff-filter=U", "-z")
	if err != nil {
		return "", nil, err
	}
	switch paths := splitNUL(out); {
	case len(paths) > 0:
		slices.Sort(paths)
		return "", &conflict{paths: slices.Compact(paths), messages: said.Error()}, nil
	case said != nil:
		return "", nil, said
	}
	id, err := g.output(ctx, "write-tree")
	return id, nil, err
}

// undeclaredDeletions returns the paths that a candidate deletes and its files do not declare.
func (m *Manager) undeclaredDeletions(c candidate) []string {
	dir := m.checkout.prefix
	if c.Dir != "" {
		if rel := m.relativePath(m.checkout.top, c.Dir); rel != c.Dir {
			dir = rel
		}
	}
	var out []string
	for _, d := range c.diff {
		if d.status != 'D' {
			continue
		}
		declared := slices.ContainsFunc(c.Files, func(f plan.File) bool {
			p := path.Join(dir, m.relativePath(c.Dir, f.Path))
			return f.Writes() && (p == "." || p == d.path || strings.HasPrefix(d.path, p+"/"))
		})
		if !declared {
			out = append(out, d.path)
		}
	}
	return out
}
