package textfmt

import (
	"fmt"
	"strings"
)

// omissionRoom is reserved for the mark between head and tail.
const omissionRoom = 48

// Excerpt is a writer that keeps the head and the tail of its input, at most Max bytes together
// with the mark between them. It never fails and never blocks, so a writer of a gigabyte is read
// to the end. It is not safe for concurrent use. The zero value keeps 2 KB.
type Excerpt struct {
	Max int // bytes; 0 means 2048

	head  []byte
	tail  []byte // of the rest; it ends with the kept bytes
	total int64
}

func (e *Excerpt) max() int {
	if e.Max <= 0 {
		return 2048
	}
	return max(e.Max, 2*omissionRoom)
}

// Write accepts all of b.
func (e *Excerpt) Write(b []byte) (int, error) {
	n, half := len(b), e.max()/2
	e.total += int64(n)
	k := min(half-len(e.head), n)
	e.head = append(e.head, b[:k]...)
	room := e.max() - half
	b = b[max(k, n-room):]
	if len(e.tail)+len(b) > 2*room {
		e.tail = e.tail[:copy(e.tail, e.tail[len(e.tail)+len(b)-room:])]
	}
	e.tail = append(e.tail, b...)
	return n, nil
}

// String returns the kept bytes as valid UTF-8 without trailing blanks: all of the input if it
// fits, or else head, a mark with the number of missing bytes, and tail.
func (e *Excerpt) String() string {
	tail := string(e.tail[max(0, len(e.tail)-(e.max()-e.max()/2)):])
	if e.total <= int64(e.max()) {
		return clean(string(e.head)+tail, e.max())
	}
	head := cutBackAtWord(string(e.head), len(e.head)-omissionRoom/2)
	tail = cutFrontAtWord(tail, omissionRoom/2)
	head, tail = clean(head, len(head)), clean(tail, len(tail))
	return head + fmt.Sprintf("\n... %d bytes left out ...\n", e.total-int64(len(head)+len(tail))) + tail
}

// ExcerptOf returns s as an Excerpt of at most n bytes prints it.
func ExcerptOf(s string, n int) string {
	e := Excerpt{Max: n}
	_, _ = e.Write([]byte(s))
	return e.String()
}

// longWord is the largest distance, in bytes, by which a cut moves to a word boundary: half a key
// is not recognised as a secret, and half a path is useless. Longer words are cut.
const longWord = 256

const blanks = " \t\r\n"

// cutBackAtWord is Head without a partial word at the end.
func cutBackAtWord(s string, n int) string {
	cut := Head(s, n)
	if len(cut) < len(s) && strings.IndexByte(blanks, s[len(cut)]) >= 0 {
		return cut
	}
	if k := strings.LastIndexAny(cut, blanks); k >= len(cut)-min(longWord, len(cut)/2) {
		return cut[:max(k, 0)]
	}
	return cut
}

// cutFrontAtWord is dropHead without a partial word at the start.
func cutFrontAtWord(s string, n int) string {
	cut := dropHead(s, n)
	if k := len(s) - len(cut); k > 0 && strings.IndexByte(blanks, s[k-1]) >= 0 {
		return cut
	}
	if k := strings.IndexAny(cut, blanks); k >= 0 && k < min(longWord, len(cut)/2) {
		return cut[k+1:]
	}
	return cut
}

// clean returns s as valid UTF-8 of at most n bytes, with plain line ends.
func clean(s string, n int) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", "\n"), "?")
	return strings.TrimRight(Head(s, n), " \t\r\n")
}
