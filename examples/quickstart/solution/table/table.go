// Package table lays rows of text out in columns.
package table

import (
	"fmt"
	"strings"
)

// Render aligns the first column left and the second right.
func Render(rows [][2]string) string {
	var left, right int
	for _, r := range rows {
		left, right = max(left, len(r[0])), max(right, len(r[1]))
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%-*s  %*s\n", left, r[0], right, r[1])
	}
	return b.String()
}
