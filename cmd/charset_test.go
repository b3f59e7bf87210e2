package cmd

import (
	"bytes"
	"testing"
)

func TestUTF8Locale(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", true},
		{"", "", "en_US.UTF-8", true},
		{"", "", "C.utf8", true},
		{"", "", "C", false},
		{"POSIX", "", "en_US.UTF-8", false},
		{"", "de_DE.ISO-8859-1", "en_US.UTF-8", false},
		{"C.UTF-8", "C", "C", true},
		{"", "UTF-8", "C", true}, // as on macOS
	} {
		env := map[string]string{"LC_ALL": c.all, "LC_CTYPE": c.ctype, "LANG": c.lang}
		if got := utf8Locale(func(k string) string { return env[k] }); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	plain := func(string) string { return "C" }
	if asciiOnly(false, &bytes.Buffer{}, plain) || !asciiOnly(true, &bytes.Buffer{}, plain) {
		t.Error("what is no terminal does not go by the locale, but by what was said")
	}
}
