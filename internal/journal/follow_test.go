package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/journal"
	"wavex/internal/testrepo"
)

func follow(t *testing.T, f *journal.Follower) (string, bool) {
	t.Helper()
	records, fresh, err := f.Next()
	testrepo.Must(t, err)
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
	testrepo.Must(t, err)
	put := func(texts ...string) {
		t.Helper()
		for _, x := range texts {
			testrepo.Must(t, log.Append([]byte(x)))
		}
		testrepo.Must(t, log.Sync())
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
	testrepo.Must(t, log.Close())
	// The journal was moved aside and a new one begun.
	testrepo.Must(t, os.Rename(path, path+".old"))
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
	testrepo.Must(t, os.Truncate(path, int64(len("{\"journal\":\"wavex\",\"version\":1}\n"))))
	if got, fresh := follow(t, f); got != "" || !fresh {
		t.Errorf("cut: %q, %v", got, fresh)
	}
	testrepo.Must(t, log.Close())
}

// Wherever the written bytes are cut between two calls, each record is returned once.
func TestFollowAnyCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "whole")
	log, _, err := journal.Open(path)
	testrepo.Must(t, err)
	var want []string
	for i := range 12 {
		want = append(want, fmt.Sprintf(`{"n":%d}`, i))
		testrepo.Must(t, log.Append([]byte(want[i])))
	}
	testrepo.Must(t, errors.Join(log.Sync(), log.Close()))
	data, err := os.ReadFile(path)
	testrepo.Must(t, err)
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
	testrepo.Must(t, err)
	testrepo.Must(t, errors.Join(log.Append([]byte(`{"n":1}`)), log.Sync(), log.Close()))
	whole, err := os.ReadFile(path)
	testrepo.Must(t, err)
	testrepo.Must(t, os.WriteFile(path, append(whole, "{\"n\":2}\n"...), 0o600))
	var bad *journal.CorruptError
	if records, _, err := journal.Follow(path).Next(); !errors.As(err, &bad) || bad.Line != 3 || len(records) != 1 {
		t.Errorf("%q, %v", records, err)
	}
	testrepo.Must(t, os.WriteFile(path, []byte("{\"journal\":\"wavex\",\"version\":99}\n"), 0o600))
	var version *journal.VersionError
	if _, _, err := journal.Follow(path).Next(); !errors.As(err, &version) {
		t.Errorf("%v", err)
	}
}
