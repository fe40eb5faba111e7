package signin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/keyvault"
	"github.com/matoolkit/matoolkit/worker/signin"
)

const pfxPassword = "pass-w0rd"

// inVault is how content is put into a secret.
func inVault(content []byte) keyvault.Secret {
	if strings.Contains(string(content), "-----BEGIN ") {
		return keyvault.Secret{Value: string(content), ContentType: keyvault.ContentTypePEM}
	}
	return keyvault.Secret{Value: base64.StdEncoding.EncodeToString(content), ContentType: keyvault.ContentTypePFX}
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	return testenv.Must(os.ReadFile(filepath.Join("testdata", name)))(t)
}

// throwaway is the certificate and the key of the fixtures.
func throwaway(t *testing.T) (*x509.Certificate, *rsa.PrivateKey) {
	t.Helper()
	keyBlock, rest := pem.Decode(fixture(t, "key-first.pem"))
	key := testenv.Must(x509.ParsePKCS8PrivateKey(keyBlock.Bytes))(t)
	block, _ := pem.Decode(rest)
	leaf := testenv.Must(x509.ParseCertificate(block.Bytes))(t)
	return leaf, key.(*rsa.PrivateKey)
}

// Each certificate is used to authenticate.
func TestCertificatesInAllEncodings(t *testing.T) {
	t.Parallel()
	leaf, key := throwaway(t)
	authority := current(t)
	encode := func(encoder *pkcs12.Encoder, first *x509.Certificate, chain []*x509.Certificate, password string) []byte {
		return testenv.Must(encoder.Encode(key, first, chain, password))(t)
	}
	chain := []*x509.Certificate{authority}
	type encoded struct {
		content  []byte
		password string
	}
	cases := map[string]encoded{
		"PBMAC1":                  {encode(pkcs12.Modern2026, leaf, nil, pfxPassword), pfxPassword},
		"AES":                     {encode(pkcs12.Modern2023, leaf, chain, pfxPassword), pfxPassword},
		"RC2":                     {encode(pkcs12.LegacyRC2, leaf, chain, pfxPassword), pfxPassword},
		"3DES":                    {encode(pkcs12.LegacyDES, leaf, chain, pfxPassword), pfxPassword},
		"3DES, empty password":    {encode(pkcs12.LegacyDES, leaf, chain, ""), ""},
		"nothing encrypted":       {encode(pkcs12.Passwordless, leaf, chain, ""), ""},
		"the authority first":     {encode(pkcs12.Modern2023, authority, []*x509.Certificate{leaf}, pfxPassword), pfxPassword},
		"the key first":           {keyFirst(t, encode(pkcs12.Passwordless, leaf, chain, "")), ""},
		"a password in Unicode":   {encode(pkcs12.Modern2023, leaf, nil, "pässwörd €"), "pässwörd €"},
		"a password with a blank": {encode(pkcs12.Modern2023, leaf, nil, "with a blank "), "with a blank "},
	}
	for _, name := range []string{
		"openssl3.pfx", "openssl3-chain.pfx", "openssl3-aes128-sha512.pfx", "openssl1-rc2.pfx", "openssl1-3des.pfx",
		"key-in-the-clear.pfx", "rc2-128.pfx",
	} {
		cases[name] = encoded{fixture(t, name), pfxPassword}
	}
	for _, name := range []string{
		"empty-password.pfx", "empty-password-legacy.pfx", "no-encryption.pfx", "key-first.pem", "chain-first.pem", "pkcs1.pem",
	} {
		cases[name] = encoded{fixture(t, name), ""}
	}
	w := newWorld(t)
	w.accept(t, nil, leaf)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			secretName := "c-" + strings.Map(func(r rune) rune {
				if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
					return r
				}
				return '-'
			}, name)
			change := func(config *signin.VaultConfig) { config.Certificate = secretName }
			if c.password != "" {
				w.set(t, secretName+"-password", keyvault.Secret{Value: c.password})
				change = func(config *signin.VaultConfig) {
					config.Certificate, config.Password = secretName, secretName+"-password"
				}
			}
			stored := inVault(c.content)
			// Where the content type does not tell, the content does.
			for _, contentType := range []string{stored.ContentType, "", "text/plain"} {
				stored.ContentType = contentType
				w.set(t, secretName, stored)
				w.token(t, w.mustOpen(t, change), graphScope)
			}
		})
	}
}

// keyFirst changes the order of the two parts of a PFX that has no MAC: the key before
// the certificates, as Windows writes it.
func keyFirst(t *testing.T, pfx []byte) []byte {
	t.Helper()
	type contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue // [0] EXPLICIT
	}
	var outer struct {
		Version int
		Safe    contentInfo
	}
	var octets []byte
	var parts []asn1.RawValue
	for _, step := range []struct {
		from func() []byte
		into any
	}{
		{func() []byte { return pfx }, &outer},
		{func() []byte { return outer.Safe.Content.Bytes }, &octets},
		{func() []byte { return octets }, &parts},
	} {
		if _, err := asn1.Unmarshal(step.from(), step.into); err != nil {
			t.Fatal(err)
		}
	}
	if len(parts) != 2 {
		t.Fatalf("the PFX has %d parts, want 2", len(parts))
	}
	parts[0], parts[1] = parts[1], parts[0]
	encode := func(v any) []byte {
		return testenv.Must(asn1.Marshal(v))(t)
	}
	outer.Safe.Content = asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: encode(encode(parts))}
	return encode(outer)
}

func TestCertificatesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	leaf, key := throwaway(t)
	curve := testenv.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "c"}, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	der := testenv.Must(x509.CreateCertificate(rand.Reader, template, template, &curve.PublicKey, curve))(t)
	curved := testenv.Must(x509.ParseCertificate(der))(t)
	onCurve := testenv.Must(pkcs12.Modern2023.Encode(curve, curved, nil, ""))(t)
	strange := testenv.Must(pkcs12.Modern2023.Encode(key, issue(t, anotherKey(), time.Now(), time.Now().Add(time.Hour)), nil, ""))(t)
	keyFirstPEM := string(fixture(t, "key-first.pem"))
	onlyCertificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})
	for name, c := range map[string]struct {
		content  []byte
		password string // "" means that there is none in the vault
		text     string
	}{
		"no password":          {fixture(t, "openssl3.pfx"), "", "the PFX has a password: store it"},
		"wrong password":       {fixture(t, "openssl3.pfx"), "wr0ng", "wrong password of the PFX in password"},
		"wrong legacy":         {fixture(t, "openssl1-rc2.pfx"), "wr0ng", "wrong password of the PFX in password"},
		"two-key 3DES":         {fixture(t, "2des.pfx"), pfxPassword, "unsupported PFX encoding"},
		"no key in a PFX":      {fixture(t, "no-key.pfx"), "", "private key missing"},
		"no key in PEM":        {onlyCertificate, "", "must allow the export of its key"},
		"an encrypted key":     {fixture(t, "encrypted-key.pem"), "", "encrypted PEM keys"},
		"an elliptic curve":    {onCurve, "", "the key is not an RSA key"},
		"another key":          {strange, "", "no certificate belongs to the private key"},
		"cut short":            {fixture(t, "openssl3.pfx")[:1000], "", "not a PFX"},
		"damaged PEM":          {[]byte(strings.Replace(keyFirstPEM, "-----END CERTIFICATE-----", "-----END", 1)), "", "invalid PEM block"},
		"two keys":             {[]byte(keyFirstPEM + keyFirstPEM), "", "more than one private key"},
		"something else in it": {append(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: []byte("x")}), keyFirstPEM...), "", "X509 CRL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.set(t, "worker", inVault(c.content))
			change := certificate
			if c.password != "" {
				w.set(t, "password", keyvault.Secret{Value: c.password})
				change = func(config *signin.VaultConfig) { config.Certificate, config.Password = "worker", "password" }
			}
			_, err := w.open(t, change)
			if err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "worker (version ") {
				t.Errorf("got %v, want %q", err, c.text)
			}
			if err != nil && (strings.Contains(err.Error(), "wr0ng") || strings.Contains(err.Error(), "MII")) {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

// A password that changes with its PFX is read with it.
func TestAPasswordThatChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	leaf, key := throwaway(t)
	next := issue(t, key, time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0))
	w.accept(t, nil, leaf, next)
	w.set(t, "worker", inVault(fixture(t, "openssl3.pfx")))
	w.set(t, "password", keyvault.Secret{Value: pfxPassword})
	credential := w.mustOpen(t, func(c *signin.VaultConfig) { c.Certificate, c.Password = "worker", "password" })
	pfx := testenv.Must(pkcs12.Modern2023.Encode(key, next, nil, "another"))(t)
	w.set(t, "worker", inVault(pfx))
	if _, err := credential.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "wrong password of the PFX in password") {
		t.Errorf("between the two: %v", err)
	}
	w.set(t, "password", keyvault.Secret{Value: "another"})
	if changed, err := credential.Refresh(t.Context()); err != nil || !changed {
		t.Errorf("changed: %v, %v", changed, err)
	}
	w.token(t, credential, exchangeScope)
}
