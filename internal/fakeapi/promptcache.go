package fakeapi

import (
	"encoding/json"
	"strconv"
)

// This file models the provider's prompt cache. The cache reads tools, system and messages, in
// this order. It keeps each part that a request marks (cache_control), with everything before it,
// and serves a later request the longest such prefix that it shares
// (https://docs.claude.com/en/docs/build-with-claude/prompt-caching). Lifetimes, minimal lengths
// and prices are not modelled.

// Part is one tool, or one block of the system prompt or of a message.
type Part struct {
	Name        string // "tool Bash", "system 2", "message 0.3"
	JSON        string // in canonical form, without the mark
	CacheMarked bool
}

// Parts returns the request's parts in the order in which the cache reads them.
func (r *Request) Parts() []Part {
	var m struct {
		Tools    []json.RawMessage `json:"tools"`
		System   json.RawMessage   `json:"system"`
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(r.Body, &m) != nil {
		return nil
	}
	var parts []Part
	for _, t := range m.Tools {
		p := part("", t)
		p.Name = "tool " + toolName(t)
		parts = append(parts, p)
	}
	parts = append(parts, blocks("system ", m.System)...)
	for i, t := range m.Messages {
		parts = append(parts, blocks("message "+strconv.Itoa(i)+".", t.Content)...)
	}
	return parts
}

// CachedBytes returns the number of bytes of the request that the cache would serve if it had seen only
// before, and the name of the first part that differs ("" if none does).
func (r *Request) CachedBytes(before *Request) (bytes int, differs string) {
	had := before.Parts()
	sum := 0
	for i, p := range r.Parts() {
		if i >= len(had) || had[i].JSON != p.JSON {
			return bytes, p.Name
		}
		if sum += len(p.JSON); had[i].CacheMarked {
			bytes = sum
		}
	}
	return bytes, ""
}

func blocks(name string, content json.RawMessage) []Part {
	var list []json.RawMessage
	if json.Unmarshal(content, &list) != nil {
		list = []json.RawMessage{content} // a string is a single block
	}
	var parts []Part
	for i, b := range list {
		if len(b) > 0 {
			parts = append(parts, part(name+strconv.Itoa(i), b))
		}
	}
	return parts
}

func part(name string, raw json.RawMessage) Part {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return Part{Name: name, JSON: string(raw)}
	}
	_, marked := fields["cache_control"]
	delete(fields, "cache_control")
	text, err := json.Marshal(fields) // keys in order
	if err != nil {
		text = raw
	}
	return Part{Name: name, JSON: string(text), CacheMarked: marked}
}

func toolName(raw json.RawMessage) string {
	var t tool
	_ = json.Unmarshal(raw, &t) // a tool without a name has none
	return t.Name
}
