//go:build !linux

package proc

import "errors"

// OwnMounts returns false: there are mount namespaces on Linux only.
func OwnMounts() bool { return false }

// EnterMounts returns an error: there are mount namespaces on Linux only.
func EnterMounts() error { return errors.ErrUnsupported }
