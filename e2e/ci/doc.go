// Package ci runs the examples for CI systems, step by step, with the rehearsal agent. It reads
// the composite action, the workflow and the pipeline from their files, so that the tests cover
// the files that people copy.
package ci
