package support

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
)

// pathIdentity identifies a file by its path, if the system has no inode number for it.
func pathIdentity(path string, st fs.FileInfo) string {
	return fmt.Sprintf("%x-%x-%x", sha256.Sum256([]byte(path)), st.Size(), st.ModTime().UnixNano())
}
