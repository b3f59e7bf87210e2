package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"wavex/budget"
)

// This file formats figures for people, the same in every view.

// FormatDuration formats a duration: "400ms", "1.5s", "12s", "3m12s", "2h05m".
func FormatDuration(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < 9950*time.Millisecond:
		return d.Round(100 * time.Millisecond).String()
	case d < 59500*time.Millisecond:
		return d.Round(time.Second).String()
	case d < time.Hour-500*time.Millisecond:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// FormatTokens formats a count of tokens: "950", "12.3k", "4.5M".
func FormatTokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 999_950:
		return strings.Replace(fmt.Sprintf("%.1fk", float64(n)/1e3), ".0k", "k", 1)
	}
	return strings.Replace(fmt.Sprintf("%.1fM", float64(n)/1e6), ".0M", "M", 1)
}

// FormatSpent formats the spent part of a budget: "$2.50/$25", or "$2.50/none" without a limit. It does not round an
// amount to the limit: "$0.1224/$0.12".
func FormatSpent(spent budget.USD, l budget.Limits) string {
	text := spent.Spent()
	const cent = budget.Dollar / 100
	if !l.NoUSD && spent > 0 && spent != l.USD && (spent+cent/2)/cent == (l.USD+cent/2)/cent {
		text = fmt.Sprintf("$%.4f", spent.Float())
	}
	return text + "/" + FormatBudget(l)
}

// FormatNotional is like Money and marks money that is not billed: "$2.50/none (notional)".
func FormatNotional(spent budget.USD, l budget.Limits, notional bool) string {
	if notional {
		return FormatSpent(spent, l) + " (notional)"
	}
	return FormatSpent(spent, l)
}

// FormatBudget formats the limit alone.
func FormatBudget(l budget.Limits) string {
	if l.NoUSD {
		return "none"
	}
	return l.USD.String()
}

// FormatIterations formats "5/25", or "5/unlimited".
func FormatIterations(n int, l budget.Limits) string {
	if l.NoIterations {
		return fmt.Sprintf("%d/unlimited", n)
	}
	return fmt.Sprintf("%d/%d", n, l.Iterations)
}

// Plural formats "1 task", "2 tasks".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// DisplayID returns a task's id for lists: "T-001" for an id that is a number, as in other tools'
// lists; any other id unchanged.
func DisplayID(id string) string {
	digits := id
	if len(id) > 1 && (id[0] == 'T' || id[0] == 't') {
		digits = strings.TrimPrefix(id[1:], "-")
	}
	if n, err := strconv.ParseUint(digits, 10, 32); err == nil && digits[0] != '+' {
		return fmt.Sprintf("T-%03d", n)
	}
	return id
}
