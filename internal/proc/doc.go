// Package proc starts other programs and makes sure that nothing of them is left:
// it is the only package of the project that runs commands. It knows process
// groups, marks, pipes and sweeps; it knows nothing of agents, checks or plans.
//
// What holds on which platform, and what is tested, is in docs/containment.md.
//
// # Life of a process
//
// Start forks. When the process itself has exited and everything it wrote was
// read or is held in memory, Done closes. Then whatever the process left behind is
// swept, and only then is it reaped: until that moment its pid, which is also the
// number of its process group, cannot be given to anybody else, so a signal to the
// group never reaches a stranger. Wait returns after the sweep.
//
// # Marks
//
// Spec.Mark is put into the environment as WAVEX_ATTEMPT and inherited by
// everything that the process starts, in whatever session or group. The text
// before the first slash of a mark is the run, as in WAVEX_RUN.
package proc
