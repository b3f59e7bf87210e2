package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Protocol is the version of the messages, of their ids, and of their files on the git remote. Each change of them,
// also a new field, needs the next version. Queues of different protocols have different names, so a run and a worker
// that do not understand each other never meet.
const Protocol = 9

// MaxInline bounds a body inside its message, and MaxMessage a message before it is parsed, in bytes.
const (
	MaxInline  = 256 << 10
	MaxMessage = MaxInline + 4<<10
)

// MaxBody bounds a detached body, in bytes.
const MaxBody = 64 << 20

// Kind is the kind of a message.
type Kind string

// These are the kinds of messages.
const (
	KindRequest  Kind = "request"  // the body is a Request
	KindProgress Kind = "progress" // a Progress
	KindResult   Kind = "result"   // a runner.Result, of any outcome; its work and its logs are pushed
)

// Message is one message about an attempt.
type Message struct {
	Protocol int    `json:"protocol"`
	Kind     Kind   `json:"kind"`
	ID       string `json:"id"`      // of the attempt, see ID
	Release  string `json:"release"` // the version of the sender's wavex
	// Repo is the URL of the git remote, and Files the commit there with the files that an attempt needs, "" for none.
	// Only requests have them.
	Repo   string          `json:"repo,omitempty"`
	Files  string          `json:"files,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Digest string          `json:"digest,omitempty"` // of a detached body: sha256, hex
}

// New returns a message. If its body does not fit into it, that is returned as detached, else detached is nil.
func New(kind Kind, id, release string, body any) (m Message, detached []byte, err error) {
	m = Message{Protocol: Protocol, Kind: kind, ID: id, Release: release}
	if m.Body, err = json.Marshal(body); err != nil {
		return m, nil, fmt.Errorf("encoding a %s: %w", kind, err)
	}
	if len(m.Body) > MaxBody {
		return m, nil, fmt.Errorf("the %s has %d bytes, more than %d", kind, len(m.Body), MaxBody)
	}
	if len(m.Body) > MaxInline {
		detached, m.Body, m.Digest = m.Body, nil, digest(m.Body)
	}
	return m, detached, nil
}

// Encode returns the message as Parse reads it.
func (m *Message) Encode() ([]byte, error) {
	data, err := json.Marshal(m)
	if err == nil && len(data) > MaxMessage {
		err = fmt.Errorf("the %s without its body has %d bytes", m.Kind, len(data)-len(m.Body))
	}
	return data, err
}

// Parse reads a message of a kind about an attempt. It returns an error if data is not such a message.
func Parse(kind Kind, id string, data []byte) (Message, error) {
	var m Message
	if len(data) > MaxMessage {
		return m, fmt.Errorf("a message of %d bytes, more than %d", len(data), MaxMessage)
	}
	if err := decode(data, &m); err != nil {
		return m, fmt.Errorf("not a message: %w", err)
	}
	switch {
	case m.Protocol != Protocol:
		return m, fmt.Errorf("protocol %d; this wavex speaks protocol %d", m.Protocol, Protocol)
	case m.Kind != kind:
		return m, fmt.Errorf("a %q instead of a %s", m.Kind, kind)
	case m.ID != id:
		return m, fmt.Errorf("it is about %q, not %q", m.ID, id)
	case kind == KindRequest && (m.Repo == "" || strings.HasPrefix(m.Repo, "-")):
		return m, fmt.Errorf("no git remote: %q", m.Repo)
	case m.Files != "" && !isObjectID(m.Files):
		return m, fmt.Errorf("%q is no commit", m.Files)
	case (m.Digest == "") == (len(m.Body) == 0):
		return m, errors.New("it needs either a body or a digest")
	}
	return m, nil
}

// Attach puts a detached body back.
func (m *Message) Attach(body []byte) error {
	if m.Digest == "" || len(body) > MaxBody || digest(body) != m.Digest {
		return fmt.Errorf("the body of the %s was changed", m.Kind)
	}
	m.Body, m.Digest = body, ""
	return nil
}

// Decode reads the body into v.
func (m *Message) Decode(v any) error {
	if m.Digest != "" {
		return fmt.Errorf("the body of the %s is detached", m.Kind)
	}
	if err := decode(m.Body, v); err != nil {
		return fmt.Errorf("reading a %s: %w", m.Kind, err)
	}
	return nil
}

// decode reads one JSON value without unknown fields.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the value")
	}
	return nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// isObjectID reports whether s is the id of a git object, with SHA-1 or SHA-256.
func isObjectID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
