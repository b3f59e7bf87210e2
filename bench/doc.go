// Package bench measures wavex beside the tools that do a part of its work, in one run
// on one machine: `make bench`. It holds only benchmarks. What they compare is run in
// turns, round by round, each in a fresh folder, and the figures are medians and ratios,
// because seconds of a shared machine mean little. docs/performance.md explains them.
package bench
