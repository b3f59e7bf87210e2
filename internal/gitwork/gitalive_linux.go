package gitwork

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// This file looks for processes that may hold a lock of git. Where it cannot know, it reports that there is one.

// gitMayHold reports whether a process has a lock file open, or is a git that may work in one of the directories.
// allVisible says that /proc shows each git that can work there; else gitMayHold finds out.
func gitMayHold(lock string, dirs []string, allVisible bool) bool {
	if !allVisible && (!showsAll("/proc") || isRemote(filepath.Dir(lock))) {
		return true
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	var ours []fs.FileInfo
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil {
			ours = append(ours, info)
		}
	}
	held, gone := os.Stat(lock)
	root, err := os.Stat("/")
	if gone != nil || err != nil {
		return true
	}
	for _, e := range all {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		at := filepath.Join("/proc", e.Name())
		// A git that ends meanwhile seems to work anywhere. It loses its arguments first.
		if hasOpen(at, held) || isGit(at) && worksIn(at, ours, root) && isGit(at) {
			return true
		}
	}
	return false
}

// initialPIDs names the PID namespace of the machine, see PROC_PID_INIT_INO of the kernel.
const initialPIDs = "pid:[4026531836]"

// showsAll reports whether proc, which is /proc, shows the processes of the whole machine: not in a container, and not
// if it is mounted with hidepid.
func showsAll(proc string) bool {
	space, err := os.Readlink(filepath.Join(proc, "self", "ns", "pid"))
	_, hidden := os.ReadFile(filepath.Join(proc, "1", "comm"))
	return err == nil && space == initialPIDs && hidden == nil
}

// isRemote reports whether other machines may use the file system of a directory.
func isRemote(dir string) bool {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return true
	}
	switch uint32(fs.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.V9FS_MAGIC,
		unix.AFS_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC:
		return true
	}
	return false
}

// hasOpen reports whether a process has a file open under its name. It does not know the files of another user's
// processes, and asks nothing about files with other names: their file systems may not answer.
func hasOpen(at string, file fs.FileInfo) bool {
	open, _ := os.ReadDir(filepath.Join(at, "fd")) // it has ended, or is another user's
	for _, fd := range open {
		path := filepath.Join(at, "fd", fd.Name())
		if name, err := os.Readlink(path); err != nil || filepath.Base(name) != file.Name() {
			continue
		}
		if info, err := os.Stat(path); err == nil && os.SameFile(info, file) {
			return true
		}
	}
	return false
}

// isGit reports whether a process is git, or a program of git, that has not ended.
func isGit(at string) bool {
	name, err := os.ReadFile(filepath.Join(at, "comm"))
	if err != nil || !strings.HasPrefix(string(name), "git") {
		return false
	}
	args, err := os.ReadFile(filepath.Join(at, "cmdline"))
	return err != nil || len(args) > 0 // a process that has ended has none
}

// worksIn reports whether a git works in a directory of ours or below, or may do so. root is the root directory of this
// process: paths of a process with another one, as in a container, do not tell.
func worksIn(at string, ours []fs.FileInfo, root fs.FileInfo) bool {
	var above fs.FileInfo
	for dir := at + "/cwd"; ; dir += "/.." {
		info, err := os.Stat(dir)
		if err != nil {
			return true
		}
		if hasFile(ours, info) {
			return true
		}
		if above != nil && os.SameFile(above, info) {
			break
		}
		above = info
	}
	return !os.SameFile(above, root) || namesDir(at, ours)
}

func hasFile(all []fs.FileInfo, info fs.FileInfo) bool {
	return slices.ContainsFunc(all, func(one fs.FileInfo) bool { return os.SameFile(one, info) })
}

// namesDir reports whether the arguments or the environment of a git name a directory of ours or a file in it, or may.
func namesDir(at string, ours []fs.FileInfo) bool {
	args, err := os.ReadFile(filepath.Join(at, "cmdline"))
	env, failed := os.ReadFile(filepath.Join(at, "environ"))
	if err != nil || failed != nil {
		return true
	}
	dir, err := os.Readlink(filepath.Join(at, "cwd"))
	if err != nil {
		return true
	}
	all := strings.Split(string(args)+string(env), "\x00")
	for i, text := range all {
		name, path, _ := strings.Cut(text, "=")
		switch name {
		case "--git-dir", "GIT_DIR", "GIT_COMMON_DIR", "GIT_INDEX_FILE":
			if text == "--git-dir" && i+1 < len(all) {
				path = all[i+1]
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
				if _, err := os.Stat(path); err != nil && name != "GIT_INDEX_FILE" {
					return true // git has changed its directory since
				}
			}
			if isBelow(path, ours) {
				return true
			}
		}
	}
	return false
}

// isBelow reports whether an absolute path is that of a directory of ours, or of a file below one.
func isBelow(path string, ours []fs.FileInfo) bool {
	for path = resolveLinks(path); ; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err == nil && hasFile(ours, info) {
			return true
		}
		if path == filepath.Dir(path) {
			return false
		}
	}
}
