package budget

import (
	"errors"
	"strings"
	"testing"
)

// Each error in a price table has its position.
func TestPriceErrorsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	const rates = `"input":1,"output":1,"cache_read":1,"cache_write":1`
	for text, want := range map[string]string{
		"{\n  \"modles\": {}\n}":                                              `2:3: unknown field "modles"`,
		"{\"models\": {\n  \"a\": {\"input\": 1}\n}}":                         `2:3: model "a": output is missing`,
		"{\"models\": {\n  \"a\": {\n    \"input\": -1}\n}}":                  `3:14: model "a": input: must be at least 0`,
		"{\"models\":\n  {\"a\": {\"inputs\": 1}}}":                           `2:10: model "a": unknown field "inputs"`,
		"{\"models\": {\"a\": {\"input\":\n1.5}}}":                            `2:1: model "a": input: want a whole number, not 1.5`,
		"{\"models\": {\"a\": {\"input\": 99999999999999999999}}}":            `1:28: model "a": input: want a whole number`,
		"{\"models\": []}":                                                    `1:12: models: want an object, not [`,
		"{\"models\": {\"a\": null}}":                                         `1:18: model "a": want an object, not null`,
		"[]":                                                                  `1:1: want an object, not [`,
		"{\"date\": 1}":                                                       `1:10: date: want a text, not 1`,
		"{\"date\": \"soon\"}":                                                `1:10: the date "soon" is not`,
		"{\"unit\": \"euro\"}":                                                `1:10: the unit is "euro"`,
		"{\"models\": {\"a\": {" + rates + "},\n\"a\": {}}}":                  `2:1: models: "a" comes twice`,
		"{\"models\": {\"a\": {" + rates + ",\n\"input\": 2}}}":               `2:1: model "a": "input" comes twice`,
		"{\"models\": {\"a\": {" + rates + ",\n \"long\": {" + rates + "}}}}": `2:2: model "a", long: above is missing`,
		"{\"models\": {\"a\": {" + rates + ",\n \"long\": {" + rates +
			",\"above\": 0}}}}": `2:72: model "a", long: above: must be at least 1`,
		"{\"models\": {\"a\": {" + rates + ",\n \"long\": {" + rates +
			",\"below\": 10}}}}": `model "a", long: unknown field "below"`,
		"{\"models\": {\"a\": {" + rates + ",\n \"long\": {" + rates +
			",\n\"above\": 1.5}}}}": `3:10: model "a", long: above: want a whole number, not 1.5`,
		"{}\n {}":                               `2:2: something follows`,
		"{\n\"date\":":                          `2:8: unexpected EOF`,
		"{\"date\" \"x\"}":                      `1:9: `,
		"{\"models\": {\n}}}":                   `2:3: something follows`,
		"{\"date\": tomorrow}":                  `1:10: invalid character`,
		"{\"unit\": euro}":                      `1:10: invalid character`,
		"{\"models\": {\"a\": {\"input\": x}}}": `1:28: invalid character`,
		"tomorrow":                              `1:2: invalid character`,
	} {
		_, err := LoadPrices([]byte(text))
		var e *PriceError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n  says %v\n  want %s", text, err, want)
		}
	}
}

func FuzzPriceErrors(f *testing.F) {
	f.Add([]byte(embeddedPrices))
	f.Add([]byte(`{"models":{"a":{"input":1,"long":{"above":5}}}}`))
	f.Add([]byte("{\n\"date\":"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := LoadPrices(data)
		if err == nil {
			if len(p.models) == 0 {
				t.Error("the embedded prices are gone")
			}
			return
		}
		var e *PriceError
		if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 || e.Line > strings.Count(string(data), "\n")+1 ||
			p.models != nil {
			t.Errorf("%#v", err)
		}
	})
}
