package known

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
)

// identityOf names a file by its path, where the system gives it no number.
func identityOf(path string, st fs.FileInfo) string {
	return fmt.Sprintf("%x-%x-%x", sha256.Sum256([]byte(path)), st.Size(), st.ModTime().UnixNano())
}
