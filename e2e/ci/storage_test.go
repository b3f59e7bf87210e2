//go:build unix

package ci

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// This file is the server of a CI service, which outlives the machines of a test: repository, caches and
// artifacts; and the actions that reach it. Nothing else goes from job to job.

// server holds the state of the CI service.
type server struct {
	t    *testing.T
	dir  string
	keys []string // of the caches, the oldest first
}

// newServer returns a server whose repository has one commit on main, with files.
func newServer(t *testing.T, files map[string]string) *server {
	s := &server{t: t, dir: t.TempDir()}
	s.git(s.dir, "init", "-q", "--bare", "-b", "main", s.repository())
	s.commit(files)
	return s
}

// commit adds a commit with files to main.
func (s *server) commit(files map[string]string) {
	dir := s.t.TempDir()
	s.git(dir, "clone", "-q", s.repository(), ".")
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	s.git(dir, "add", "-A")
	s.git(dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "mine")
	s.git(dir, "push", "-q", "origin", "HEAD:main")
}

func (s *server) repository() string { return filepath.Join(s.dir, "repository.git") }

func (s *server) git(dir string, args ...string) string {
	s.t.Helper()
	c := exec.CommandContext(s.t.Context(), "git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := c.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// onPush runs the lines of a shell script before the repository takes a push; "" takes each push.
func (s *server) onPush(script string) {
	hook := filepath.Join(s.repository(), "hooks", "pre-receive")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // a hook
		s.t.Fatal(err)
	}
}

const refuse = "echo the server is down >&2\nexit 1"

// branches returns the branches of runs on the server.
func (s *server) branches() []string {
	return strings.Fields(s.git(s.repository(), "for-each-ref", "--format=%(refname:short)", "refs/heads/wavex"))
}

// pushed returns the subjects of the commits of all runs on the server that main does not have, the oldest first.
func (s *server) pushed() string {
	s.t.Helper()
	out := s.git(s.repository(), append([]string{"log", "--reverse", "--format=%s", "^main"}, s.branches()...)...)
	return strings.Join(strings.Split(out, "\n"), ", ")
}

// checkout makes a clone as actions/checkout does: with one commit, unless fetch-depth is 0.
func (m *machine) checkout(depth string) {
	args := []string{"clone", "-q"}
	if depth != "0" {
		args = append(args, "--depth", "1")
	}
	m.server.git(m.temp, append(args, "file://"+m.server.repository(), m.workspace)...)
	if m.permissions["contents"] != "write" {
		m.server.git(m.workspace, "remote", "set-url", "--push", "origin", "file:///no/permission")
	}
}

// restoreCache restores the cache with a key, or else the newest whose key begins with one of the prefixes.
func (m *machine) restoreCache(path, key, prefixes string) {
	if !slices.Contains(m.server.keys, key) {
		key = ""
		for _, prefix := range strings.Fields(prefixes) {
			for _, k := range m.server.keys {
				if strings.HasPrefix(k, prefix) {
					key = k
				}
			}
			if key != "" {
				break
			}
		}
	}
	if key != "" {
		m.copy(filepath.Join(m.server.dir, "cache", key), path)
	}
}

// saveCache saves a folder under a key. A cache does not change: a second one with its key is only a warning.
func (m *machine) saveCache(path, key string) {
	if slices.Contains(m.server.keys, key) {
		fmt.Fprintf(&m.out, "::warning::unable to reserve cache with key %s\n", key)
		return
	}
	if !exists(path) {
		fmt.Fprintf(&m.out, "::warning::there is no %s to cache\n", path)
		return
	}
	m.server.keys = append(m.server.keys, key)
	m.copy(path, filepath.Join(m.server.dir, "cache", key))
}

// uploadArtifact keeps a folder of one run of the workflow. A name can be used once in it.
func (m *machine) uploadArtifact(path, name string) bool {
	to := filepath.Join(m.server.dir, "artifacts", m.event["github.run_id"], name)
	if _, err := os.Stat(to); err == nil {
		fmt.Fprintf(&m.out, "an artifact with this name already exists: %s\n", name)
		return false
	}
	if _, err := os.Stat(path); err != nil {
		fmt.Fprintln(&m.out, err)
		return false
	}
	m.copy(path, to)
	return true
}

func (m *machine) copy(from, to string) {
	if err := os.MkdirAll(to, 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		m.t.Fatal(err)
	}
}
