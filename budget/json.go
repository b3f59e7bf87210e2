package budget

// This file encodes a ledger in JSON.

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ledgerJSON is a Ledger in JSON: integers, money in micro-dollars, holds sorted by key.
type ledgerJSON struct {
	Limits       Limits        `json:"limits"`
	Spent        USD           `json:"spent"`
	Charged      int           `json:"charged"`
	Tokens       int64         `json:"tokens"`
	Reservations []reservation `json:"held,omitempty"`
}

// MarshalJSON encodes the whole ledger. Equal ledgers have equal encodings.
func (l Ledger) MarshalJSON() ([]byte, error) {
	return json.Marshal(ledgerJSON{l.limits, l.spent, l.charged, l.tokens, l.reservations})
}

// UnmarshalJSON decodes the output of MarshalJSON. Negative amounts, and keys that are duplicate or
// not sorted, are errors. On an error the ledger is unchanged.
func (l *Ledger) UnmarshalJSON(data []byte) error {
	var w ledgerJSON
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("reading a ledger: %w", err)
	}
	if w.Limits != w.Limits.normal() || w.Spent < 0 || w.Charged < 0 || w.Tokens < 0 {
		return errors.New("reading a ledger: a figure is negative")
	}
	for i, h := range w.Reservations {
		if h.USD < 0 {
			return fmt.Errorf("reading a ledger: %q holds a negative amount", h.Key)
		}
		if i > 0 && w.Reservations[i-1].Key >= h.Key {
			return fmt.Errorf("reading a ledger: %q is out of order, or held twice", h.Key)
		}
	}
	if len(w.Reservations) == 0 {
		w.Reservations = nil
	}
	*l = Ledger{w.Limits, w.Spent, w.Charged, w.Tokens, w.Reservations}
	return nil
}
