// Package secret encrypts secret values. It knows keys and their
// versions, and nothing of runbooks, of the store or of where keys come from: package
// vault reads them from Key Vault.
//
// A value is encrypted with AES-256-GCM and a random nonce. What it belongs to is
// authenticated with it, so that a value cannot be moved to another place.
package secret

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Errors of a Box.
var (
	// ErrUnavailable: the key cannot be read at the moment, or not until an operator
	// has put things right.
	ErrUnavailable = errors.New("the key of secrets cannot be read")
	// ErrLost: the value can never be decrypted again.
	ErrLost = errors.New("the secret cannot be decrypted")
)

// KeySize is the length of a key in bytes.
const KeySize = 32

// Key is one version of the key.
type Key struct {
	ID    string // of the version; letters, digits and hyphens
	Bytes []byte // KeySize of them
}

// Keys are the versions of a key. Their errors wrap ErrUnavailable or, of Version,
// ErrLost.
type Keys interface {
	Current(ctx context.Context) (Key, error)
	Version(ctx context.Context, id string) (Key, error)
}

// DecodeKey reads the text of a key: KeySize random bytes in base64. The error does not
// show it.
func DecodeKey(text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != KeySize {
		return nil, fmt.Errorf("it is not %d bytes in base64; create one with: openssl rand -base64 %d", KeySize, KeySize)
	}
	return key, nil
}

// Box encrypts and decrypts values. It reads the key when it is first needed and is safe
// for concurrent use.
type Box struct {
	keys Keys
	now  func() time.Time

	mu      sync.Mutex
	current *derived
	readAt  time.Time
	known   map[string]*derived
}

// derived are the keys that are derived from one version: one for each purpose.
type derived struct {
	id     string
	aead   cipher.AEAD
	digest []byte
}

// currentAge is for how long the current version is used without asking again.
const currentAge = 10 * time.Minute

// New makes a Box. It reads nothing.
func New(keys Keys) *Box { return &Box{keys: keys, now: time.Now, known: map[string]*derived{}} }

// Check tells whether the key can be read.
func (b *Box) Check(ctx context.Context) error {
	_, err := b.newest(ctx)
	return err
}

// format is the first part of an encrypted value.
const format = "v1"

// Seal encrypts a value. What it belongs to is needed to open it.
func (b *Box) Seal(ctx context.Context, value []byte, belongsTo string) (string, error) {
	key, err := b.newest(ctx)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, key.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	encrypted := key.aead.Seal(nonce, nonce, value, []byte(belongsTo))
	return strings.Join([]string{format, key.id, base64.RawURLEncoding.EncodeToString(encrypted)}, "."), nil
}

// Open decrypts a value.
func (b *Box) Open(ctx context.Context, sealed, belongsTo string) ([]byte, error) {
	parts := strings.Split(sealed, ".")
	if len(parts) != 3 || parts[0] != format {
		return nil, fmt.Errorf("%w: it is not in the form %s.key.value", ErrLost, format)
	}
	encrypted, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return nil, fmt.Errorf("%w: it is not base64", ErrLost)
	}
	key, err := b.version(ctx, parts[1])
	if err != nil {
		return nil, err
	}
	size := key.aead.NonceSize()
	if len(encrypted) < size {
		return nil, fmt.Errorf("%w: it is too short", ErrLost)
	}
	value, err := key.aead.Open(nil, encrypted[:size], encrypted[size:], []byte(belongsTo))
	if err != nil {
		return nil, fmt.Errorf("%w: it was changed or moved", ErrLost)
	}
	return value, nil
}

// DigestKey returns a key for digests of data with secret values, so that the values
// cannot be guessed from a digest. It changes with the version of the key.
func (b *Box) DigestKey(ctx context.Context) ([]byte, error) {
	key, err := b.newest(ctx)
	if err != nil {
		return nil, err
	}
	return key.digest, nil
}

// Digest is a digest of data with secret values in it.
func (b *Box) Digest(ctx context.Context, data []byte) (string, error) {
	key, err := b.newest(ctx)
	if err != nil {
		return "", err
	}
	return key.sum(data), nil
}

// SameDigest reports whether a digest, made with any version of the key, is one of data.
func (b *Box) SameDigest(ctx context.Context, digest string, data []byte) (bool, error) {
	parts := strings.Split(digest, ".")
	if len(parts) != 3 {
		return false, nil
	}
	key, err := b.version(ctx, parts[1])
	if err != nil {
		return false, err
	}
	return hmac.Equal([]byte(digest), []byte(key.sum(data))), nil
}

func (d *derived) sum(data []byte) string {
	mac := hmac.New(sha256.New, d.digest)
	_, _ = mac.Write(data) // a hash takes everything
	return strings.Join([]string{format, d.id, hex.EncodeToString(mac.Sum(nil))}, ".")
}

// newest gives the current version of the key. Where it cannot be read again, the one
// that was read last goes on being used.
func (b *Box) newest(ctx context.Context) (*derived, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current != nil && b.now().Sub(b.readAt) < currentAge {
		return b.current, nil
	}
	key, err := b.keys.Current(ctx)
	if err != nil {
		if b.current != nil {
			b.readAt = b.now().Add(time.Minute - currentAge) // ask again in a minute
			return b.current, nil
		}
		return nil, err
	}
	if b.current, err = b.derive(key); err != nil {
		return nil, err
	}
	b.readAt = b.now()
	return b.current, nil
}

func (b *Box) version(ctx context.Context, id string) (*derived, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if key, ok := b.known[id]; ok {
		return key, nil
	}
	key, err := b.keys.Version(ctx, id)
	if err != nil {
		return nil, err
	}
	return b.derive(key)
}

// derive makes the keys for each purpose.
func (b *Box) derive(key Key) (*derived, error) {
	if known, ok := b.known[key.ID]; ok {
		return known, nil
	}
	derive := func(purpose string) ([]byte, error) { return hkdf.Expand(sha256.New, key.Bytes, purpose, KeySize) }
	encryption, err := derive("matoolkit secret values")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	block, err := aes.NewCipher(encryption)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	d := &derived{id: key.ID}
	if d.aead, err = cipher.NewGCM(block); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if d.digest, err = derive("matoolkit digests"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	b.known[key.ID] = d
	return d, nil
}

// Fixed is a key of one version that is known beforehand, for simulations and tests.
func Fixed(key []byte) Keys { return fixed{Key{ID: "fixed", Bytes: key}} }

type fixed struct{ key Key }

func (f fixed) Current(context.Context) (Key, error) { return f.key, nil }

func (f fixed) Version(_ context.Context, id string) (Key, error) {
	if id != f.key.ID {
		return Key{}, fmt.Errorf("%w: the key has no version %s", ErrLost, id)
	}
	return f.key, nil
}
