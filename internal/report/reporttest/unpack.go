package reporttest

import (
	"compress/flate"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// packed matches the compressed details of a task.
var packed = regexp.MustCompile(`(<script type="application/json" id="d\d+">)"([A-Za-z0-9+/=]*)"(</script>)`)

// Unpack returns an HTML report with its compressed parts as the JSON that they are.
func Unpack(html string) (string, error) {
	var failed error
	out := packed.ReplaceAllStringFunc(html, func(block string) string {
		m := packed.FindStringSubmatch(block)
		data, err := io.ReadAll(flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(m[2]))))
		if err != nil {
			failed = fmt.Errorf("a compressed part of the page: %w", err)
		}
		return m[1] + string(data) + m[3]
	})
	return out, failed
}
