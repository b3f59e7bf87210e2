//go:build !linux

package wall

import (
	"context"
	"errors"
)

// Try returns an error: bubblewrap is a program of Linux.
func Try(context.Context, string, []string) (*Wall, error) {
	return nil, errors.New("bubblewrap is for Linux only")
}

// TryStrict returns an error, as Try does.
func TryStrict(ctx context.Context, dir string, env, _ []string) (*Wall, error) {
	return Try(ctx, dir, env)
}
