package gitwork

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// This file reads objects and refs, and changes refs.

// object is an object of the repository. content is empty for blobs.
type object struct{ id, kind, content string }

// readObjects returns the objects with these names, which are full names of refs or ids. One that does not exist is
// the zero object.
func (g git) readObjects(ctx context.Context, names ...string) ([]object, error) {
	all := make([]object, len(names))
	out, err := g.outputOf(ctx, strings.Join(names, "\n")+"\n", "cat-file", "--batch")
	r := bufio.NewReader(strings.NewReader(out + "\n"))
	for i := 0; i < len(all) && err == nil; i++ {
		all[i], err = readObject(r)
	}
	return all, err
}

// readObject reads an answer of git cat-file --batch: "ID KIND SIZE", and the content, or "NAME missing".
func readObject(r *bufio.Reader) (object, error) {
	head, err := r.ReadString('\n')
	facts := strings.Fields(head)
	if err != nil || len(facts) != 3 || !isObjectID(facts[0]) {
		return object{}, err
	}
	o := object{id: facts[0], kind: facts[1]}
	size, err := strconv.ParseInt(facts[2], 10, 64)
	if err != nil {
		return object{}, err
	}
	var content strings.Builder
	if o.kind == "blob" {
		_, err = io.CopyN(io.Discard, r, size)
	} else {
		_, err = io.CopyN(&content, r, size)
	}
	if err == nil {
		_, err = r.Discard(1) // a line break
	}
	o.content = content.String()
	return o, err
}

// refIDs returns the ids of those of the refs that exist, by their full names.
func (g git) refIDs(ctx context.Context, names ...string) (map[string]string, error) {
	all, err := g.readObjects(ctx, names...)
	ids := map[string]string{}
	for i, o := range all {
		if o.id != "" {
			ids[names[i]] = o.id
		}
	}
	return ids, err
}

// refTransaction executes commands of git update-ref --stdin, all or none. Without commands it does nothing.
func (g git) refTransaction(ctx context.Context, commands ...string) error {
	if len(commands) == 0 {
		return nil
	}
	_, err := g.outputOf(ctx, strings.Join(commands, "\n")+"\n", "update-ref", "--no-deref", "--stdin")
	for _, command := range commands {
		f := strings.Fields(command)
		switch {
		case err != nil || g.changed == nil:
		case f[0] == "create" || f[0] == "update":
			g.changed(f[1], f[2])
		case f[0] == "delete":
			g.changed(f[1], "")
		}
	}
	return err
}

// changesOf returns the changes that a commit makes to its first parent, by path.
func (g git) changesOf(ctx context.Context, c commitFacts) ([]change, error) {
	parent, _, _ := strings.Cut(c.parents, " ")
	if parent == "" {
		return g.rawDiff(ctx, "diff-tree", "-r", "--root", "--no-commit-id", c.id)
	}
	return g.rawDiff(ctx, "diff-tree", "-r", parent, c.tree)
}

// rawDiff runs a command of git that compares trees or the index, without renames.
func (g git) rawDiff(ctx context.Context, command string, args ...string) ([]change, error) {
	out, err := g.output(ctx, append([]string{command, "--raw", "-z", "--no-renames"}, args...)...)
	if err != nil {
		return nil, err
	}
	var all []change
	f := splitNUL(out)
	for i := 0; i+1 < len(f); i += 2 {
		facts := strings.Fields(f[i])
		if len(facts) != 5 {
			return nil, fmt.Errorf("git %s printed %q", command, f[i])
		}
		all = append(all, change{f[i+1], facts[4][0], strings.TrimPrefix(facts[0], ":"), facts[1], facts[2], facts[3]})
	}
	return all, nil
}

// diff returns the changes from one commit to another, by path.
func (g git) diff(ctx context.Context, from, to string) (map[string]change, error) {
	all, err := g.rawDiff(ctx, "diff-tree", "-r", from, to)
	paths := map[string]change{}
	for _, c := range all {
		paths[c.path] = c
	}
	return paths, err
}
