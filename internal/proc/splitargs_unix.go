//go:build unix

package proc

import (
	"slices"
	"strings"
)

// SplitArgs splits a command line that means the same to a shell and to execve: plain words, of which
// the first is not a builtin, keyword or assignment. Starting it without a shell saves the shell,
// as in make. ok is false if only a shell can interpret the line.
func SplitArgs(command string) (argv []string, ok bool) {
	for i := range len(command) {
		if !isPlain(command[i]) {
			return nil, false
		}
	}
	argv = strings.FieldsFunc(command, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(argv) == 0 || strings.ContainsRune(argv[0], '=') || slices.Contains(builtins, argv[0]) {
		return nil, false
	}
	return argv, true
}

// isPlain reports whether a byte has no special meaning to a shell, or separates words.
func isPlain(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' ||
		strings.IndexByte(" \t_-./:=+@%,", b) >= 0
}

// builtins are the words that some /bin/sh (dash, bash, busybox, ksh) interprets itself at the
// start of a command, instead of starting a program.
var builtins = strings.Fields(`. : alias bg bind break builtin caller case cd chdir command compgen
	complete compopt continue coproc declare dirs disown do done echo elif else enable esac eval exec
	exit export false fc fg fi for function getopts hash help history if in inlib jobs kill let local
	logout mapfile newgrp popd print printf pushd pwd read readarray readonly return select set setgroups
	shift shopt sleep source stop suspend test then time times trap true type typeset ulimit umask unalias
	unset until wait whence while`)
