package wall

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/proc"
	"wavex/internal/testrepo"
)

// ways are commands that write prot/f or prot/g when nothing closes prot. P is the absolute path of prot.
var ways = []string{
	`echo x > prot/f`,
	`echo x >> prot/f`,
	`: > prot/f`,
	`echo x >| prot/f`,
	`exec 3<> prot/f; echo x >&3`,
	`cd prot && echo x > f`,
	`cd src && echo x > ../prot/f`,
	`sed -i s/old/new/ prot/f`,
	`echo x | tee prot/f`,
	`cp src/a prot/f`,
	`mv src/a prot/f`,
	`install src/a prot/f`,
	`ln -sf ../src/a prot/f`,
	`ln -s "$P" src/l; echo x > src/l/f`,
	`ln prot/f src/h && echo x > src/h`,
	`rm prot/f`,
	`rm -rf prot`,
	`mv prot gone`,
	`truncate -s 0 prot/f`,
	`dd if=src/a of=prot/f 2>&1`,
	`perl -pi -e s/old/new/ prot/f`,
	`perl -e 'open F, ">", "pr"."ot/f"; print F "x"'`,
	`node -e 'require("fs").writeFileSync("pr" + "ot/f", "x")'`,
	`node -e 'require("fs").renameSync("src/a", "prot/f")'`,
	`sh -c 'echo x > prot/f'`,
	`eval 'echo x > prot/f'`,
	`d=pr; echo x > ${d}ot/f`,
	`echo x > "$(echo prot)/f"`,
	`w() { echo x > "$1"; }; w prot/f`,
	`find . -name f -exec sed -i s/old/new/ {} +`,
	`echo 'echo x > prot/f' > src/s.sh; sh src/s.sh`,
	`echo prot/f | xargs sh -c 'echo x > "$0"'`,
	`echo ZWNobyB4ID4gcHJvdC9mCg== | base64 -d | sh`,
	`mkdir -p src/t/prot; echo x > src/t/prot/f; tar -C src/t -c prot | tar -x`,
	`printf 'a:\n\techo x > prot/f\n' | make -f -`,
	`printf '%s\n' '--- a/prot/f' '+++ b/prot/f' '@@ -1 +1 @@' -old +new | git apply`,
	`awk 'BEGIN { print "x" > "prot/f" }'`,
	`{ echo x > prot/f; } & wait`,
	`nohup setsid sh -c 'echo x > prot/f' </dev/null >/dev/null 2>&1 & wait`,
	`chmod 600 prot/f`,
	`echo x > prot/g`,
	`mkdir prot/g`,
	`mkdir o; echo x > o/f; cp -r o/. prot`,
	`echo x > /proc/self/cwd/prot/f`,
	`exec 3< prot/f; echo x > /proc/self/fd/3`,
}

// rights are commands that would need the rights of another user or of the machine.
var rights = []string{
	`umount prot; echo x > prot/f`,
	`mount -o remount,rw,bind prot; echo x > prot/f`,
	`mount --bind src prot; echo x > prot/f; mount --move prot src; echo x > prot/f`,
	`unshare -m sh -c 'umount prot; echo x > prot/f'`,
	`unshare -Urm sh -c 'umount prot; mount -o remount,rw,bind prot; echo x > prot/f'`,
	`nsenter -t $PPID -m sh -c 'echo x > "$P/f"'`,
	`echo x > "/proc/1/root$P/f"`,
	`echo x > "/proc/$PPID/root$P/f"`,
	`for p in /proc/[0-9]*; do echo x > "$p/root$P/f"; done`,
	`for p in /proc/[0-9]*; do echo x > "$p/cwd/prot/f"; done`,
}

// project makes a directory with the file prot/f and returns it, and a function that says what prot holds.
func project(t *testing.T) (dir string, holds func() string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "wall") // a shell cannot use the name of a subtest
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	for name, text := range map[string]string{"prot/f": "old\n", "src/a": "other\n"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir, func() string {
		var b strings.Builder
		_ = filepath.WalkDir(filepath.Join(dir, "prot"), func(path string, d fs.DirEntry, err error) error {
			text, _ := os.ReadFile(path) // nil for a directory
			info, serr := os.Lstat(path)
			if err == nil && serr == nil {
				fmt.Fprintf(&b, "%s %s %q\n", path, info.Mode(), text)
			}
			return nil
		})
		return strings.ReplaceAll(b.String(), dir, "")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	testrepo.Must(t, err)
}

// sh runs a command in dir behind a wrapper and returns its output.
func sh(t *testing.T, wrapper []string, dir, command string) string {
	t.Helper()
	var out strings.Builder
	p, err := proc.Start(proc.Spec{Wrapper: wrapper, Argv: []string{"/bin/sh", "-c", command}, Dir: dir,
		Env: proc.Environ(os.Environ(), map[string]string{"P": dir + "/prot"}), Mark: t.Name(), Combined: &out})
	must(t, err)
	p.Wait()
	return out.String()
}

// None of the ways to write a closed directory works behind the wall, and each of them works without it.
func TestWays(t *testing.T) {
	t.Parallel()
	for _, command := range ways {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			dir, holds := project(t)
			before := holds()
			said := sh(t, wall0.Wrapper([]string{dir + "/prot"}, ""), dir, command)
			if after := holds(); after != before {
				t.Errorf("it came through:\n%s\nwas\n%s\nit said %s", after, before, said)
			}
			dir, holds = project(t)
			before = holds()
			said = sh(t, nil, dir, command)
			if after := holds(); after == before {
				t.Errorf("it writes nothing without a wall either; it said %s", said)
			}
		})
	}
	if len(ways) < 37 {
		t.Errorf("%d ways", len(ways))
	}
}

// A single closed file can be neither written nor replaced, and its directory stays open.
func TestWaysToAFile(t *testing.T) {
	t.Parallel()
	for _, command := range ways {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			dir, _ := project(t)
			said := sh(t, wall0.Wrapper([]string{dir + "/prot/f"}, ""), dir, command+"; echo x > prot/new")
			// Moving or removing the directory above is seen by the diff alone.
			if b, err := os.ReadFile(dir + "/prot/f"); err == nil && string(b) != "old\n" {
				t.Errorf("%s: %q, it said %s", command, b, said)
			}
		})
	}
}

// Rights of the machine do not help: each wall takes them. These tests are not parallel: root could reach a
// path that only this wall closes through a process behind another wall.
func TestRights(t *testing.T) {
	for _, command := range rights {
		t.Run(command, func(t *testing.T) {
			for name, wrapper := range map[string]func([]string, ...string) []string{"auto": wall0.Wrapper,
				"strict": strict.Wrapper, "strict without a network": strict.Offline} {
				dir, holds := project(t)
				before := holds()
				said := sh(t, wrapper([]string{dir + "/prot"}, dir), dir, command)
				if after := holds(); after != before {
					t.Errorf("%s: it came through:\n%s\nwas\n%s\nit said %s", name, after, before, said)
				}
			}
		})
	}
}
