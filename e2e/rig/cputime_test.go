package rig

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		share float64
		holds time.Duration // after this time on the wall clock
		ok    bool
		ends  time.Duration // at the latest
	}{
		{"idle, in time", 1, time.Second, true, time.Second},
		{"idle, late", 1, 3 * time.Second, false, 2 * time.Second},
		{"busy, in time", 0.25, 7 * time.Second, true, 7 * time.Second},
		{"busy, late", 0.25, 9 * time.Second, false, 8 * time.Second},
		{"for ever", 0, time.Hour, false, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				holds := func() bool { return time.Since(began) >= c.holds }
				took, ok := within(ctx, 2*time.Second, holds, func() float64 { return c.share })
				wall := time.Since(began)
				if off := took - time.Duration(float64(wall)*c.share); ok != c.ok || off.Abs() > time.Millisecond {
					t.Errorf("%v after %s, counted as %s", ok, wall, took)
				}
				if wall < min(c.ends, c.holds) || wall > c.ends+20*time.Millisecond {
					t.Errorf("it ended after %s, want %s", wall, c.ends)
				}
			})
		})
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	for loadavg, want := range map[string]float64{
		"0.40 0.15 0.07 1/134 43":    1,
		"2.89 0.92 0.35 2/134 43":    1,
		"20.01 11.55 5.57 8/256 269": 0.25,
		"0.00 0.00 0.00 0/0 0":       1,
		"":                           1,
	} {
		if got := cpuShare(loadavg, 2); got != want {
			t.Errorf("%q: %v, want %v", loadavg, got, want)
		}
	}
}
