// Package forecast computes the expected cost and duration of a plan before it runs, and names
// the limits and criteria that cannot suffice for it in any case. It does no I/O: it takes plans and
// events, and returns figures and text.
package forecast
