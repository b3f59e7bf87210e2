package gitwork

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The expectations are those of users of git: what git does in the checkout, a run does in worktrees, or it says
// before the first attempt that it cannot.
var kindSections = []struct {
	title string
	kinds []kind
}{
	{"Hooks", hookKinds}, {"Signatures", signatureKinds}, {"Contents", contentKinds},
	{"Clones and checkouts", checkoutKinds}, {"Configuration", configKinds},
}

const husky = `. "$(dirname "$0")/h"`

var hookKinds = []kind{
	{name: "hooks in `.git/hooks`", note: "they run for the commit of each task", check: hookRan,
		make: func(r *repo) { r.script(".git/hooks/pre-commit", r.logStaged()) }},
	{name: "`core.hooksPath`, relative and tracked",
		note:  "the hooks of the worktree run, as they were when the run began",
		check: hookRan, make: func(r *repo) {
			r.script(".githooks/pre-commit", r.logStaged())
			r.commit(nil)
			r.config("core.hooksPath .githooks")
		}},
	{name: "`core.hooksPath`, generated and ignored (husky 9)", note: "the hooks of the checkout run, in the worktree",
		check: hookRan, make: func(r *repo) {
			r.script(".husky/pre-commit", r.logStaged())
			r.script(".husky/_/pre-commit", husky)
			r.script(".husky/_/h", `sh -e "$(dirname "$(dirname "$0")")/$(basename "$0")" "$@"`)
			r.commit(files{".husky/_/.gitignore": "*\n"})
			r.config("core.hooksPath .husky/_")
		}},
	{name: "`core.hooksPath`, tracked, with ignored parts (husky 8)",
		note:  "the hooks of the checkout run, in the worktree",
		check: hookRan, make: func(r *repo) {
			r.script(".husky/pre-commit", `. "$(dirname "$0")/_/husky.sh"`+"\n"+r.logStaged())
			r.script(".husky/_/husky.sh", "true")
			r.commit(files{".husky/_/.gitignore": "*\n"})
			r.config("core.hooksPath .husky")
		}},
	{name: "`core.hooksPath`, relative, outside of the repository", note: "the hooks of the checkout run, in the worktree",
		check: hookRan, make: func(r *repo) {
			r.script("../hooks/pre-commit", r.logStaged())
			r.config("core.hooksPath ../hooks")
		}},
	{name: "`core.hooksPath`, made by `setup`", note: "the hooks that setup made in the worktree run", check: hookRan,
		make: func(r *repo) {
			r.commit(files{"hook": "#!/bin/sh\n" + r.logStaged() + "\n", ".gitignore": "/.loop/\n/.hooks/\n"})
			r.config("core.hooksPath .hooks")
		},
		open: func(_ *repo, o *Options) {
			o.Setup.Run = "mkdir -p .hooks; cp hook .hooks/pre-commit; chmod +x .hooks/pre-commit"
		}},
	{name: "`core.hooksPath` that does not exist",
		note: "no hook runs, as in the checkout, and the run says so; nor one that is made later, until you accept it",
		says: "core.hooksPath is .husky/_, which does not exist: no hooks run",
		make: func(r *repo) { r.config("core.hooksPath .husky/_") }},
	{name: "`core.hooksPath` .git/hooks", note: "the hooks of the checkout run, in the worktree", check: hookRan,
		make: func(r *repo) {
			r.script(".git/hooks/pre-commit", r.logStaged())
			r.config("core.hooksPath .git/hooks")
		}},
	{name: "`core.hooksPath`, absolute", check: hookRan, make: func(r *repo) {
		r.script(r.home()+"/hooks/pre-commit", r.logStaged())
		r.config("core.hooksPath " + r.home() + "/hooks")
	}},
	{name: "`core.hooksPath` with `~`", check: hookRan, make: func(r *repo) {
		r.script(r.home()+"/hooks/pre-commit", r.logStaged())
		r.config("core.hooksPath ~/hooks")
	}},
	{name: "`core.hooksPath` in the global configuration", check: hookRan, make: func(r *repo) {
		r.script(r.home()+"/hooks/pre-commit", r.logStaged())
		r.git("config", "--global", "core.hooksPath", r.home()+"/hooks")
	}},
	{name: "lefthook", check: hookRan, make: func(r *repo) {
		r.tool("lefthook", r.logStaged())
		r.script(".git/hooks/pre-commit", lefthook)
	}},
	{name: "lefthook, not installed", note: "its hook passes without checks; the run says what the hook said",
		says: "Can't find lefthook in PATH", make: func(r *repo) { r.script(".git/hooks/pre-commit", lefthook) }},
	{name: "pre-commit, not installed", note: "the hook refuses every commit", shared: true, refuse: HookRefuses,
		says: "`pre-commit` not found", make: func(r *repo) {
			r.script(".git/hooks/pre-commit", "echo '`pre-commit` not found. Is your virtualenv active?' >&2\nexit 1")
		}},
	{name: "a hook that needs ignored files", note: "the run names `share`", shared: true, refuse: HookRefuses,
		says: "see share and setup in the plan for what it lacks)", make: lintHook},
	{name: "a hook that needs ignored files, which are in `share`", check: hookRan, make: lintHook,
		open: func(_ *repo, o *Options) { o.Share = []string{"tools"} }},
	{name: "a hook that refuses the work", note: "the attempt is wrong; the next one gets the output", check: refused,
		make: func(r *repo) {
			r.script(".git/hooks/pre-commit", "if git diff --cached --name-only | grep SECRET; then echo no secrets; exit 1; fi")
		}},
	{name: "a hook that is red before the work, or without changes", note: "the run says so; the hook judges each commit",
		check: refused, says: "the hook pre-commit fails without changes in a worktree: exit code 3",
		make: func(r *repo) {
			r.script(".git/hooks/pre-commit", `git diff --cached --quiet && exit 3
test ! -e SECRET || { echo no secrets; exit 1; }`)
		}},
	{name: "a hook that reads the author or the index from its environment", note: "it gets what `git commit` gives it",
		make: func(r *repo) {
			r.script(".git/hooks/pre-commit", `test -f "$GIT_INDEX_FILE"
echo "$GIT_AUTHOR_NAME $GIT_AUTHOR_EMAIL ${GIT_AUTHOR_DATE%[0-9]* *} $?" >>'`+r.log()+"'")
		}, check: func(r *repo, _ *Manager) {
			for line := range strings.Lines(r.logged()) {
				if !strings.HasPrefix(line, "Some One one@example.com @") || !strings.HasSuffix(line, " 0\n") {
					r.t.Errorf("a hook got %q", line)
				}
			}
			equal(r.t, "hooks", strings.Count(r.logged(), "\n"), 3) // the trial and two commits
		}},
	{name: "a hook that uses `git stash`, and there is a stash",
		note: "the stash stays; the run says that it tried no hook",
		says: "the hooks were not tried, since there is a stash", make: func(r *repo) {
			r.write(r.dir, files{"a": "stashed\n"})
			r.git("stash", "-q")
			r.script(".git/hooks/pre-commit", "git diff --cached --quiet && git stash pop -q\ntrue")
		}, check: func(r *repo, _ *Manager) { equal(r.t, "stashed", r.git("show", "stash@{0}:a"), "stashed") }},
	{name: "a hook that edits and stages files", note: "the commit has its edits", check: exact(files{"b": "MORE\n"}),
		make: func(r *repo) { r.script(".git/hooks/pre-commit", "if [ -f b ]; then echo MORE >b; git add b; fi") },
		edit: onlyX(files{"b": "more\n"})},
	{name: "a commit-msg hook that refuses subjects",
		note: "no attempt could change the subject of its task", shared: true,
		refuse: HookRefuses, says: "subjects begin with feat:", make: func(r *repo) {
			r.script(".git/hooks/commit-msg", `grep -q ^feat: "$1" || { echo "subjects begin with feat:"; exit 1; }`)
		}},
	{name: "hooks that write the message (ticket, Change-Id)", note: "the delivered commit has it",
		make: func(r *repo) {
			r.script(".git/hooks/prepare-commit-msg", `echo "Ticket: 7" >>"$1"`)
			r.script(".git/hooks/commit-msg", `grep -q "^Ticket: 7" "$1" && echo "Change-Id: I$$" >>"$1"`)
		},
		check: func(r *repo, _ *Manager) {
			if body := r.git("log", "-1", "--format=%B"); !strings.Contains(body, "Ticket: 7\nChange-Id: I") {
				r.t.Errorf("the message is %q", body)
			}
		}},
	{name: "post-checkout", note: "not run in worktrees, which the run says; `setup` is for that", says: "post-checkout",
		make: func(r *repo) { r.script(".git/hooks/post-checkout", "echo ran >>"+r.log()) },
		check: func(r *repo, _ *Manager) {
			if r.logged() != "" {
				r.t.Error("post-checkout ran")
			}
		}},
	{name: "a hook that is not executable", note: "git ignores it; the run says so",
		says: "git ignores the hook pre-commit, which is not executable", make: func(r *repo) {
			r.script(".git/hooks/pre-commit", "exit 1")
			must(r.t, os.Chmod(filepath.Join(r.dir, ".git/hooks/pre-commit"), 0o644))
		}},
}

// lintHook makes a hook that runs a program which git ignores.
func lintHook(r *repo) {
	r.commit(files{".gitignore": "/.loop/\n/tools\n"})
	r.script("tools/lint", r.logStaged())
	r.script(".git/hooks/pre-commit", "tools/lint")
}

const lefthook = `if command -v lefthook >/dev/null; then lefthook run pre-commit
else echo "Can't find lefthook in PATH"
fi`

// filter is a filter that keeps contents in capitals in the checkout.
func (r *repo) filter(required string) {
	r.tool("big", `if [ "$1" = clean ]; then tr A-Z a-z; else tr a-z A-Z; fi`)
	r.config("filter.big.clean big clean", "filter.big.smudge big smudge", "filter.big.required "+required)
	r.commitWith(files{".gitattributes": "*.bin filter=big\n", "one.bin": "ONE\n"})
}

// commitWith commits files that are older than the index, which git then does not read again.
func (r *repo) commitWith(content files) {
	r.write(r.dir, content)
	for name := range content {
		must(r.t, os.Chtimes(filepath.Join(r.dir, name), time.Unix(1e9, 0), time.Unix(1e9, 0)))
	}
	r.commit(nil)
}

var contentKinds = []kind{
	{name: "git-lfs and other filters", note: "files in worktrees, pointers in commits",
		make: func(r *repo) { r.filter("true") }, edit: onlyX(files{"two.bin": "TWO\n"}),
		check: func(r *repo, m *Manager) {
			equal(r.t, "in git", r.git("show", "HEAD:two.bin"), "two")
			exact(files{"one.bin": "ONE\n", "two.bin": "TWO\n"})(r, m)
		}},
	{name: "a required filter whose program is missing",
		note: "no worktree could be made", shared: true, refuse: BadFilter,
		says: "the filter big of one.bin fails", make: func(r *repo) {
			r.filter("true")
			must(r.t, os.Remove(filepath.Join(filepath.Dir(r.dir), "bin", "big")))
		}},
	{name: "a required filter of a new file that is staged", note: "there are uncommitted changes; worktrees work, too",
		shared: true, says: "there are uncommitted changes", make: func(r *repo) {
			r.filter("true")
			r.write(r.dir, files{"new.bin": "NEW\n"})
			r.git("rm", "-q", "one.bin")
			r.git("add", "new.bin")
		}},
	{name: "`filter=lfs` without git-lfs", note: "pointers in worktrees, whole files in commits, as in the checkout; said",
		says: "git does not know the filter lfs of one.bin", make: func(r *repo) {
			r.commit(files{".gitattributes": "*.bin filter=lfs\n", "one.bin": "pointer\n"})
		}},
	{name: "`merge=union`", note: "tasks of a wave may append to one file", make: func(r *repo) {
		r.commit(files{".gitattributes": "NEWS merge=union\n", "NEWS": "old\n"})
	}, edit: func(r *repo, dir, task string) { r.write(dir, files{"NEWS": "old\n" + task + "\n"}) },
		check: exact(files{"NEWS": "old\nx\ny\n"})},
	{name: "submodules, checked out", note: "worktrees would not have them",
		shared: true, refuse: Submodules, says: "submodules are checked out", make: func(r *repo) {
			lib := newRepo(r.t, files{"l": "1\n"})
			r.git("submodule", "add", "-q", lib.dir, "lib")
			r.commit(nil)
		}},
	{name: "submodules, not checked out", make: func(r *repo) {
		lib := newRepo(r.t, files{"l": "1\n"})
		r.git("submodule", "add", "-q", lib.dir, "lib")
		r.commit(nil)
		r.clone()
	}},
	{name: "`core.autocrlf` true, also with `core.safecrlf`", note: "CRLF in worktrees, LF in commits",
		make: func(r *repo) {
			r.config("core.autocrlf true")
			r.commit(files{"a": "1\r\n", "crlf": "1\r\n"})
			r.config("core.safecrlf true")
		},
		edit: onlyX(files{"crlf": "2\n", "mixed": "1\r\n2\n"}),
		check: func(r *repo, m *Manager) {
			equal(r.t, "in git", r.git("show", "HEAD:crlf"), "2")
			exact(files{"crlf": "2\r\n", "mixed": "1\r\n2\r\n"})(r, m)
		}},
	{name: "`core.autocrlf` input",
		note: "LF in commits", make: func(r *repo) { r.config("core.autocrlf input", "core.safecrlf true") },
		edit: onlyX(files{"b": "1\r\n"}), check: exact(files{"b": "1\n"})},
	{name: "`.gitattributes` with `eol`",
		make: func(r *repo) { r.commit(files{".gitattributes": "*.bat text eol=crlf\n"}) },
		edit: onlyX(files{"b.bat": "1\n"}), check: exact(files{"b.bat": "1\r\n"})},
	{name: "names that differ by case only, with `core.ignoreCase`", note: "a checkout can have only one of the files",
		shared: true, refuse: BadNames, says: "README and Readme differ by case only", make: func(r *repo) {
			r.commit(files{"README": "1\n", "Readme": "2\n"})
			r.config("core.ignoreCase true")
		}},
	{name: "odd names", make: func(r *repo) { r.commit(files{"ü\"q\t": "1\n", "-dash": "1\n"}) },
		edit:  onlyX(files{"ü\"q\t": "2\n", "-dash": "2\n", " lead": "1\n", ":(top)": "1\n", "*": "1\n", "a\nb": "1\n"}),
		check: exact(files{"ü\"q\t": "2\n", "-dash": "2\n", " lead": "1\n", ":(top)": "1\n", "*": "1\n", "a\nb": "1\n"})},
	{name: "links and executable files", make: func(r *repo) { r.script("run", "true"); r.commit(nil) },
		edit: func(r *repo, dir, task string) {
			if task == "x" {
				must(r.t, os.Symlink("a", filepath.Join(dir, "link")))
				must(r.t, os.Chmod(filepath.Join(dir, "a"), 0o755))
			}
		},
		check: func(r *repo, _ *Manager) {
			out := r.git("ls-tree", "--format=%(objectmode) %(path)", "HEAD", "a", "link", "run")
			equal(r.t, "modes", out, "100755 a\n120000 link\n100755 run")
		}},
	{name: "a nested repository that is no submodule", note: "as for any file that is not committed", shared: true,
		says: "nested", make: func(r *repo) {
			r.git("init", "-q", "nested")
			r.gitIn(r.dir+"/nested", "commit", "-q", "--allow-empty", "-m", "inner")
		}},
}

var checkoutKinds = []kind{
	{name: "sparse checkout, cones", note: "worktrees are sparse, too", make: func(r *repo) {
		r.commit(files{"in/a": "1\n", "out/b": "1\n"})
		r.git("sparse-checkout", "set", "in")
	}, edit: onlyX(files{"in/a": "2\n", "out/new": "1\n"}), check: wasSparse},
	{name: "sparse checkout, patterns", make: func(r *repo) {
		r.commit(files{"in/a": "1\n", "out/b": "1\n"})
		r.git("sparse-checkout", "set", "--no-cone", "/*", "!/out/")
	}, edit: onlyX(files{"in/a": "2\n", "out/new": "1\n"}), check: wasSparse},
	{name: "sparse checkout without the files of a filter whose program is missing", note: "no worktree needs it",
		make: func(r *repo) {
			r.filter("true")
			r.commit(files{"in/a": "1\n"})
			r.git("sparse-checkout", "set", "--no-cone", "/*", "!/one.bin")
			must(r.t, os.Remove(filepath.Join(filepath.Dir(r.dir), "bin", "big")))
		}},
	{name: "shallow clone", make: func(r *repo) { r.commit(files{"b": "1\n"}); r.clone("--depth", "1") }},
	{name: "alternates (`--reference`, `--shared`)", make: func(r *repo) { r.clone("--reference", r.dir) }},
	{name: "partial clone, the remote gone", note: "the contents of the checkout suffice", make: func(r *repo) {
		r.config("uploadpack.allowFilter true", "uploadpack.allowAnySHA1InWant true")
		r.write(r.dir, files{"a": "2\n"})
		r.commit(nil)
		r.clone("--filter=blob:none")
		must(r.t, os.Rename(strings.TrimSuffix(r.dir, "-clone"), r.dir+"-gone"))
	}},
	{name: "partial clone that lacks contents of its commit, the remote gone",
		note: "no worktree could be made", shared: true,
		refuse: NoCheckout, says: "no worktree can be made", make: func(r *repo) {
			r.config("uploadpack.allowFilter true", "uploadpack.allowAnySHA1InWant true")
			r.commit(files{"far": "far\n"})
			r.clone("--filter=blob:none", "--no-checkout")
			r.git("read-tree", "HEAD")
			r.git("update-index", "--skip-worktree", "far")
			r.git("checkout-index", "-a")
			must(r.t, os.Rename(strings.TrimSuffix(r.dir, "-clone"), r.dir+"-gone"))
		}},
	{name: "a checkout of a bare repository", make: func(r *repo) {
		bare := r.home() + "/bare.git"
		r.git("clone", "-q", "--bare", ".", bare)
		r.dir += "-tree"
		r.gitIn(bare, "worktree", "add", "-q", r.dir, "main")
	}},
	{name: "a linked worktree as the project", note: "its branch is fast-forwarded", make: func(r *repo) {
		main := r.dir
		r.dir += "-linked"
		r.gitIn(main, "worktree", "add", "-q", "-b", "side", r.dir)
	}, check: func(r *repo, _ *Manager) { equal(r.t, "branch", r.git("branch", "--show-current"), "side") }},
	{name: "detached HEAD", note: "the work stays on `wavex/RUN`", way: "branch",
		make: func(r *repo) { r.git("checkout", "-q", "--detach") }},
	{name: "no commit yet", shared: true, refuse: NoCommit, says: "nothing is committed", make: func(r *repo) {
		must(r.t, os.RemoveAll(filepath.Join(r.dir, ".git")))
		r.git("init", "-q")
	}},
	{name: "a repository of another user",
		note: "git refuses it; the run names `safe.directory`", shared: true, refuse: BadOwner,
		says: "git config --global --add safe.directory", make: func(r *repo) {
			real, err := exec.LookPath("git")
			must(r.t, err)
			r.tool("git", "GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec "+real+` "$@"`)
		}},
	{name: "a branch named `wavex`", note: "git allows no branch below it", shared: true, refuse: BadBranch,
		says: "there is a branch named wavex", make: func(r *repo) { r.git("branch", "wavex") }},
	{name: "SHA-256 objects", make: func(r *repo) {
		must(r.t, os.RemoveAll(filepath.Join(r.dir, ".git")))
		r.git("init", "-q", "--object-format=sha256")
		r.commit(nil)
	}},
}

// wasSparse checks that the checkout is still sparse and that the commit has all files.
func wasSparse(r *repo, _ *Manager) {
	r.t.Helper()
	if _, err := os.Stat(filepath.Join(r.dir, "out/b")); err == nil {
		r.t.Error("the checkout is not sparse any more")
	}
	equal(r.t, "in/a", r.git("show", "HEAD:in/a"), "2")
	equal(r.t, "out", r.git("ls-tree", "--name-only", "HEAD:out"), "b\nnew")
}

var configKinds = []kind{
	{name: "`core.fsmonitor`, `core.untrackedCache`, `feature.manyFiles`",
		make: func(r *repo) {
			r.tool("monitor", "echo monitor >>"+r.log()+"; exit 1")
			r.config("core.fsmonitor monitor", "core.untrackedCache true", "feature.manyFiles true")
			r.git("update-index", "--index-version", "4", "--untracked-cache")
		}},
	{name: "`core.splitIndex`", make: func(r *repo) {
		r.config("core.splitIndex true")
		r.git("update-index", "--split-index")
	}},
	{name: "`extensions.worktreeConfig`",
		note: "worktrees get the settings of the checkout", check: hookRan, make: func(r *repo) {
			r.script(r.home()+"/hooks/pre-commit", r.logStaged())
			r.config("extensions.worktreeConfig true")
			r.git("config", "--worktree", "core.hooksPath", r.home()+"/hooks")
		}},
	{name: "`worktree.useRelativePaths`", make: func(r *repo) { // of git 2.48; this git makes paths relative as it does
		real, err := exec.LookPath("git")
		must(r.t, err)
		r.tool("git", real+` "$@" || exit; case "$*" in *"worktree add"*) ;; *) exit;; esac
while [ $# -gt 2 ]; do shift; done
cd "$1" && echo "gitdir: $(realpath --relative-to=. "$(sed 's/^gitdir: //' .git)")" >.git.new && mv .git.new .git`)
	}, check: func(r *repo, m *Manager) {
		if left, _ := filepath.Glob(filepath.Join(r.dir, ".loop/worktrees/*.new-*")); len(left) > 0 {
			r.t.Errorf("a worktree was registered again: %s", left)
		}
		for _, tree := range m.state.Trees {
			if !filepath.IsAbs(tree.Admin) {
				r.t.Errorf("the worktree's folder in the repository is %s", tree.Admin)
			}
		}
	}},
	{name: "`pull.rebase`, `rebase.autoStash`, `merge.ff`, `branch.autoSetupRebase`, `rerere.enabled`",
		make: func(r *repo) {
			r.config("pull.rebase true", "rebase.autoStash true", "merge.ff false", "branch.autoSetupMerge always",
				"branch.autoSetupRebase always", "rerere.enabled true", "merge.conflictStyle diff3", "merge.autoStash true")
		}},
	{name: "`push.default`, `push.autoSetupRemote`, `push.followTags`", note: "`--deliver push` pushes `wavex/RUN` only",
		make:  func(r *repo) { r.config("push.default nothing", "push.autoSetupRemote true", "push.followTags true") },
		check: push},
	{name: "`commit.template`, `commit.verbose`, `commit.cleanup`, `core.commentChar`",
		note: "the message is that of the task",
		make: func(r *repo) {
			r.write(r.home(), files{"template": "Template\n"})
			r.config("commit.template "+r.home()+"/template", "commit.verbose true", "commit.cleanup scissors",
				"core.commentChar W", "commit.status true")
		},
		check: func(r *repo, _ *Manager) {
			equal(r.t, "message", r.git("log", "-1", "--format=%B"), "Do y\n\nWavex-Run: r1\nWavex-Task: y\n")
		}},
	{name: "`color.ui`, `core.pager`, `diff.external`, `diff.noprefix`, `log.showSignature`, `status.*`",
		note: "wavex reads git's machine formats", make: func(r *repo) {
			r.config("color.ui always", "core.pager less", "diff.external false", "diff.noprefix true", "log.showSignature true",
				"status.short true", "status.branch true", "status.showUntrackedFiles no", "core.abbrev 4", "log.decorate full",
				"core.quotePath false", "diff.renames copies", "format.pretty oneline")
		}},
	{name: "`core.excludesFile` and `.git/info/exclude`", make: func(r *repo) {
		r.write(r.home(), files{"ignore": ".idea\n"})
		r.write(r.dir, files{".idea/x": "1\n", ".git/info/exclude": "/.cache/\n", ".cache/y": "1\n"})
		r.config("core.excludesFile " + r.home() + "/ignore")
	}},
	{name: "no `user.name` and `user.email`", note: "commits by wavex, which the run says",
		says: "git does not know your name (user.name, user.email): commits are by wavex <wavex@localhost>",
		make: func(r *repo) {
			r.config("user.useConfigOnly true")
			r.git("config", "--global", "--remove-section", "user")
		}},
	{name: "identity by `includeIf`", note: "the commits have it", make: func(r *repo) {
		r.write(r.home(), files{"work": "[user]\n\tname = At Work\n"})
		r.git("config", "--global", "includeIf.gitdir:"+r.dir+"/.path", r.home()+"/work")
	}, check: func(r *repo, _ *Manager) {
		equal(r.t, "authors", r.git("log", "-2", "--format=%an %cn"), "At Work At Work\nAt Work At Work")
	}},
}
