// Package page renders the report of a run as one HTML file that needs no network: the verdict, the
// graph, the timeline, the money, and each attempt with its prompt, its edits, its checks and the
// advice after it, and serves it while the run is under way. It derives its data from the state, the
// journal's events and the files of the attempts; it decides nothing.
//
// All text from a plan, an agent or a check is data in JSON. The page's own script shows it as
// text, never as markup. A content security policy allows only this script and these styles, by
// their digests.
package page

import (
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"wavex/internal/textfmt"
)

//go:embed assets
var assets embed.FS

// scripts lists the parts of the page's script, in order.
var scripts = []string{"dom", "words", "lists", "graph", "time", "money", "list", "detail", "now", "main"}

// maxText bounds, in bytes, the details of a page together. Beyond it, prompts and edits are left
// out, and the page says so.
const maxText = 48 << 20

// Write writes the page of a run with all its details inside. Without details, as for a run under way, the page
// requests them, and news, at addresses below its own (see package web). redact, which may be nil, removes secrets from
// the details; it gets them before they are compressed, since afterwards no secret is found in them. Write returns the
// errors of w, or an error for a defect in the page itself.
func Write(w io.Writer, r *Run, d *Details, redact func([]byte) []byte) error {
	script, style, err := scriptAndStyle()
	if err != nil {
		return err
	}
	data, err := Encode(r)
	if err != nil {
		return err
	}
	t, err := template.ParseFS(assets, "assets/page.html")
	if err != nil {
		return fmt.Errorf("reading the page's template: %w", err)
	}
	head := struct {
		Title, Status, Policy string
		Style                 template.CSS
		Data                  template.JS
	}{textfmt.Line(cmp.Or(r.Name, r.Run)), string(r.Status), contentPolicy(script, style, r.Live), template.CSS(style),
		template.JS(data)} //nolint:gosec // our own, and escaped
	if err := t.ExecuteTemplate(w, "head", head); err != nil {
		return err
	}
	size := 0
	for i := 0; d != nil && i < len(r.Tasks); i++ {
		b, err := Encode(d.Task(i, size < maxText))
		if err != nil {
			return err
		}
		size += len(b)
		if redact != nil {
			b = redact(b)
		}
		if b, err = deflated(b); err != nil {
			return err
		}
		detail := struct {
			I    int
			Data template.JS
		}{i, template.JS(b)} //nolint:gosec // JSON with <, > and & escaped
		if err := t.ExecuteTemplate(w, "detail", detail); err != nil {
			return err
		}
	}
	return t.ExecuteTemplate(w, "foot", template.JS(script)) //nolint:gosec // our own
}

// deflated returns a part of the page's data as a JSON string: compressed (RFC 1951), in base64. The page's script
// reads it when the task is opened. Prompts repeat much, so that a page becomes several times smaller.
func deflated(data []byte) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('"')
	text := base64.NewEncoder(base64.StdEncoding, &b)
	w, err := flate.NewWriter(text, flate.DefaultCompression)
	if err == nil {
		_, err = w.Write(data)
		err = errors.Join(err, w.Close(), text.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("compressing the page's data: %w", err)
	}
	b.WriteByte('"')
	return b.Bytes(), nil
}

// Encode returns a part of the page's data as JSON that can stand inside an HTML page. It cleans each text in it, and
// cuts it to maxPrompt.
func Encode(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding the page's data: %w", err)
	}
	var b bytes.Buffer
	in := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	out := jsontext.NewEncoder(&b, jsontext.AllowDuplicateNames(true), jsontext.EscapeForHTML(true))
	for {
		t, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSpace(b.Bytes()), nil
		}
		if err == nil && t.Kind() == '"' {
			t = jsontext.String(textfmt.Multiline(t.String(), maxPrompt))
		}
		if err == nil {
			err = out.WriteToken(t)
		}
		if err != nil {
			return nil, fmt.Errorf("encoding the page's data: %w", err)
		}
	}
}

// scriptAndStyle returns the page's script and style.
func scriptAndStyle() (script, style string, err error) {
	var b strings.Builder
	b.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scripts {
		part, err := assets.ReadFile("assets/" + name + ".js")
		if err != nil {
			return "", "", err
		}
		b.Write(part)
	}
	b.WriteString("})();\n")
	css, err := assets.ReadFile("assets/page.css")
	return b.String(), string(css), err
}

// contentPolicy returns the content security policy that allows only the page's own parts.
func contentPolicy(script, style string, live bool) string {
	connect := "'none'"
	if live {
		connect = "'self'"
	}
	return "default-src 'none'; script-src " + digest(script) + "; style-src " + digest(style) +
		"; connect-src " + connect + "; base-uri 'none'; form-action 'none'"
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
