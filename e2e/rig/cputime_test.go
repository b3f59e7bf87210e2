package rig

import (
	"context"
	"math"
	"strings"
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
	const stat = "43 (a b) c) R 1 43 43 0 -1 4194560 3791 0 0 0 11 8 0 0 30 NICE 6 0 323238"
	for _, c := range []struct {
		loadavg, nice string
		want          float64
	}{
		{"0.40 0.15 0.07 1/134 43", "0", 1},
		{"2.89 0.92 0.35 2/134 43", "0", 1},
		{"2.89 0.92 0.35 2/134 43", "10", 1}, // a processor of its own
		{"20.01 11.55 5.57 8/256 269", "0", 0.25},
		{"20.01 11.55 5.57 8/256 269", "-5", 0.25}, // no bound is tighter than on an idle machine
		{"20.01 11.55 5.57 8/256 269", "10", 0.0302},
		{"20.01 11.55 5.57 8/256 269", "x", 0.25},
		{"0.00 0.00 0.00 0/0 0", "0", 1},
		{"", "0", 1},
	} {
		got := cpuShare(c.loadavg, strings.Replace(stat, "NICE", c.nice, 1), 2)
		if math.Abs(got-c.want) > 0.0001 {
			t.Errorf("%q, nice %s: %v, want %v", c.loadavg, c.nice, got, c.want)
		}
	}
	if got := cpuShare("20.01 11.55 5.57 8/256 269", "", 2); got != 0.25 {
		t.Errorf("without its stat: %v", got)
	}
	if got := speed(); got <= 0 || got > 1 {
		t.Errorf("a speed of %v", got)
	}
}
