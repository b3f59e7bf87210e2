package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// This file knows commands: those that run other commands, and the files that the usual ones write.

// wrappers are commands that run the command in their arguments: the letters of their flags that take a value, the
// number of arguments before the command, and the long flags that take a value, each with a blank behind it.
var wrappers = map[string]struct {
	valued string
	skip   int
	long   string
}{
	"sudo": {"ughpCrtTD", 0, "--user --group --chdir "}, "doas": {"uC", 0, ""}, "env": {"uC", 0, "--unset --chdir "},
	"nohup": {}, "nice": {"n", 0, "--adjustment "}, "ionice": {"cnp", 0, "--class --classdata "},
	"time": {"fo", 0, "--format --output "}, "timeout": {"ks", 1, "--signal --kill-after "}, "command": {}, "builtin": {},
	"exec": {"a", 0, ""}, "stdbuf": {"ioe", 0, "--input --output --error "}, "setsid": {}, "busybox": {},
	"xargs": {"adEILnPs", 0, "--arg-file --delimiter --max-args --max-procs --max-chars "},
	"flock": {"wE", 1, "--timeout --conflict-exit-code "}, "watch": {"n", 0, "--interval "}, "taskset": {"", 1, ""},
	"chronic": {}, "unbuffer": {},
}

// run looks at the words of a simple command.
func (s *shell) run(words []string, input string) {
	for len(words) > 0 {
		w, is := wrappers[path.Base(words[0])]
		if !is || len(words) == 1 {
			break
		}
		s.emit(effect{words: words})
		if path.Base(words[0]) == "command" && (strings.EqualFold(words[1], "-v")) {
			return // it says where the command is
		}
		words = unwrap(words[1:], w.valued, w.skip, w.long)
	}
	if len(words) == 0 {
		return
	}
	s.emit(effect{words: words})
	name, args := path.Base(words[0]), words[1:]
	switch name {
	case "cd":
		s.cd(args)
	case "pushd":
		s.stack = append(slices.Clip(s.stack), s.dir)
		s.cd(args)
	case "popd":
		s.popd(args)
	case "eval":
		s.text(strings.Join(args, " "))
	case "trap":
		if len(args) > 1 && args[0] != "-" {
			s.child().text(args[0])
		}
	case "sh", "bash", "dash", "zsh", "ksh":
		s.script(args, input)
	case "find":
		s.find(args)
	case "git":
		s.git(args)
	default:
		if !s.interpret(name, args, input) {
			s.writes(name, args)
		}
	}
}

// unwrap returns the command in the arguments of another.
func unwrap(words []string, valued string, skip int, long string) []string {
	for len(words) > 0 {
		switch w := words[0]; {
		case w == "--":
			return words[min(1+skip, len(words)):]
		case strings.HasPrefix(w, "--") && strings.Contains(long, w+" "),
			strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && takesNext(w, valued):
			words = words[min(2, len(words)):]
		case strings.HasPrefix(w, "-"), strings.Contains(w, "=") && !strings.Contains(w, "/="):
			words = words[1:]
		case skip > 0:
			skip--
			words = words[1:]
		default:
			return words
		}
	}
	return nil
}

// takesNext reports whether the value of the letters of a flag is the next argument: the first that takes one, of those
// in valued, is the last.
func takesNext(flag, valued string) bool {
	i := strings.IndexAny(flag[1:], valued)
	return i >= 0 && i == len(flag)-2
}

func (s *shell) popd(args []string) {
	last := len(s.stack) - 1
	if last < 0 || len(args) > 0 {
		s.dir, s.stack = "", nil
		return
	}
	s.dir, s.stack = s.stack[last], s.stack[:last]
}

func (s *shell) cd(args []string) {
	for len(args) > 0 && (args[0] == "--" || args[0] == "-P" || args[0] == "-L") {
		args = args[1:]
	}
	if len(args) == 0 {
		args = []string{s.vars["HOME"]}
	}
	s.chdir(args[0])
}

// script looks at the text that a shell gets as an argument or on its input.
func (s *shell) script(args []string, input string) {
	inArgs, onInput := false, false
	for len(args) > 0 && (strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "+")) {
		a, n := args[0], 1
		switch {
		case a == "--rcfile" || a == "--init-file":
			n = 2
		case strings.HasPrefix(a, "--"):
		default:
			inArgs = inArgs || a[0] == '-' && strings.Contains(a, "c")
			onInput = onInput || strings.Contains(a, "s")
			n += strings.Count(a, "o") + strings.Count(a, "O")
		}
		if args = args[min(n, len(args)):]; a == "--" || a == "-" {
			break
		}
	}
	switch {
	case inArgs && len(args) > 0:
		s.child().text(args[0])
	case onInput || len(args) == 0: // else a file
		s.child().text(input)
	}
}

// interpret looks at code of other languages.
func (s *shell) interpret(name string, args []string, input string) bool {
	name = strings.TrimRight(name, "0123456789.")
	flag := map[string]string{"python": "-c", "node": "-e", "ruby": "-e", "perl": "-e", "php": "-r", "deno": "eval"}[name]
	if flag == "" {
		return false
	}
	code := input
	for i, a := range args {
		short := strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, flag[1:])
		if (a == flag || a == "--eval" || name == "perl" && short) && i+1 < len(args) {
			code = args[i+1]
		}
	}
	if code != "" {
		s.emit(effect{code: code, dir: s.dir})
	}
	return name != "perl"
}

// find looks at the commands that find runs on the files that it finds.
func (s *shell) find(args []string) {
	var roots []string
	for len(args) > 0 && (args[0] == "-L" || args[0] == "-H" || args[0] == "-P") {
		args = args[1:]
	}
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") && args[0] != "(" && args[0] != "!" {
		roots, args = append(roots, args[0]+"/{}"), args[1:]
	}
	if len(roots) == 0 {
		roots = []string{"./{}"}
	}
	for i, a := range args {
		switch a {
		case "-delete":
			for _, r := range roots {
				s.write(r, true)
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			for _, r := range roots {
				var words []string
				for _, w := range args[i+1:] {
					if w == ";" || w == "+" {
						break
					}
					words = append(words, strings.ReplaceAll(w, "{}", r))
				}
				s.child().run(words, "")
			}
		}
	}
}

// gitGlobals returns the directory of git's -C, or "", and its arguments after its global options.
func gitGlobals(args []string) (dir string, rest []string) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		n := 1
		switch args[0] {
		case "-C":
			if len(args) > 1 {
				dir = path.Join(dir, args[1])
				if path.IsAbs(args[1]) {
					dir = args[1]
				}
			}
			n = 2
		case "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env":
			n = 2
		}
		args = args[min(n, len(args)):]
	}
	return dir, args
}

// git looks at the files that git is told to change.
func (s *shell) git(args []string) {
	dir, args := gitGlobals(args)
	if s = s.child(); dir != "" {
		s.chdir(dir)
	}
	if len(args) == 0 {
		return
	}
	plain, flags := split(args[1:], "")
	switch args[0] {
	case "rm", "mv":
		for _, p := range plain {
			s.write(p, flags != "" || args[0] == "mv")
		}
	case "clone", "worktree":
		if len(plain) > 1 {
			s.enter(always, plain[1], "*")
		}
	case "config":
		file := ".git/config" // near that of --worktree, which is closed with it
		for i, a := range args {
			if of, joined := strings.CutPrefix(a, "--file="); joined {
				file = of
			} else if (a == "-f" || a == "--file") && i+1 < len(args) {
				file = args[i+1]
			}
		}
		plain, _ = split(args[1:], "-f --file --type --default --comment --value --url ")
		reads := strings.Contains(flags, "--get") || strings.Contains(flags, "--list") || strings.Contains(flags, "-l ") ||
			len(plain) < 2 && !strings.Contains(flags, "set") && !strings.Contains(flags, "edit") &&
				!strings.Contains(flags, "--remove-section")
		if len(plain) > 0 && (plain[0] == "get" || plain[0] == "list") {
			reads = true
		}
		if !reads && !strings.Contains(flags, "--global") && !strings.Contains(flags, "--system") {
			s.write(file, false)
		}
	}
}

// split returns the arguments that are no flags, and the flags, each with a blank behind it. The values of the flags in
// valued, each with a blank behind it, are left out.
func split(args []string, valued string) (plain []string, flags string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return append(plain, args[i+1:]...), flags
		case strings.HasPrefix(a, "-") && len(a) > 1:
			flags += a + " "
			if strings.Contains(valued, a+" ") {
				i++
			}
		default:
			plain = append(plain, a)
		}
	}
	return plain, flags
}

// writes emits the files that a command writes.
func (s *shell) writes(name string, args []string) {
	switch name {
	case "rm", "rmdir", "unlink", "shred", "truncate", "touch", "mkdir", "tee", "sponge", "mkfifo", "ed", "ex", "vi",
		"vim", "nvim", "nano":
		plain, flags := split(args, map[string]string{"touch": "-r -d -t ", "mkdir": "-m ", "mkfifo": "-m ",
			"truncate": "-s -r ", "shred": "-n -s ", "ed": "-p ", "ex": "-c -S -u ", "vi": "-c -S -s -u ",
			"vim": "-c -S -s -u ", "nvim": "-c -S -s -u "}[name])
		for _, p := range plain {
			s.write(p, name == "rm" && strings.ContainsAny(flags, "rR"))
		}
	case "cp", "mv", "ln", "install", "rsync", "scp":
		s.copies(name, args)
	case "chmod", "chown", "chgrp", "chattr", "setfacl", "mount", "patch":
		plain, flags := split(args, "-t -o -i -p -d ")
		for i, p := range plain {
			if i > 0 || name == "patch" {
				s.write(p, strings.Contains(flags, "-R"))
			}
		}
	case "sed", "perl", "awk", "gawk":
		s.inPlace(name, args)
	case "gofmt", "goimports", "prettier", "yq":
		flag := map[string]string{"prettier": "--write", "yq": "-i"}[name]
		if plain, flags := split(args, ""); slices.Contains(strings.Fields(flags), cmp.Or(flag, "-w")) {
			for _, p := range plain {
				s.write(p, false)
			}
		}
	case "dd":
		for _, a := range args {
			if to, ok := strings.CutPrefix(a, "of="); ok {
				s.write(to, false)
			}
		}
	case "tar", "unzip", "curl", "wget", "sort", "cc", "gcc", "clang", "go":
		s.outputs(name, args)
	}
}

// copies looks at commands whose last argument is written.
func (s *shell) copies(name string, args []string) {
	to, from := "", []string(nil)
	for i, a := range args {
		if (a == "-t" || a == "--target-directory") && i+1 < len(args) {
			to = args[i+1]
		} else if dir, ok := strings.CutPrefix(a, "--target-directory="); ok {
			to = dir
		}
	}
	plain, flags := split(args, "-t -m -o -g -S -e -f --target-directory ")
	if from = plain; to == "" {
		if len(plain) < 2 {
			return
		}
		from, to = plain[:len(plain)-1], plain[len(plain)-1]
	}
	s.write(to, false)
	for _, f := range from {
		switch base := path.Base(f); {
		case strings.ContainsAny(base, "*?["):
			s.enter(always, to, base)
		case base == "." || base == ".." || name == "rsync" && strings.HasSuffix(f, "/"):
			s.enter(always, to, "*")
		default:
			s.write(to+"/"+base, false) // to may be a directory
			if name == "mv" || name == "ln" || strings.ContainsAny(flags, "rRa") {
				s.enter(ifMissing, to, "*")
			}
		}
		switch {
		case name == "mv":
			s.write(f, true)
		case name == "ln" && !strings.Contains(flags, "s"), name == "cp" && strings.Contains(flags, "-l"):
			s.write(f, false) // through the link
		case name == "ln" && path.IsAbs(f):
			s.link(f)
		case name == "ln":
			s.link(path.Dir(to) + "/" + f) // relative to the link
			s.link(to + "/" + f)
		}
	}
}

// link emits the target of a symbolic link in the directory, which the next command may write.
func (s *shell) link(to string) {
	if to = s.at(to); s.dir != "" && (to == s.dir || strings.HasPrefix(to, s.dir+"/")) {
		s.write(to, false)
	}
}

// inPlace looks at commands that edit files in place.
func (s *shell) inPlace(name string, args []string) {
	valued, scripted, edits := "", false, false
	for i, a := range args {
		switch {
		case name == "sed" && (a == "-e" || a == "-f" || strings.HasPrefix(a, "--expression")),
			name == "perl" && strings.HasPrefix(a, "-") && strings.ContainsAny(a[len(a)-1:], "eE"):
			valued, scripted = valued+a+" ", true
		case name != "sed" && name != "perl" && a == "inplace" && i > 0:
			valued, edits = "-i -v -F ", true
		}
		if name == "sed" && (strings.HasPrefix(a, "--in-place") || strings.HasPrefix(a, "-") &&
			!strings.HasPrefix(a, "--") && strings.Contains(a, "i")) ||
			name == "perl" && strings.HasPrefix(a, "-") && strings.Contains(a, "i") &&
				!strings.ContainsAny(a[1:2], "IMm-") { // -Ilib, -MFile::Find
			edits = true
		}
	}
	plain, _ := split(args, valued)
	plain = slices.DeleteFunc(plain, func(p string) bool { return p == "" }) // sed -i '' of macOS
	if !scripted && len(plain) > 0 {
		plain = plain[1:]
	}
	for _, p := range plain {
		if edits {
			s.write(p, false)
		}
	}
}

// outputs looks at flags that name a file or directory to write.
func (s *shell) outputs(name string, args []string) {
	flags := map[string]string{"tar": "-C --directory", "unzip": "-d", "curl": "-o --output",
		"wget": "-O -P --output-document"}[name]
	if flags == "" {
		flags = "-o --output"
	}
	if name == "tar" && !unpacks(args) {
		return
	}
	elsewhere := false
	for i, a := range args {
		flag, value, joined := strings.Cut(a, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && len(a) > 2 &&
			(name == "curl" || name == "wget" || name == "sort") { // -sSLo file
			flag = "-" + a[len(a)-1:]
		}
		for _, f := range strings.Fields(flags) {
			if flag == f && value != "" && value != "-" {
				elsewhere = true
				s.write(value, false)
				if name == "tar" || name == "unzip" || f == "-P" {
					s.enter(always, value, "*")
				}
			}
		}
	}
	if name == "tar" && !elsewhere {
		s.enter(always, ".", "*")
	}
}

// unpacks reports whether the arguments of tar are to extract.
func unpacks(args []string) bool {
	for i, a := range args {
		if letters, is := strings.CutPrefix(a, "-"); i == 0 || is {
			if a == "--extract" || a == "--get" {
				return true
			}
			if at := strings.IndexAny(letters, "xCfIKTX-"); at >= 0 && letters[at] == 'x' { // not in a value behind its flag
				return true
			}
		}
	}
	return false
}
