// Command tally prints the ten most frequent words of its input.
package main

import (
	"fmt"
	"io"
	"os"

	"tally/report"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
	fmt.Print(report.Of(string(text), 10))
}
