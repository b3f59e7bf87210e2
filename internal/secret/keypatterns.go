package secret

// This file knows keys of common services by their form. The forms are those that the services
// document (2026-11). A fixed prefix, and the length and characters of the rest, distinguish each
// from ordinary text.

import (
	"bytes"
	"regexp"
	"slices"

	"wavex/internal/lazyregexp"
)

// keyPattern is one kind of key.
type keyPattern struct {
	what    string
	markers []string // every match contains one of them; a text without any is not searched
	re      func() *regexp.Regexp
	// group is the submatch that holds the secret; 0 means the whole match.
	group int
	// random requires digits and letters in the secret, for forms that would also match names
	// like sk-learn-and-so-on.
	random bool
}

var keyPatterns = [...]keyPattern{
	{what: "Anthropic key", markers: []string{"sk-ant-"}, re: lazyregexp.New(`sk-ant-[A-Za-z0-9_-]{16,}`)},
	{what: "API key", markers: []string{"sk-"}, re: lazyregexp.New(`sk-[A-Za-z0-9_-]{32,}`), random: true},
	{what: "Stripe key", markers: []string{"_live_"}, re: lazyregexp.New(`[sr]k_live_[A-Za-z0-9]{16,}`)},
	{what: "GitHub token", markers: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"},
		re: lazyregexp.New(`gh[pousr]_[A-Za-z0-9]{36,}`)},
	{what: "GitHub token", markers: []string{"github_pat_"}, re: lazyregexp.New(`github_pat_[A-Za-z0-9_]{22,}`)},
	{what: "GitLab token", markers: []string{"glpat-"}, re: lazyregexp.New(`glpat-[A-Za-z0-9_-]{20,}`)},
	{what: "AWS key id", markers: []string{"AKIA", "ASIA"}, re: lazyregexp.New(`A[KS]IA[A-Z0-9]{16}\b`)},
	{what: "Slack token", markers: []string{"xox"}, re: lazyregexp.New(`xox[abeoprs]-[A-Za-z0-9-]{10,}`)},
	{what: "Slack webhook", markers: []string{"hooks.slack.com"},
		re: lazyregexp.New(`hooks\.slack\.com/services/([A-Za-z0-9/_-]{20,})`), group: 1},
	{what: "Google key", markers: []string{"AIza"}, re: lazyregexp.New(`AIza[A-Za-z0-9_-]{35}`)},
	{what: "npm token", markers: []string{"npm_"}, re: lazyregexp.New(`npm_[A-Za-z0-9]{36}\b`)},
	{what: "JWT", markers: []string{"eyJ"}, re: lazyregexp.New(`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)},
	{what: "authorization", markers: []string{"uthorization", "UTHORIZATION"}, group: 1,
		re: lazyregexp.New(`(?i)authorization\\?["']?\s*[:=]\s*\\?["']?(?:bearer|basic|token)\s+([A-Za-z0-9._~+/=-]{12,})`)},
	{what: "password", markers: []string{"://"}, re: lazyregexp.New(`[a-z]+://[^\s:/@"'\\]{0,100}:([^\s/@"'\\]{3,200})@`),
		group: 1},
	{what: "private key", markers: []string{"PRIVATE KEY-----"},
		re: lazyregexp.New(`-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY-----([^"<>]*?)(?:-----END|["<>]|$)`), group: 1},
}

// span is the secret b[from:to].
type span struct {
	from, to int
	what     string
}

// find appends the spans of f's keys in b to all.
func (f *keyPattern) find(b []byte, all []span) []span {
	if !slices.ContainsFunc(f.markers, func(s string) bool { return bytes.Contains(b, []byte(s)) }) {
		return all
	}
	for _, m := range f.re().FindAllSubmatchIndex(b, -1) {
		from, to := m[2*f.group], m[2*f.group+1]
		if from == to || !startsWord(b, m[0]) || f.random && !looksRandom(b[from:to]) {
			continue
		}
		all = append(all, span{from, to, f.what})
	}
	return all
}

// startsWord reports whether a word may begin at b[i]: not after a letter or a digit, unless that is
// the end of a JSON escape sequence, as in "\\nghp_" or "\\u001bghp_".
func startsWord(b []byte, i int) bool {
	switch {
	case i == 0 || !isWordByte(b[i-1]):
		return true
	case i >= 2 && b[i-2] == '\\':
		return bytes.IndexByte([]byte("bfnrt"), b[i-1]) >= 0
	}
	return i >= 6 && b[i-6] == '\\' && b[i-5] == 'u'
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// looksRandom reports whether a text has at least four digits and a capital letter, as keys have and
// names do not.
func looksRandom(b []byte) bool {
	digits, capitals := 0, 0
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'A' && c <= 'Z':
			capitals++
		}
	}
	return digits >= 4 && capitals > 0
}
