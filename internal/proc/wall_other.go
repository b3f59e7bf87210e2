//go:build !linux

package proc

import (
	"context"
	"errors"
)

// TryWall returns an error: bubblewrap is a program of Linux.
func TryWall(context.Context, string, []string) (*Wall, error) {
	return nil, errors.New("bubblewrap is for Linux only")
}

// TryStrictWall returns an error, as TryWall does.
func TryStrictWall(ctx context.Context, dir string, env, _ []string) (*Wall, error) {
	return TryWall(ctx, dir, env)
}
