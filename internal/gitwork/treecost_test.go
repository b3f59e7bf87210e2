package gitwork

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The checkout of a large repository is measured by a tenth of its files or less, from any of its folders, and leaves
// nothing. Files outside of a sparse checkout do not count. The checkout of a small one is not measured.
func TestMeasureCheckout(t *testing.T) {
	t.Parallel()
	large := files{}
	for i := range measuredFrom {
		large[fmt.Sprintf("sub/%d/odd \"name\" %d", i%7, i)] = strings.Repeat("x", 1+i%100)
	}
	larger := maps.Clone(large)
	for i := range measuredFrom / 5 {
		larger[fmt.Sprintf("other/%d", i)] = "x"
	}
	for name, c := range map[string]struct {
		files  files
		sparse bool
		known  bool
	}{
		"small":  {files{"sub/a": "a\n"}, false, false},
		"large":  {large, false, true},
		"sparse": {larger, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, c.files)
			if c.sparse {
				r.git("sparse-checkout", "set", "sub")
			}
			before := r.userFingerprint()
			starts := r.countGit()
			begin := time.Now()
			var took time.Duration
			starts.atMost(3, "a measurement", func() {
				var err error
				took, err = MeasureCheckout(t.Context(), filepath.Join(r.dir, "sub"), r.env)
				must(t, err)
			})
			if took > 0 != c.known || took > time.Since(begin)*measuredFrom/sampleFiles {
				t.Errorf("a checkout takes %s", took)
			}
			r.untouched(before)
			left, err := filepath.Glob(filepath.Join(r.dir, ".git", "wavex*"))
			must(t, err)
			if len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
	var none *Error
	if _, err := MeasureCheckout(t.Context(), t.TempDir(), os.Environ()); !errors.As(err, &none) {
		t.Errorf("a folder without repository: %v", err)
	}
}

func TestSlowAdvice(t *testing.T) {
	t.Parallel()
	if got := SlowAdvice(slowCheckout - 1); got != "" {
		t.Error(got)
	}
	if got := SlowAdvice(slowCheckout); !strings.Contains(got, "git sparse-checkout") {
		t.Error(got)
	}
}
