package plan

// This file publishes the schema for editors. The decoder does not use it: it knows
// more (ids, edges, files) and says it with places. A test keeps the two together.

import _ "embed"

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (2020-12) of plan files, as JSON. The caller may keep the bytes.
func Schema() []byte { return append([]byte(nil), schema...) }
