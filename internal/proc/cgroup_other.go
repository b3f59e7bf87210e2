//go:build !linux

package proc

import "context"

// Cgroup is a control group of a run, which only Linux has.
type Cgroup struct{}

// NewCgroup fails with ErrUnsupported.
func NewCgroup(string) (*Cgroup, error) { return nil, ErrUnsupported }

// Close does nothing.
func (*Cgroup) Close(context.Context) error { return nil }

func removeCgroupOf(context.Context, string, int) error { return nil }

// RemoveOldCgroups does nothing.
func RemoveOldCgroups(context.Context, string) error { return nil }
