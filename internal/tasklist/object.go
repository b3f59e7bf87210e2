package tasklist

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"wavex/internal/jsonobject"
	"wavex/internal/textfmt"
)

// This file reads the JSON object of a task with the positions of mistakes. It does not know the
// fields of a task.

func quoteJSONList(list []string) jsontext.Value {
	quoted := make([][]byte, len(list))
	for i, s := range list {
		quoted[i] = jsonobject.Quote(s)
	}
	return slices.Concat([]byte("["), bytes.Join(quoted, []byte(",")), []byte("]"))
}

// parseObject reads the object in src. It adds base to all offsets. It refuses repeated names: it is
// unclear which value counts.
func parseObject(src []byte, base int) (jsonobject.Object, error) {
	o, end, err := jsonobject.Parse(src)
	switch {
	case errors.Is(err, jsonobject.ErrNotObject):
		return nil, &FileError{At: base, Code: "wrong-type", Text: "expected an object"}
	case errors.Is(err, jsonobject.ErrMore):
		return nil, &FileError{At: base + end, Code: "syntax", Text: "there is more after the end of the task",
			MaybePartial: true}
	case err != nil:
		return nil, syntaxProblem(err, len(src), base)
	}
	for i := range o {
		o[i].At += base
	}
	return o, nil
}

func syntaxProblem(err error, size, base int) *FileError {
	m := &FileError{At: base, Code: "syntax", Text: "the file ends in the middle of the task", MaybePartial: true}
	var s *jsontext.SyntacticError
	if errors.As(err, &s) {
		m.At = base + min(int(s.ByteOffset), size)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			m.Text = textfmt.Shorten("no JSON: "+s.Err.Error(), 200) // it may quote a name
		}
	}
	return m
}
