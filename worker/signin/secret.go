package signin

import (
	"context"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// secret is the credential of an app registration: a certificate with its key, or a
// client secret.
type secret struct {
	version      string // differs where the secret does; empty where it never changes
	text         string
	certificates []*x509.Certificate // the key's own first
	key          *rsa.PrivateKey     // nil for a text
	expires      time.Time           // zero when it is not known
}

// source is where the secret is.
type source interface {
	read(ctx context.Context) (secret, error)
	// before reads the version that was the current one before this; errFirst where
	// there is none.
	before(ctx context.Context, version string) (secret, error)
}

var errFirst = errors.New("no previous version")

// fixed is a client secret that was given.
type fixed string

func (f fixed) read(context.Context) (secret, error) { return secret{text: string(f)}, nil }

func (f fixed) before(context.Context, string) (secret, error) { return secret{}, errFirst }

// String names the secret without telling it. The thumbprint is as Entra ID shows it.
func (s secret) String() string {
	name := "a client secret"
	if s.key != nil {
		name = fmt.Sprintf("the certificate %X", sha1.Sum(s.certificates[0].Raw))
	}
	if s.version != "" {
		name += " (version " + s.version + ")"
	}
	return name
}

// usable tells whether a certificate is within its time. The end of a client secret is
// known to Entra ID alone: what a vault says of it is a note.
func (s secret) usable(now time.Time) error {
	if s.key == nil {
		return nil
	}
	switch leaf := s.certificates[0]; {
	case now.After(leaf.NotAfter):
		return errors.New("expired at " + stamp(leaf.NotAfter) + ": add a new version of the certificate to Key Vault and to the app registration")
	case now.Before(leaf.NotBefore):
		return errors.New("not valid before " + stamp(leaf.NotBefore) + ": wait until then, or make the previous version current again")
	}
	return nil
}

// end is when the secret ends, for the log.
func (s secret) end() string {
	if s.expires.IsZero() {
		return "unknown"
	}
	return stamp(s.expires)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
