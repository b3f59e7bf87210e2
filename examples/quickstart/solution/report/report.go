// Package report says which words of a text are the most frequent.
package report

import (
	"strconv"

	"tally/count"
	"tally/table"
	"tally/words"
)

// Of gives the n most frequent words of a text as a table.
func Of(text string, n int) string {
	var rows [][2]string
	for _, e := range count.Top(words.Split(text), n) {
		rows = append(rows, [2]string{e.Word, strconv.Itoa(e.N)})
	}
	return table.Render(rows)
}
