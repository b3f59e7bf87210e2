//go:build !linux

package gitwork

import "errors"

func mountOverlay(string, string, string, string) error { return errors.ErrUnsupported }

func isMountPoint(string) bool { return false }

func unmount(string) error { return nil }

func inode(string) string { return "" }
