package gitwork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// This file signs the commits that are delivered, if the user's git signs commits and that needs no person. The
// commits of attempts are not signed.

// signTimeout limits a signature. A program that takes longer waits for a person.
const signTimeout = 20 * time.Second

var errSignTimeout = fmt.Errorf("it took longer than %s", signTimeout)

// findSigning finds out whether the user's git signs commits. The last value is that of newGit.
func (m *Manager) findSigning() {
	all := m.settings["commit.gpgsign"]
	m.signs = len(all) > 1 && isTrue(all[len(all)-2])
}

// probeSigning says how the run signs.
func (m *Manager) probeSigning(ctx context.Context) error {
	if !m.signs {
		return nil
	}
	switch err := m.trySigning(ctx); {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case err != nil:
		m.notice("commit.gpgSign: signing needs a person, or fails: %v; no commit of the run is signed, and the work stays "+
			"on %s until you sign it", err, branchName(runBranch(m.opts.Run)))
	default:
		m.notice("commit.gpgSign: attempts do not sign their commits; the delivered ones are signed")
	}
	return nil
}

// trySigning signs a commit that no ref has. It returns an error if that fails or would ask a person.
func (m *Manager) trySigning(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, signTimeout, errSignTimeout)
	defer cancel()
	g := m.g.withoutPrompts()
	format, err := g.config(ctx, "gpg.format")
	if err != nil {
		return err
	}
	switch format {
	case "", "openpgp":
		err = g.tryGPG(ctx)
	case "ssh":
		var program string
		if program, err = g.config(ctx, "gpg.ssh.program"); program != "" &&
			strings.TrimSuffix(strings.ToLower(filepath.Base(program)), ".exe") != "ssh-keygen" {
			err = errors.New(program + " may ask a person")
		}
	default:
		err = errors.New("gpg.format " + format + " may ask a person")
	}
	if err != nil {
		return err
	}
	return g.run(ctx, "commit-tree", "-S", "-m", "A signature", m.state.Base+"^{tree}")
}

// tryGPG makes a signature by gpg without pinentry.
func (g git) tryGPG(ctx context.Context) error {
	set, err := g.config(ctx, "--get-regexp", `^gpg\.(openpgp\.)?program$`) // the last one counts
	if err != nil {
		return err
	}
	_, program, _ := strings.Cut(set[strings.LastIndex(set, "\n")+1:], " ")
	key, err := g.config(ctx, "user.signingKey")
	if err != nil {
		return err
	}
	if key == "" {
		ident, err := g.output(ctx, "var", "GIT_COMMITTER_IDENT")
		if err != nil {
			return err
		}
		key = ident[:strings.LastIndex(ident, ">")+1]
	}
	g.program = cmp.Or(program, "gpg")
	_, err = g.outputOf(ctx, "wavex\n", "--batch", "--pinentry-mode", "error", "--status-fd=2", "-bsau", key)
	return err
}

// withoutPrompts returns a git whose ssh-keygen does not ask for a passphrase.
func (g git) withoutPrompts() git { return g.withEnv("SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=force") }

// applySigned is applyCandidates with signed commits, if the user's commits are signed. Without a signature the
// commits are made all the same, with a warning.
func (m *Manager) applySigned(ctx context.Context, base string,
	cs []candidate) (top string, made map[string]string, at int, c *conflict, err error) {
	if m.signs && len(cs) > 0 {
		if err = m.trySigning(ctx); err == nil {
			picks := m.picks
			m.picks, m.signing = map[pick]string{}, true
			top, made, at, c, err = m.applyCandidates(ctx, base, cs)
			m.picks, m.signing = picks, false
		}
		if err == nil || context.Cause(ctx) != nil {
			return top, made, at, c, err
		}
		m.warn(fmt.Errorf("the integrated commits are not signed: %w", err))
	}
	return m.applyCandidates(ctx, base, cs)
}

// isSigned reports whether all commits of the run up to tip have signatures, or need none.
func (m *Manager) isSigned(ctx context.Context, tip string) (bool, error) {
	if !m.signs {
		return true, nil
	}
	raw, err := m.g.output(ctx, "log", "--no-color", "--no-show-signature", "--format=raw", m.state.Base+".."+tip)
	return strings.Count("\n"+raw, "\ncommit ") == strings.Count(raw, "\ngpgsig"), err
}
