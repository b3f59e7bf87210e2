package gitwork

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var signatureKinds = []kind{
	{name: "`commit.gpgSign`, key without a passphrase, or unlocked",
		note: "the commits of attempts are not signed, which the run says; the delivered ones are",
		says: "commit.gpgSign: attempts do not sign their commits; the delivered ones are signed", check: signed,
		make: func(r *repo) { r.gpg(true); r.config("commit.gpgSign true") }},
	{name: "`commit.gpgSign`, key that asks for a passphrase",
		note: "said; the work stays on `wavex/RUN`, with the command that signs and merges it",
		way:  "branch", check: signedLater,
		says: "signing needs a person, or fails: gpg --batch: gpg: signing failed: No pinentry",
		make: func(r *repo) { r.gpg(false); r.config("commit.gpgSign true") }},
	{name: "`commit.gpgSign`, key or gpg missing", note: "likewise", way: "branch", check: signedLater,
		says: "signing needs a person, or fails",
		make: func(r *repo) { r.config("commit.gpgSign true", "gpg.program gpg-of-another-machine") }},
	{name: "`gpg.format` ssh", note: "as with gpg; a key with a passphrase needs ssh-agent", check: signed,
		says: "the delivered ones are signed", make: func(r *repo) {
			r.tool("ssh-keygen", `for file; do :; done; echo "-----BEGIN SSH SIGNATURE-----" >"$file.sig"`)
			r.write(r.home(), files{"key": "private\n"})
			r.config("commit.gpgSign true", "gpg.format ssh", "user.signingKey "+r.home()+"/key")
		}},
	{name: "`commit.gpgSign` with `color.ui` always", note: "as without colors", check: signed,
		make: func(r *repo) { r.gpg(true); r.config("commit.gpgSign true", "color.ui always") }},
	{name: "`gpg.openpgp.program`", note: "as `gpg.program`", check: signed, make: func(r *repo) {
		r.gpg(true)
		bin := filepath.Join(filepath.Dir(r.dir), "bin")
		must(r.t, os.Rename(filepath.Join(bin, "gpg"), filepath.Join(bin, "gpg2")))
		r.config("commit.gpgSign true", "gpg.openpgp.program gpg2")
	}},
	{name: "`gpg.ssh.program` ssh-keygen.exe", note: "as ssh-keygen", check: signed, make: func(r *repo) {
		r.tool("ssh-keygen.exe", `for file; do :; done; echo "-----BEGIN SSH SIGNATURE-----" >"$file.sig"`)
		r.write(r.home(), files{"key": "private\n"})
		r.config("commit.gpgSign true", "gpg.format ssh", "gpg.ssh.program ssh-keygen.exe",
			"user.signingKey "+r.home()+"/key")
	}},
	{name: "`tag.gpgSign`", note: "wavex makes no tags", make: func(r *repo) { r.config("tag.gpgSign true") }},
}

// gpg makes a gpg whose key can be used, or needs a person.
func (r *repo) gpg(works bool) {
	r.t.Helper()
	text := `case "$*" in *"pinentry-mode error"*) exit 0;; esac
cat >/dev/null
echo "[GNUPG:] SIG_CREATED D 1 8 00 1 KEY" >&2
echo "-----BEGIN PGP SIGNATURE-----"; echo; echo test; echo "-----END PGP SIGNATURE-----"`
	if !works {
		text = `case "$*" in *"pinentry-mode error"*) echo "gpg: signing failed: No pinentry" >&2; exit 2;; esac
echo "asked a person" >>'` + r.log() + `'; exit 2`
	}
	r.tool("gpg", text)
}

// signed checks that the delivered commits have signatures, and those of attempts none.
func signed(r *repo, _ *Manager) {
	r.t.Helper()
	for rev, want := range map[string]bool{"HEAD": true, "HEAD~1": true, "refs/wavex/r1/x": false} {
		if has := strings.Contains(r.git("cat-file", "commit", rev), "\ngpgsig"); has != want {
			r.t.Errorf("%s has a signature: %t, want %t", rev, has, want)
		}
	}
}

// signedLater checks that no person was asked, and that the printed command signs and delivers.
func signedLater(r *repo, m *Manager) {
	r.t.Helper()
	if strings.Contains(r.logged(), "asked a person") {
		r.t.Error("a person was asked for a signature")
	}
	d := r.deliver(m, Auto)
	if !strings.Contains(d.Why, "not signed") {
		r.t.Errorf("it says %q", d.Why)
	}
	r.gpg(true)
	_, _ = r.tryGit(r.dir, "config", "--unset", "gpg.program") // if it names a missing one
	shell := exec.Command("sh", "-c", d.Command)
	shell.Dir, shell.Env = r.dir, r.env
	if out, err := shell.CombinedOutput(); err != nil {
		r.t.Fatalf("%s: %v\n%s", d.Command, err, out)
	}
	equal(r.t, "delivered", r.git("show", "HEAD:by x"), "x")
	signed(r, m)
}
