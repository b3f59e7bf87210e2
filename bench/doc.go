// Package bench compares wavex with tools that do a part of its work, in one run on one machine:
// `make bench`. It holds only benchmarks. The compared programs run in turns, round by round, each
// in a fresh folder. The results are medians and ratios, because absolute times on a shared machine
// mean little. docs/performance.md explains them.
package bench
