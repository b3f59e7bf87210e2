package tasklist

// This file checks the concurrent use of lists: nothing is lost, ids are never reused, readers wait
// for half-written files, and locks of dead holders are taken over.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/testrepo"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	env := func(config string) func(string) string {
		return func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": config}[name] }
	}
	root := t.TempDir()
	for name, want := range map[string]string{"my-list": "my-list", "a b.c_d-é": "a-b-c_d--", "../../x": "------x",
		`c:\x`: "c--x"} {
		l, err := Open(name, env(root))
		if err != nil || l.Dir != filepath.Join(root, "tasks", want) || l.Name != want {
			t.Errorf("%q: %+v %v", name, l, err)
		}
	}
	home, err := os.UserHomeDir()
	testrepo.Must(t, err)
	if l, err := Open("x", env("")); err != nil || l.Dir != filepath.Join(home, ".claude", "tasks", "x") {
		t.Errorf("%+v %v", l, err)
	}
}

func TestReadSkipsOtherFiles(t *testing.T) {
	t.Parallel()
	l := folder(t, map[string]string{"10.json": pending("10", ""), "9.json": pending("9", ""),
		"R-001.json": pending("R-001", ""), "02.json": pending("02", ""),
		".1.json123": "x", "a b.json": "x", ".json": "x", "notes.md": "x", ".lock": "", ".highwatermark": "12"})
	testrepo.Must(t, os.Mkdir(filepath.Join(l.Dir, "8.json"), 0o755))
	tasks, bad, err := l.Read(t.Context())
	var ids []string
	for _, task := range tasks {
		ids = append(ids, task.ID)
	}
	if err != nil || len(bad) != 0 || !slices.Equal(ids, []string{"02", "9", "10", "R-001"}) {
		t.Errorf("%v %v %v", ids, bad, err)
	}
	root := filepath.Dir(filepath.Dir(l.Dir))
	plans := folder(t, map[string]string{"plan.json": "{}", "1.json": pending("1", "")})
	env := func(string) string { return root }
	if !IsList(l.Dir, os.Getenv) || IsList(filepath.Dir(l.Dir), env) || IsList(filepath.Join(l.Dir, "none"), env) ||
		IsList(plans.Dir, env) {
		t.Error("what is a list, and what is not")
	}
	testrepo.Must(t, os.Remove(filepath.Join(l.Dir, ".lock")))
	testrepo.Must(t, os.Remove(filepath.Join(l.Dir, ".highwatermark")))
	if !IsList(l.Dir, env) {
		t.Error("a list of the user's is one, whatever is in it")
	}
}

func TestNewIDs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"empty":           {nil, "1"},
		"after files":     {map[string]string{"2.json": pending("2", ""), "11.json": "broken"}, "12"},
		"after deletions": {map[string]string{"2.json": pending("2", ""), ".highwatermark": "41\n"}, "42"},
		"a mark of Windows": {map[string]string{"2.json": strings.ReplaceAll(written, "\n", "\r\n"),
			".highwatermark": "41\r\n"}, "42"},
		"a bad mark":       {map[string]string{"03.json": pending("03", ""), ".highwatermark": "zz"}, "4"},
		"a hostile mark":   {map[string]string{".highwatermark": strings.Repeat("9", 400)}, "1"},
		"names and others": {map[string]string{"R-001.json": pending("R-001", ""), "12x.json": "{}"}, "13"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := folder(t, c.files)
			ids, err := l.Add(t.Context(), []*Task{{Subject: "x", Status: Pending}}, nil)
			if err != nil || len(ids) != 1 || ids[0] != c.want {
				t.Errorf("%v %v", ids, err)
			}
			if _, err := parse(c.want, []byte(content(t, l, c.want+".json"))); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAddWritesBothEdges(t *testing.T) {
	t.Parallel()
	l := folder(t, map[string]string{"1.json": pending("1", `,"x":1`)})
	one, two := &Task{Subject: "a", Status: Pending, BlockedBy: []string{"1", "77"}}, &Task{Subject: "b", Status: Pending}
	ids, err := l.Add(t.Context(), []*Task{one, two}, func(ids []string) { two.BlockedBy = []string{"1", ids[0]} })
	if err != nil || !slices.Equal(ids, []string{"2", "3"}) {
		t.Fatal(ids, err)
	}
	tasks := whole(t, l)
	if !slices.Equal(tasks["1"].Blocks, []string{"2", "3"}) || !slices.Equal(tasks["2"].Blocks, []string{"3"}) ||
		!slices.Equal(tasks["3"].BlockedBy, []string{"1", "2"}) {
		t.Errorf("%v %v %v", tasks["1"].Blocks, tasks["2"].Blocks, tasks["3"].BlockedBy)
	}
	if !strings.Contains(content(t, l, "1.json"), `"x": 1`) {
		t.Error("a field was lost")
	}
}

// Many goroutines change and add at the same time, each with a List of its own, as several
// processes would.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	l := folder(t, map[string]string{"1.json": pending("1", "")})
	const workers, each = 6, 8
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			own, err := OpenDir(l.Dir)
			if err != nil {
				t.Error(err)
				return
			}
			for k := range each {
				name := fmt.Sprintf("w%d-%d", w, k)
				if _, err := own.Add(t.Context(), []*Task{{Subject: name, Status: Pending, BlockedBy: []string{"1"}}},
					nil); err != nil {
					t.Error(err)
				}
				err := own.Update(t.Context(), "1", func(task *Task) bool {
					task.Metadata.Set(name, []byte("true"))
					return true
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	tasks := whole(t, l)
	one := tasks["1"]
	if len(tasks) != 1+workers*each || len(one.Blocks) != workers*each || len(one.Metadata) != workers*each {
		t.Errorf("%d tasks, %d edges, %d marks", len(tasks), len(one.Blocks), len(one.Metadata))
	}
	for _, id := range one.Blocks {
		if tasks[id] == nil {
			t.Errorf("1 blocks %s, which is not there", id)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(l.Dir, "*.lock*")); len(left) != 1 || filepath.Base(left[0]) != ".lock" {
		t.Errorf("locks left: %v", left)
	}
}

func TestHalfWrittenFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	l := folder(t, nil)
	synctest.Test(t, func(t *testing.T) {
		text := pending("1", "")
		put(t, l, "1.json", text[:20])
		time.AfterFunc(60*time.Millisecond, func() { put(t, l, "1.json", text) })
		if tasks := whole(t, l); tasks["1"] == nil {
			t.Error("not read")
		}
		// A file that stays half-written is reported and does not delay the rest for long.
		put(t, l, "2.json", text[:20])
		began := time.Now()
		tasks, bad, err := l.Read(t.Context())
		if err != nil || len(tasks) != 1 || len(bad) != 1 || bad[0].ID != "2" || time.Since(began) > time.Second {
			t.Errorf("%v %v %v after %v", tasks, bad, err, time.Since(began))
		}
	})
}

func TestLocks(t *testing.T) {
	t.Parallel()
	l := folder(t, map[string]string{"1.json": pending("1", ""), ".lock": ""})
	file := l.file("1")
	age := func(t *testing.T, d time.Duration) {
		t.Helper()
		at := time.Now().Add(-d)
		testrepo.Must(t, os.Chtimes(file+".lock", at, at))
	}
	nothing := func(*Task) bool { return false }
	t.Run("a dead holder's is taken over", func(t *testing.T) {
		testrepo.Must(t, os.Mkdir(file+".lock", 0o755))
		age(t, staleAfter+time.Second)
		if err := l.Update(t.Context(), "1", nothing); err != nil {
			t.Error(err)
		}
	})
	t.Run("a live holder's is waited for, and then told", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			testrepo.Must(t, os.Mkdir(file+".lock", 0o755))
			age(t, 0)
			began := time.Now()
			keep := time.AfterFunc(refreshInterval, func() {})
			defer keep.Stop()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if err := l.Update(ctx, "1", nothing); !errors.Is(err, context.DeadlineExceeded) ||
				time.Since(began) < 5*time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			time.AfterFunc(time.Second, func() { _ = os.Remove(file + ".lock") })
			if err := l.Update(t.Context(), "1", nothing); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("a holder says that it lives", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			held, err := acquire(t.Context(), file)
			testrepo.Must(t, err)
			age(t, time.Hour)
			time.Sleep(3 * refreshInterval)
			info, err := os.Stat(file + ".lock")
			if err != nil || time.Since(info.ModTime()) > refreshInterval {
				t.Errorf("%v %v", info.ModTime(), err)
			}
			held.unlock()
			synctest.Wait()
			if _, err := os.Stat(file + ".lock"); err == nil {
				t.Error("still there")
			}
		})
	})
	t.Run("what was taken over is the other's", func(t *testing.T) {
		held, err := acquire(t.Context(), file)
		testrepo.Must(t, err)
		testrepo.Must(t, os.Rename(file+".lock", file+".old"))
		testrepo.Must(t, os.Mkdir(file+".lock", 0o755))
		held.unlock()
		if _, err := os.Stat(file + ".lock"); err != nil {
			t.Error("the other's lock was removed")
		}
		for _, name := range []string{".lock", ".old"} {
			if err := os.Remove(file + name); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("never free", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			testrepo.Must(t, os.Mkdir(l.file("1")+".lock", 0o755))
			age(t, -time.Hour) // its holder keeps it fresh
			err := l.Update(t.Context(), "1", nothing)
			if err == nil || !strings.HasPrefix(err.Error(), file+".lock is held by somebody else") {
				t.Error(err)
			}
			if err := os.Remove(file + ".lock"); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestDeletedAndLinked(t *testing.T) {
	t.Parallel()
	l := folder(t, nil)
	if err := l.Update(t.Context(), "1", func(*Task) bool { return true }); !errors.Is(err, ErrDeleted) {
		t.Error(err)
	}
	if err := l.Update(t.Context(), "../1", func(*Task) bool { return true }); err == nil || errors.Is(err, ErrDeleted) {
		t.Error("an id that is a path:", err)
	}
	if runtime.GOOS == "windows" {
		return // links need a privilege there
	}
	other := filepath.Join(t.TempDir(), "other.json")
	testrepo.Must(t, os.WriteFile(other, []byte(pending("1", "")), 0o600))
	testrepo.Must(t, os.Symlink(other, l.file("1")))
	testrepo.Must(t, l.Update(t.Context(), "1", func(task *Task) bool { task.Owner = "w"; return true }))
	b, err := os.ReadFile(other)
	info, err2 := os.Stat(other)
	if err != nil || err2 != nil || !strings.Contains(string(b), `"owner": "w"`) || info.Mode().Perm() != 0o600 {
		t.Errorf("%s %v %v", b, err, err2)
	}
}
