package gitwork

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// Changed refs are reported, but not after a transaction that fails. A name that is not a ref has no id.
func TestRefs(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	r.git("tag", "-m", "a tag", "tagged")
	changed := map[string]string{}
	g, ctx, head := newGit(r.dir, r.env), t.Context(), r.git("rev-parse", "HEAD")
	g.changed = func(ref, id string) { changed[ref] = id }
	must(t, g.refTransaction(ctx, "create refs/wavex/a "+head, "update refs/wavex/b "+head))
	must(t, g.updateRefs(ctx, "refs/wavex/b", ""))
	want := map[string]string{"refs/wavex/a": head, "refs/wavex/b": ""}
	equal(t, "changes", changed, want)
	ids, err := g.refIDs(ctx, "refs/wavex/a", "refs/wavex/b", "refs/tags/tagged", "HEAD:a")
	must(t, err)
	equal(t, "names", slices.Sorted(maps.Keys(ids)), []string{"HEAD:a", "refs/tags/tagged", "refs/wavex/a"})
	equal(t, "the commit", ids["refs/wavex/a"], head)
	failed := g.refTransaction(ctx, "delete refs/wavex/a", "verify refs/wavex/c "+strings.Repeat("1", 40))
	if exitCode(failed) <= 0 {
		t.Error("a transaction that fails gives", failed)
	}
	equal(t, "changes after a failure", changed, want)
	equal(t, "the ref after a failure", r.git("rev-parse", "refs/wavex/a"), head)
}
