// Package ci runs what the examples for CI systems say, step by step, with the rehearsal
// agent: the composite action, the workflow and the pipeline are read from their files,
// so that what people copy is what was tried.
package ci
