//go:build !unix

package known

import "io/fs"

// identity names a file and its state: another content has another one.
func identity(path string, st fs.FileInfo) string { return identityOf(path, st) }
