package secret

// This file decides by name which variables of an environment are secret, and lists the forms in
// which their values appear in texts.

import (
	"cmp"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// minSecret is the length in bytes of the shortest value that counts as a secret. A shorter one
// would appear in unrelated texts.
const minSecret = 8

// secretValue is a text to replace.
type secretValue struct {
	text []byte
	name string // of the variable
}

// secretWords lists words in the names of secret variables.
var secretWords = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "PWD", "CREDENTIAL",
	"CREDENTIALS",
	"APIKEY", "KEY", "AUTH", "PRIVATE", "COOKIE", "DSN", "WEBHOOK", "SIGNATURE", "PAT", "HEADERS"}

// IsSecret reports whether a variable counts as a secret: by a word of its name, and because its
// value can be one. Paths, sockets, plain words and short values are not secrets.
func IsSecret(name, val string) bool {
	words := strings.FieldsFunc(strings.ToUpper(name), func(c rune) bool { return c == '_' || c == '-' || c == '.' })
	if !slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains(secretWords, w) || strings.HasSuffix(w, "TOKEN") || strings.HasSuffix(w, "SECRET") ||
			strings.HasSuffix(w, "PASSWORD") || strings.HasSuffix(w, "APIKEY")
	}) {
		return false
	}
	if len(val) < minSecret || filepath.IsAbs(val) && !isBase64Key(val) {
		return false
	}
	// "anything" is a word; "hunter22" and "correct-horse-battery" are not.
	return len(val) >= 16 || strings.ContainsFunc(val, func(c rune) bool { return !unicode.IsLetter(c) })
}

// isBase64Key reports whether a text that may be a path is a key instead: one of 64 keys in base64 begins with a slash.
// A path begins with a folder that exists.
func isBase64Key(val string) bool {
	if len(val) < 32 || !looksLike([]byte(val), []string{"random"}) || strings.ContainsFunc(val, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("+/=", c)
	}) {
		return false
	}
	top, _, _ := strings.Cut(val[1:], "/")
	_, err := os.Lstat("/" + top)
	return err != nil
}

// secretValues returns the texts to look for, longest first, so that a value that contains another one
// is replaced as a whole.
func secretValues(environ []string) []secretValue {
	var out []secretValue
	add := func(name, text string) {
		if len(text) >= minSecret && !slices.ContainsFunc(out, func(v secretValue) bool { return string(v.text) == text }) {
			out = append(out, secretValue{[]byte(text), name})
		}
	}
	for _, kv := range environ {
		name, val, ok := strings.Cut(kv, "=")
		val = strings.TrimSpace(val)
		if !ok || !IsSecret(name, val) {
			continue
		}
		add(name, val)
		escaped, _ := json.Marshal(val) // strings can be encoded
		add(name, string(escaped[1:len(escaped)-1]))
		if plain, err := jsontext.AppendQuote(nil, val); err == nil { // without escapes of HTML
			add(name, string(plain[1:len(plain)-1]))
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
	slices.SortStableFunc(out, func(x, y secretValue) int { return cmp.Compare(len(y.text), len(x.text)) })
	return out
}
