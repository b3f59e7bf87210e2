package budget

// This file is the ledger's form in JSON. It knows no file.

import (
	"encoding/json"
	"errors"
	"fmt"
)

// wire is a Ledger as JSON: integers, money in micro-dollars, holds sorted by key.
type wire struct {
	Limits  Limits `json:"limits"`
	Spent   USD    `json:"spent"`
	Charged int    `json:"charged"`
	Tokens  int64  `json:"tokens"`
	Held    []hold `json:"held,omitempty"`
}

// MarshalJSON writes the whole ledger; equal ledgers give equal bytes.
func (l Ledger) MarshalJSON() ([]byte, error) {
	return json.Marshal(wire{l.limits, l.spent, l.charged, l.tokens, l.held})
}

// UnmarshalJSON reads what MarshalJSON wrote. It refuses negative figures, and keys
// that are out of order or held twice. On an error the ledger is as it was.
func (l *Ledger) UnmarshalJSON(data []byte) error {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("reading a ledger: %w", err)
	}
	if w.Limits != w.Limits.normal() || w.Spent < 0 || w.Charged < 0 || w.Tokens < 0 {
		return errors.New("reading a ledger: a figure is negative")
	}
	for i, h := range w.Held {
		if h.USD < 0 {
			return fmt.Errorf("reading a ledger: %q holds a negative amount", h.Key)
		}
		if i > 0 && w.Held[i-1].Key >= h.Key {
			return fmt.Errorf("reading a ledger: %q is out of order, or held twice", h.Key)
		}
	}
	if len(w.Held) == 0 {
		w.Held = nil
	}
	*l = Ledger{w.Limits, w.Spent, w.Charged, w.Tokens, w.Held}
	return nil
}
