package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
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
// checks printed. Both are normalised, and the order of independent lines does not count. A check
// that printed nothing does not tell two attempts apart; then the changes are part of the digest.
func (f failure) signature(n normaliser) string {
	if f.reason == "" && f.detail == "" && len(f.checks) == 0 {
		return ""
	}
	h := sha256.New()
	reason := strings.Join(n.lines(f.reason), " ")
	if len(f.checks) == 0 {
		fmt.Fprintf(h, "%q\n%s", reason, canonical(n.lines(f.detail), 0))
	}
	silent := false
	for _, c := range f.checks {
		text := canonical(n.lines(c.Whole), 0)
		silent = silent || text == ""
		fmt.Fprintf(h, "%q %q\n%s", strings.Join(n.lines(c.Check), " "), c.Reason, text)
	}
	if silent && f.changes != nil {
		fmt.Fprintf(h, "%q", f.changes())
	}
	return textfmt.OneLine(reason, 120) + " #" + hex.EncodeToString(h.Sum(nil)[:8])
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

// maxDepth bounds the depth of the blocks of canonical, and with it its time.
const maxDepth = 6

// canonical returns normalised lines in an order that does not depend on the order of parallel tests and jobs. An
// indented line belongs to the line above that is less indented, as the text of a test does; lines with their own text
// are sorted, as are all lines at the depth 0. A list of indented lines keeps its order, which may be a value.
func canonical(lines []string, depth int) string {
	var leaves strings.Builder
	var blocks []string
	for n := 1; len(lines) > 0; lines, n = lines[n:], 1 {
		for depth < maxDepth-1 && n < len(lines) && lineLevel(lines[n]) > lineLevel(lines[0]) {
			n++
		}
		text := strings.Repeat(" ", depth) + strings.TrimSpace(lines[0]) + "\n"
		if n == 1 && depth > 0 {
			leaves.WriteString(text)
		} else {
			blocks = append(blocks, text+canonical(lines[1:n], depth+1))
		}
	}
	slices.Sort(blocks)
	return leaves.String() + strings.Join(blocks, "")
}

// lineLevel returns the indentation of a line. A line of a diff, a list or a quotation belongs to the line above, and
// so does quoted source, whose indentation has no end.
func lineLevel(line string) int {
	text := strings.TrimLeft(line, " \t")
	switch indent := len(line) - len(text); {
	case strings.HasPrefix(text, "|") || strings.HasPrefix(text, ">|"):
		return math.MaxInt
	case indent > 0:
		return 1 + indent
	case strings.HasPrefix(text, "--") || strings.HasPrefix(text, "++"):
		return 0
	case strings.IndexByte("<>+*!-", text[0]) >= 0 || len(text) > 3 && text[1:4] == "   ":
		return 1
	}
	return 0
}
