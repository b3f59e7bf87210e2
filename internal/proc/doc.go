// Package proc starts other programs and ends everything they leave behind. No other package of
// the project runs commands. It knows process groups, marks, pipes and sweeps, walls that close
// paths to programs, and the limits of the machine behind errors of the system; it does not know
// agents, checks or plans.
//
// docs/containment.md lists the guarantees of each platform and their tests.
//
// # Life of a process
//
// Start forks. Done closes when the process has exited and all its output was read or is held in
// memory. Then the processes that it left behind are swept, and only then is it reaped. Until it
// is reaped its pid, which is also the number of its process group, is not reused, so a signal to
// the group cannot reach another process. Wait returns after the sweep.
//
// # Marks
//
// Start puts Spec.Mark into the environment as WAVEX_ATTEMPT. Every descendant inherits it, in
// any session or group. The text before the first slash of a mark is the run, as in WAVEX_RUN. On Linux a process also
// inherits a soft limit of file locks that tells its run and its attempt, so that one without an environment is found.
package proc
