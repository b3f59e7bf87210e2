//go:build !unix

package support

import "io/fs"

// identity identifies a file and its state; it differs when the file has changed.
func identity(path string, st fs.FileInfo) string { return pathIdentity(path, st) }
