package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"wavex/internal/check"
	"wavex/internal/safefile"
	"wavex/internal/textfmt"
)

// failure is what identifies the error of an attempt.
type failure struct {
	reason, detail string
	checks         []check.Evidence // with Whole; if any, they identify it, and detail does not
	changes        func() string    // identifies the changes of the attempt; called only if a check printed nothing
}

// Signature identifies an error that no check reports. Equal signatures mean "the same error".
// It returns "" if there is no error.
func Signature(reason, detail string) string {
	return failure{reason: reason, detail: detail}.signature(normaliser{})
}

// signature returns the start of the reason, and a digest of the reason and of all that the failed
// checks printed, both normalised. A check that printed nothing does not tell two attempts apart;
// then the changes are part of the digest.
func (f failure) signature(n normaliser) string {
	if f.reason == "" && f.detail == "" && len(f.checks) == 0 {
		return ""
	}
	h := sha256.New()
	reason := strings.Join(n.lines(f.reason), " ")
	if len(f.checks) == 0 {
		fmt.Fprintf(h, "%q\n%s", reason, n.text(f.detail))
	}
	silent := false
	for _, c := range f.checks {
		text := n.text(c.Whole)
		silent = silent || text == ""
		fmt.Fprintf(h, "%q %q\n%s", strings.Join(n.lines(c.Check), " "), c.Reason, text)
	}
	if silent && f.changes != nil {
		fmt.Fprintf(h, "%q", f.changes())
	}
	return textfmt.OneLine(reason, 120) + " #" + hex.EncodeToString(h.Sum(nil)[:8])
}

// text returns the normalised lines of an output as one text.
func (n normaliser) text(output string) string {
	var b strings.Builder
	for _, line := range n.lines(output) {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// fileDigest is FileDigest without the roots in a text of up to 1 MiB.
func (n normaliser) fileDigest(dir, path string) string {
	text, err := safefile.Read(absolute(dir, path), check.MaxOutput)
	if err != nil {
		return FileDigest(dir, path)
	}
	sum := sha256.Sum256([]byte(n.cutRoots(string(text))))
	return hex.EncodeToString(sum[:])
}
