package textfmt

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file cuts text to a number of bytes, whole characters only, and joins the first items of a
// list. A cut at the end is marked by "...", and a cut in the middle by the number of missing bytes.

// Head returns at most n bytes from the front of s, without a mark.
func Head(s string, n int) string {
	if n >= len(s) {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// dropHead drops at least n bytes from the front of s.
func dropHead(s string, n int) string {
	n = min(n, len(s))
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return s[n:]
}

// Shorten returns s, or its head with "..." after it, at most n bytes together.
func Shorten(s string, n int) string {
	if len(s) <= n || n < 3 {
		return Head(s, n)
	}
	return Head(s, n-3) + "..."
}

// OneLine returns the words of s on one line of at most n bytes.
func OneLine(s string, n int) string {
	return Shorten(strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " "), n)
}

// Clip is like Plain, but returns at most n bytes. With a limit of 200 or less, as for subjects, the
// result is one line.
func Clip(s string, n int) string {
	if s = Plain(s); n <= 200 {
		return OneLine(s, n)
	}
	return Shorten(s, n)
}

// Plain returns s as valid UTF-8 without ANSI sequences and without control characters except
// newline and tab.
func Plain(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, ansiSequence().ReplaceAllString(s, ""))
}

// ClipMiddle shortens a text to n bytes, and a line about the missing ones, and keeps its head and its
// tail, because errors name their cause at one of the two ends.
func ClipMiddle(n int, s string) string {
	const lineMax = 32 // bytes of that line
	return HeadTail(strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD")), n+lineMax)
}

// HeadTail returns s, or its head and its tail with a line between them that says how much is
// missing, at most n bytes together; a limit below 80 only cuts. The tail gets the larger part,
// because tools print their verdict last.
func HeadTail(s string, n int) string {
	if len(s) <= n || n < 80 {
		return Head(s, n)
	}
	const mark = "\n[... %d bytes left out ...]\n"
	room := n - len(fmt.Sprintf(mark, len(s)))
	head := Head(s, room*2/5)
	tail := dropHead(s, len(s)-(room-len(head)))
	return head + fmt.Sprintf(mark, len(s)-len(head)-len(tail)) + tail
}

// FirstOf joins the first items of a list, and counts the others: "a, b and 3 more". more counts
// further items that are not in the list.
func FirstOf(items []string, most, more int) string {
	n := max(len(items)-most, 0) + more
	said := strings.Join(items[:min(len(items), most)], ", ")
	if n > 0 {
		said += fmt.Sprintf(" and %d more", n)
	}
	return said
}
