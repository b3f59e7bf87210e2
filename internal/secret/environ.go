package secret

// This file decides by name which variables of an environment are secret, and lists the forms in
// which their values appear in texts.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// shortest is the length in bytes of the shortest value that counts as a secret. A shorter one
// would appear in unrelated texts.
const shortest = 8

// value is a text to replace.
type value struct {
	text []byte
	name string // of the variable
}

// telling lists words in the names of secret variables.
var telling = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "PWD", "CREDENTIAL",
	"CREDENTIALS",
	"APIKEY", "KEY", "AUTH", "PRIVATE", "COOKIE", "DSN", "WEBHOOK", "SIGNATURE", "PAT", "HEADERS"}

// Secret reports whether a variable counts as a secret: by a word of its name, and because its
// value can be one. Paths, sockets, plain words and short values are not secrets.
func Secret(name, val string) bool {
	words := strings.FieldsFunc(strings.ToUpper(name), func(c rune) bool { return c == '_' || c == '-' || c == '.' })
	if !slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains(telling, w) || strings.HasSuffix(w, "TOKEN") || strings.HasSuffix(w, "SECRET") ||
			strings.HasSuffix(w, "PASSWORD") || strings.HasSuffix(w, "APIKEY")
	}) {
		return false
	}
	if len(val) < shortest || filepath.IsAbs(val) {
		return false
	}
	// "anything" is a word; "hunter22" and "correct-horse-battery" are not.
	return len(val) >= 16 || strings.ContainsFunc(val, func(c rune) bool { return !unicode.IsLetter(c) })
}

// values returns the texts to look for, longest first, so that a value that contains another one
// is replaced as a whole.
func values(environ []string) []value {
	var out []value
	add := func(name, text string) {
		if len(text) >= shortest && !slices.ContainsFunc(out, func(v value) bool { return string(v.text) == text }) {
			out = append(out, value{[]byte(text), name})
		}
	}
	for _, kv := range environ {
		name, val, ok := strings.Cut(kv, "=")
		val = strings.TrimSpace(val)
		if !ok || !Secret(name, val) {
			continue
		}
		add(name, val)
		for _, escape := range []bool{true, false} {
			add(name, inJSON(val, escape))
		}
		add(name, url.QueryEscape(val))
		add(name, url.PathEscape(val))
		if strings.Contains(val, "\n") { // a key file: its lines appear one by one
			for line := range strings.Lines(val) {
				if line = strings.TrimSpace(line); len(line) >= 16 && !strings.HasPrefix(line, "-----") {
					add(name, line)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(x, y value) int { return cmp.Compare(len(y.text), len(x.text)) })
	return out
}

// inJSON returns a text as it appears between the quotes of a JSON string.
func inJSON(s string, escapeHTML bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if e.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}
