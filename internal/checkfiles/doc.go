// Package checkfiles finds the files on which a check command rests: tests, their data, helpers and settings, and the
// scripts that it runs. It tells from the texts of two versions of a file whether tests were disabled. It reads files
// and runs no command. All paths are slash-separated and relative to the root of a project.
package checkfiles
