//go:build !unix

package testrepo

import "testing"

// NamedPipe does nothing: folders have no named pipes here, so the path stays free.
func NamedPipe(testing.TB, string) {}
