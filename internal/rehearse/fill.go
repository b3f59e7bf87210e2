package rehearse

// This file makes up the content of files, for tasks that come without a block. It knows the comments of common
// languages, and nothing of plans.

import (
	"go/token"
	"path/filepath"
	"strings"
)

// comments maps the extension of a file to the beginning and the end of a comment in it.
var comments = map[string][2]string{
	".go": {"// "}, ".js": {"// "}, ".jsx": {"// "}, ".ts": {"// "}, ".tsx": {"// "}, ".mjs": {"// "}, ".java": {"// "},
	".c": {"// "}, ".h": {"// "}, ".cc": {"// "}, ".cpp": {"// "}, ".cs": {"// "}, ".rs": {"// "}, ".swift": {"// "},
	".kt": {"// "}, ".php": {"// "}, ".py": {"# "}, ".rb": {"# "}, ".sh": {"# "}, ".yaml": {"# "}, ".yml": {"# "},
	".toml": {"# "}, ".sql": {"-- "}, ".lua": {"-- "}, ".css": {"/* ", " */"}, ".html": {"<!-- ", " -->"},
	".xml": {"<!-- ", " -->"}, ".svg": {"<!-- ", " -->"}, ".md": {},
}

// filled returns text with the lines that it lacks, and a note as the last one, so that the text has changed. In a
// source file they are comments; an empty one begins as its language asks. JSON has no comments: it gets blank space.
func filled(path, text, note string, lines []string) string {
	ext := strings.ToLower(filepath.Ext(path))
	if text == "" && ext == ".json" {
		text = "{}\n"
	}
	if text == "" && ext == ".go" {
		text = "package " + goPackage(path) + "\n"
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if ext == ".json" {
		return text + "\n"
	}
	form := comments[ext]
	for _, l := range lines {
		if !strings.Contains(text, l) {
			text += form[0] + l + form[1] + "\n"
		}
	}
	return text + form[0] + note + form[1] + "\n"
}

// goPackage returns the name of a package in the directory of a Go file.
func goPackage(path string) string {
	name := strings.ReplaceAll(filepath.Base(filepath.Dir(path)), "-", "_")
	if !token.IsIdentifier(name) {
		return "main"
	}
	return name
}
