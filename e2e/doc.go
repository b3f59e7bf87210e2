// Package e2e tests wavex end to end: the real claude CLI, the oldest and the newest tested
// version, against the scripted API of internal/fakeapi. All code is in its tests; see
// docs/testing.md for how to run them.
package e2e
