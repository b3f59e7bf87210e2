package gitwork

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// After every file was touched an index gets the times of those that have its contents, and of no others: git compares
// none of them again, and finds the index whole.
func TestRefreshTouched(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ format, version string }{{"sha1", "2"}, {"sha1", "4"}, {"sha256", "2"}, {"sha256", "4"}} {
		t.Run(c.format+" "+c.version, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, nil)
			must(t, os.RemoveAll(filepath.Join(r.dir, ".git")))
			r.git("init", "-q", "--object-format="+c.format)
			content := files{"changed": "1\n", "longer": "1\n", "gone": "1\n", "sparse": "1\n"}
			for i := range 2 * statSample {
				content[fmt.Sprintf("d%02d/some file %d", i%7, i)] = fmt.Sprintln(i)
			}
			r.write(r.dir, content)
			must(t, os.Symlink("gone", filepath.Join(r.dir, "link")))
			r.git("add", "-A")
			r.git("update-index", "--index-version", c.version)
			r.git("update-index", "--skip-worktree", "sparse")
			staged := r.git("ls-files", "-s", "-v")
			r.write(r.dir, files{"changed": "2\n", "longer": "1\n2\n", "sparse": "2\n"})
			must(t, os.Remove(filepath.Join(r.dir, "gone")))
			old := time.Now().Add(-time.Hour)
			for path := range content {
				if path != "gone" {
					must(t, os.Chtimes(filepath.Join(r.dir, path), old, old))
				}
			}
			index := filepath.Join(r.dir, ".git", "index")
			before, err := os.ReadFile(index)
			must(t, err)
			must(t, refreshTouched(index, r.dir, old))
			now, err := os.ReadFile(index)
			must(t, err)
			if !bytes.Equal(before, now) {
				t.Error("files that may change without a change of their times are taken as settled")
			}
			must(t, refreshTouched(index, r.dir, time.Now().Add(time.Hour)))
			equal(t, "files that differ", r.git("diff-files", "--name-only"), "changed\ngone\nlonger")
			equal(t, "the index", r.git("ls-files", "-s", "-v"), staged)
			r.git("fsck", "--strict")

			// A file that is as new as the index, and changed without a change of its times, differs all the same.
			r.git("add", "-A")
			for path := range content {
				if path != "gone" && path != "changed" {
					must(t, os.Chtimes(filepath.Join(r.dir, path), old, old.Add(time.Second)))
				}
			}
			must(t, os.Chtimes(index, old, old))
			r.write(r.dir, files{"changed": "3\n"})
			must(t, os.Chtimes(filepath.Join(r.dir, "changed"), old, old))
			must(t, refreshTouched(index, r.dir, time.Now().Add(time.Hour)))
			equal(t, "files that differ later", r.git("-c", "core.trustctime=false", "diff-files", "--name-only"), "changed")
		})
	}
}
