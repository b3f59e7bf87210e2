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

// This file reads the JSON object of a task. It does not know the fields of a task.

func quoteJSONList(list []string) jsontext.Value {
	quoted := make([][]byte, len(list))
	for i, s := range list {
		quoted[i] = jsonobject.Quote(s)
	}
	return slices.Concat([]byte("["), bytes.Join(quoted, []byte(",")), []byte("]"))
}

// parseObject reads the object in src. It refuses repeated names: it is unclear which value counts.
func parseObject(src []byte) (jsonobject.Object, error) {
	o, err := jsonobject.Parse(src)
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return o, nil
	case errors.Is(err, jsonobject.ErrNotObject):
		return nil, &FileError{Code: "wrong-type", Text: "expected an object"}
	case errors.Is(err, jsonobject.ErrMore):
		return nil, &FileError{Code: "syntax", Text: "there is more after the end of the task", MaybePartial: true}
	case errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF): // its text may quote a name
		return nil, &FileError{Code: "syntax", Text: textfmt.Shorten("no JSON: "+syntax.Err.Error(), 200), MaybePartial: true}
	}
	return nil, &FileError{Code: "syntax", Text: "the file ends in the middle of the task", MaybePartial: true}
}
