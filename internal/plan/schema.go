package plan

// This file publishes the schema for editors. The decoder does not use it: the decoder has more
// rules (ids, edges, files) and reports positions. A test compares the two.

import _ "embed"

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (2020-12) of plan files. The caller may keep the bytes.
func Schema() []byte { return append([]byte(nil), schema...) }
