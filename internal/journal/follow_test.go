package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/journal"
)

func follow(t *testing.T, f *journal.Follower) (string, bool) {
	t.Helper()
	records, fresh, err := f.Next()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range records {
		all = append(all, string(r))
	}
	return strings.Join(all, " "), fresh
}

func TestFollow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	f := journal.Follow(path)
	if got, fresh := follow(t, f); got != "" || fresh {
		t.Errorf("before it is there: %q, %v", got, fresh)
	}
	log, _, err := journal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(texts ...string) {
		t.Helper()
		for _, x := range texts {
			if err := log.Append([]byte(x)); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		put   []string
		want  string
		fresh bool
	}{
		{nil, "", true}, {[]string{`{"n":1}`}, `{"n":1}`, false}, {nil, "", false},
		{[]string{`{"n":2}`, `{"n":3}`}, `{"n":2} {"n":3}`, false},
	} {
		put(step.put...)
		if got, fresh := follow(t, f); got != step.want || fresh != step.fresh {
			t.Errorf("after %q: %q, %v", step.put, got, fresh)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	// The journal was moved aside and a new one begun.
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if got, fresh := follow(t, f); got != "" || fresh {
		t.Errorf("while it is gone: %q, %v", got, fresh)
	}
	if log, _, err = journal.Open(path); err != nil {
		t.Fatal(err)
	}
	put(`{"n":9}`, `{"n":10}`, `{"n":11}`, `{"n":12}`) // longer than the old one
	if got, fresh := follow(t, f); got != `{"n":9} {"n":10} {"n":11} {"n":12}` || !fresh {
		t.Errorf("the new one: %q, %v", got, fresh)
	}
	if err := os.Truncate(path, int64(len("{\"journal\":\"wavex\",\"version\":1}\n"))); err != nil {
		t.Fatal(err)
	}
	if got, fresh := follow(t, f); got != "" || !fresh {
		t.Errorf("cut: %q, %v", got, fresh)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// Wherever the written bytes are cut between two calls, each record is returned once.
func TestFollowAnyCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "whole")
	log, _, err := journal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 12 {
		want = append(want, fmt.Sprintf(`{"n":%d}`, i))
		if err := log.Append([]byte(want[i])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(log.Sync(), log.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		part := filepath.Join(dir, fmt.Sprint(n))
		out, err := os.Create(part)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		f := journal.Follow(part)
		var got []string
		for at := 0; at < len(data); {
			end := min(at+rapid.IntRange(1, 120).Draw(t, "piece"), len(data))
			if _, err := out.Write(data[at:end]); err != nil {
				t.Fatal(err)
			}
			at = end
			records, _, err := f.Next()
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				got = append(got, string(r))
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q", got)
		}
	})
}

func TestFollowDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	log, _, err := journal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(log.Append([]byte(`{"n":1}`)), log.Sync(), log.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, "{\"n\":2}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	var bad *journal.CorruptError
	if records, _, err := journal.Follow(path).Next(); !errors.As(err, &bad) || bad.Line != 3 || len(records) != 1 {
		t.Errorf("%q, %v", records, err)
	}
	if err := os.WriteFile(path, []byte("{\"journal\":\"wavex\",\"version\":99}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var version *journal.VersionError
	if _, _, err := journal.Follow(path).Next(); !errors.As(err, &version) {
		t.Errorf("%v", err)
	}
}

// A mark is found in a journal that begins with its records, whatever follows them. A line that is cut off is no
// record.
func TestFindMark(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	log, _, err := journal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(log.Append([]byte(`{"n":1}`)), log.Append([]byte(`{"n":2}`)), log.Sync()); err != nil {
		t.Fatal(err)
	}
	mark := log.Mark()
	if err := log.Close(); err != nil || mark.Records != 2 {
		t.Errorf("%+v, %v", mark, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(text)
	for name, c := range map[string]struct {
		text        string
		found, more bool
	}{
		"the same":       {whole, true, false},
		"a cut line":     {whole + `{"n":`, true, false},
		"a record":       {whole + `{"n":3}` + "\n", true, true},
		"an empty line":  {whole + "\n", true, true},
		"far behind":     {whole + strings.Repeat("x", 200_000) + "\n", true, true},
		"another record": {strings.Replace(whole, "2", "3", 1), false, false},
		"a record less":  {whole[:len(whole)-1], false, false},
		"nothing":        {"", false, false},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if found, more, err := mark.Find(path); found != c.found || more != c.more || err != nil {
			t.Errorf("%s: found %v, more %v, %v", name, found, more, err)
		}
	}
	if found, more, err := (journal.Mark{}).Find(path); found || more || err != nil {
		t.Errorf("no mark: found %v, more %v, %v", found, more, err)
	}
	for place, fails := range map[string]bool{path + "none": false, t.TempDir(): true, "/proc/self/mem": true} {
		if _, err := os.Stat("/proc/self/mem"); err != nil && strings.HasPrefix(place, "/proc") {
			continue // a file that cannot be read, on Linux
		}
		if found, more, err := mark.Find(place); found || more || (err != nil) != fails {
			t.Errorf("%s: found %v, more %v, %v", place, found, more, err)
		}
	}
}

// Select returns the wanted records, of any length, and names the line of one that was changed.
func TestSelect(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	all := func([]byte) bool { return true }
	if got, err := journal.Select(path, all); got != nil || err != nil {
		t.Errorf("without a journal: %q, %v", got, err)
	}
	log, _, err := journal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 600<<10)
	put := []string{`{"n":1}`, `{"n":2,"long":"` + long + `"}`, `{"n":3,"long":"` + long + `y"}`, `{"n":4}`}
	for _, r := range put {
		err = errors.Join(err, log.Append([]byte(r)))
	}
	if err := errors.Join(err, log.Sync(), log.Close()); err != nil {
		t.Fatal(err)
	}
	texts := func(wanted func([]byte) bool) (texts []string) {
		got, err := journal.Select(path, wanted)
		if err != nil {
			t.Error(err)
		}
		for _, r := range got {
			texts = append(texts, string(r))
		}
		return texts
	}
	if got := texts(all); !slices.Equal(got, put) {
		t.Errorf("of %d records %d are read", len(put), len(got))
	}
	odd := func(text []byte) bool {
		return strings.Contains(string(text), `"n":1`) || strings.Contains(string(text), "y")
	}
	if got := texts(odd); !slices.Equal(got, []string{put[0], put[2]}) {
		t.Errorf("%d records are read", len(got))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line, changed := range map[int]string{4: strings.Replace(string(text), `"n":3`, `"n":5`, 1),
		1: strings.Replace(string(text), "\n", " \n", 1)} {
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		var corrupt *journal.CorruptError
		if got, err := journal.Select(path, all); got != nil || err == nil ||
			line > 1 && (!errors.As(err, &corrupt) || corrupt.Line != line) {
			t.Errorf("line %d was changed: %d records, %v", line, len(got), err)
		}
	}
	const unreadable = "/proc/self/mem" // on Linux
	if _, err := os.Stat(unreadable); err == nil {
		if got, err := journal.Select(unreadable, all); got != nil || err == nil {
			t.Errorf("of a file that cannot be read: %q, %v", got, err)
		}
	}
	open, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range open {
		if to, err := os.Readlink(fd); err == nil && to == path {
			t.Errorf("%s is open", to)
		}
	}
}
