package gitwork

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// This file mounts and unmounts overlays.

// escapeMount escapes what separates the options of a mount.
var escapeMount = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `:`, `\:`)

// mountOverlay mounts at a directory the files of lower with the changes in upper. work is an empty directory in the
// file system of upper.
func mountOverlay(at, lower, upper, work string) error {
	// With redirect_dir a folder of lower can be renamed. With metacopy the upper one would lack the contents of a file
	// of which only the mode was changed.
	options := "redirect_dir=on,index=off,metacopy=off,lowerdir=" + escapeMount.Replace(lower) +
		",upperdir=" + escapeMount.Replace(upper) + ",workdir=" + escapeMount.Replace(work)
	if err := unix.Mount("overlay", at, "overlay", unix.MS_NODEV, options); err != nil {
		return &os.PathError{Op: "mount", Path: at, Err: err}
	}
	return nil
}

// isMountPoint reports whether a directory is of another file system than the one above it.
func isMountPoint(dir string) bool {
	var here, above unix.Stat_t
	return unix.Lstat(dir, &here) == nil && unix.Stat(filepath.Dir(dir), &above) == nil && here.Dev != above.Dev
}

// unmount removes the mount at a directory, if there is one, also while a process is left there.
func unmount(dir string) error {
	for isMountPoint(dir) {
		if err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return &os.PathError{Op: "unmount", Path: dir, Err: err}
		}
	}
	return nil
}

// inode identifies a directory: a copy of it has another inode.
func inode(dir string) string {
	var s unix.Stat_t
	if err := unix.Lstat(dir, &s); err != nil {
		return ""
	}
	return fmt.Sprint(s.Ino)
}
