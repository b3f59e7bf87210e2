package wire

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// KeySize is the size of a key in bytes.
const KeySize = 32

// Key seals and opens bytes. It is safe for concurrent use. A nil *Key neither seals nor opens: it passes bytes on, for
// engines on loopback.
type Key struct {
	aead cipher.AEAD
	name string
}

// NewKey returns the key with the given bytes.
func NewKey(secret []byte) (*Key, error) {
	if len(secret) != KeySize {
		return nil, fmt.Errorf("the key has %d bytes; it must have %d", len(secret), KeySize)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte("wavex queue\x00"), secret...))
	return &Key{aead, hex.EncodeToString(sum[:8])}, nil
}

// Queue returns the name of the queue for attempts of this protocol and key. If worker is not "", it is the queue of
// that worker alone. The name does not tell the key.
func (k *Key) Queue(worker string) string {
	name := "open"
	if k != nil {
		name = k.name
	}
	queue := fmt.Sprintf("wavex.%d.%s", Protocol, name)
	if worker != "" {
		queue += "." + escape(worker, 200)
	}
	return queue
}

// Seal returns data sealed with its subject: the id of an attempt for a file of it, see ID, and "" for a message.
func (k *Key) Seal(subject string, data []byte) []byte {
	if k == nil {
		return data
	}
	return k.aead.Seal(nil, nil, data, []byte(subject))
}

// ErrNotSealed says that data was not sealed with this key, or was changed.
var ErrNotSealed = errors.New("it is not sealed with this key")

// Open returns data that was sealed with the subject.
func (k *Key) Open(subject string, sealed []byte) ([]byte, error) {
	if k == nil {
		return sealed, nil
	}
	data, err := k.aead.Open(nil, nil, sealed, []byte(subject))
	if err != nil {
		return nil, ErrNotSealed
	}
	return data, nil
}
