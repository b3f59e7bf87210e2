// Package filetree compares the files of a directory with those of an earlier time. A Tree lists all files that count,
// each with a digest of its bytes. The difference of two trees shows all edits in between, by any means. The package
// also keeps the contents of a tree, and makes a copy of a directory in which chosen files are as they were.
package filetree
