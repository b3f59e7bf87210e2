package secret

import "testing"

// The directory of a shell is no secret, also if it looks like a key that begins with a slash.
func TestDirectoryIsNoSecret(t *testing.T) {
	t.Parallel()
	const dir = "/tmp/TestRunOnWorker278370610/001"
	if !IsSecret("MY_KEY", dir) {
		t.Fatal("it looks like no key")
	}
	for _, name := range []string{"PWD", "OLDPWD"} {
		if IsSecret(name, dir) {
			t.Errorf("%s is a secret", name)
		}
	}
}
