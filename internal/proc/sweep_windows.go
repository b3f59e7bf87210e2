package proc

import "context"

// Subreaper returns ErrUnsupported. On Windows job objects do its work.
func Subreaper() error { return ErrUnsupported }

// Sweep does nothing on Windows: the processes of an attempt are in a job object that ends them
// when the wavex that started them dies.
func Sweep(ctx context.Context, mark string) (killed int, err error) {
	return sweepMark(mark, ctx.Done())
}

func sweepMark(string, <-chan struct{}) (killed int, err error) { return 0, nil }
