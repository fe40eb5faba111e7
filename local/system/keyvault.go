package system

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/keyvault"
)

// SecretsKey is the name of the key that the handler encrypts secrets with.
const SecretsKey = "secrets-key"

// startKeyVault starts the vault with the key for secrets, which only the handler's
// identity may read.
func (s *System) startKeyVault(ctx context.Context) error {
	certificate, err := s.Entra.ServerCertificate()
	if err != nil {
		return err
	}
	s.KeyVault, err = keyvault.Start(ctx, keyvault.Config{
		Addr: s.config.Addresses.KeyVault, Certificate: certificate, Authority: s.Entra.URL(), TenantID: entra.DefaultTenantID,
		VerifyToken: s.Entra.VerifyToken,
		Allowed: func(token string) bool {
			claims, err := s.Entra.VerifyClaims(token, keyvault.Audience)
			return err == nil && claims.ClientID == entra.DefaultHandlerClientID
		},
	})
	if err != nil {
		return err
	}
	s.config.Addresses.KeyVault = strings.TrimPrefix(s.KeyVault.URL(), "https://")
	s.started("Key Vault", s.KeyVault.URL(), s.KeyVault.Close)
	key, err := s.secretsKey()
	if err != nil {
		return err
	}
	_, err = s.KeyVault.SetVersion(SecretsKey, key.Version, keyvault.Secret{Value: key.Value})
	return err
}

// vaultKey is a version of the key, as it is kept from one start to the next.
type vaultKey struct {
	Version string `json:"version"`
	Value   string `json:"value"`
}

// secretsKey is the key of this system: a new one where it keeps no state.
func (s *System) secretsKey() (vaultKey, error) {
	dir, err := s.dir("keyvault")
	if err != nil {
		return vaultKey{}, err
	}
	file := filepath.Join(dir, SecretsKey+".json")
	var key vaultKey
	if dir != "" {
		text, err := os.ReadFile(file)
		if err == nil {
			if err = json.Unmarshal(text, &key); err != nil {
				err = fmt.Errorf("%s: %w", file, err)
			}
			return key, err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return key, err
		}
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	key = vaultKey{Version: keyvault.NewVersion(), Value: base64.StdEncoding.EncodeToString(random)}
	if dir == "" {
		return key, nil
	}
	text, err := json.Marshal(key)
	if err != nil {
		return key, err
	}
	return key, os.WriteFile(file, text, 0o600)
}
