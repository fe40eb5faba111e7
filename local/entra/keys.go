package entra

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const (
	signingKeyFile = "signing-keys.pem"
	refreshKeyFile = "refresh-key"
	// publishedKeys is how many signing keys are known at a time: the one that
	// signs and the ones before it, which still verify.
	publishedKeys = 2
)

type signingKey struct {
	id      string
	private *rsa.PrivateKey
}

// keyring holds the signing keys, the current one first. It is safe for
// concurrent use.
type keyring struct {
	path string // empty: in memory

	mu   sync.RWMutex
	keys []signingKey
}

// loadKeyrings returns the keys of the tenants that have their own, by tenant ID, and
// under the empty ID those of all others.
func loadKeyrings(dir string, tenants []Tenant) (map[string]*keyring, error) {
	rings := map[string]*keyring{}
	var err error
	if rings[""], err = loadKeyring(dir, signingKeyFile); err != nil {
		return nil, err
	}
	for _, t := range tenants {
		if !t.OwnKeys {
			continue
		}
		if rings[t.ID], err = loadKeyring(dir, t.ID+"-"+signingKeyFile); err != nil {
			return nil, err
		}
	}
	return rings, nil
}

// keysOf returns the keys that sign the tenant's tokens.
func (s *Server) keysOf(tenantID string) *keyring {
	if own, ok := s.keys[strings.ToLower(tenantID)]; ok {
		return own
	}
	return s.keys[""]
}

// loadKeyring reads the keys in a file of dir, or makes a first one.
func loadKeyring(dir, file string) (*keyring, error) {
	ring := &keyring{}
	if dir != "" {
		ring.path = filepath.Join(dir, file)
		data, err := os.ReadFile(ring.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("read the signing keys: %w", err)
		default:
			if ring.keys, err = parseSigningKeys(data); err != nil {
				return nil, fmt.Errorf("signing keys in %s: %w", ring.path, err)
			}
			return ring, nil
		}
	}
	if err := ring.rotate(); err != nil {
		return nil, err
	}
	return ring, nil
}

// rotate puts a new key in front and forgets those beyond publishedKeys.
func (k *keyring) rotate() error {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("create a signing key: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	keys := append([]signingKey{{id: keyID(private), private: private}}, k.keys...)
	keys = keys[:min(len(keys), publishedKeys)]
	if k.path != "" {
		if err := writeFile(k.path, encodeSigningKeys(keys), 0o600); err != nil {
			return err
		}
	}
	k.keys = keys
	return nil
}

func (k *keyring) current() signingKey {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.keys[0]
}

func (k *keyring) public(id string) (*rsa.PublicKey, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, key := range k.keys {
		if key.id == id {
			return &key.private.PublicKey, true
		}
	}
	return nil, false
}

// document is the key set as published. Keys of version 2 name the issuer
// they sign for; issuer is empty for version 1.
func (k *keyring) document(issuer string) map[string]any {
	k.mu.RLock()
	defer k.mu.RUnlock()
	keys := make([]map[string]any, 0, len(k.keys))
	for _, key := range k.keys {
		entry := map[string]any{
			"kty": "RSA",
			"use": "sig",
			"kid": key.id,
			"n":   base64.RawURLEncoding.EncodeToString(key.private.N.Bytes()),
			"e":   base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.private.E)).Bytes()),
		}
		if issuer != "" {
			entry["issuer"] = issuer
		}
		keys = append(keys, entry)
	}
	return map[string]any{"keys": keys}
}

func keyID(key *rsa.PrivateKey) string {
	sum := sha256.Sum256(x509.MarshalPKCS1PublicKey(&key.PublicKey))
	return base64.RawURLEncoding.EncodeToString(sum[:20])
}

func encodeSigningKeys(keys []signingKey) []byte {
	var out bytes.Buffer
	for _, key := range keys {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key.private)}))
	}
	return out.Bytes()
}

func parseSigningKeys(data []byte) ([]signingKey, error) {
	var keys []signingKey
	for {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			break
		}
		private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("PEM block %d: %w", len(keys)+1, err)
		}
		keys = append(keys, signingKey{id: keyID(private), private: private})
	}
	if len(keys) == 0 {
		return nil, errors.New("no key in the file")
	}
	return keys, nil
}

// loadRefreshKey returns the secret that refresh tokens are sealed with.
func loadRefreshKey(dir string) ([]byte, error) {
	const size = 32
	path := filepath.Join(dir, refreshKeyFile)
	if dir != "" {
		key, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("read the refresh token key: %w", err)
		case len(key) != size:
			return nil, fmt.Errorf("refresh token key in %s: %d bytes, not %d", path, len(key), size)
		default:
			return key, nil
		}
	}
	key := make([]byte, size)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("create the refresh token key: %w", err)
	}
	if dir == "" {
		return key, nil
	}
	return key, writeFile(path, key, 0o600)
}
