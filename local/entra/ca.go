package entra

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// caFile is the certificate alone, for those who are to trust it.
	caFile = "ca.pem"
	// caKeyFile is key and certificate in one file, so that they are replaced
	// together; caFile is written from it at every start.
	caKeyFile = "ca-key.pem"
	caYears   = 10
)

// Authority is the CA that vouches for the local servers. Name constraints
// limit it to loopback names, so that a machine that trusts it trusts it for
// nothing else. Its times are real, also when the server has another
// clock: TLS clients use the real time.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte
}

// OpenAuthority returns the CA kept in dir, or creates it. An empty dir
// creates one in memory. Server opens that of its DataDir itself.
func OpenAuthority(dir string) (*Authority, error) {
	if dir == "" {
		a, _, err := newAuthority()
		return a, err
	}
	path := filepath.Join(dir, caKeyFile)
	a, err := readAuthority(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && time.Now().AddDate(0, 1, 0).After(a.certificate.NotAfter):
		var keyPEM []byte
		if a, keyPEM, err = newAuthority(); err != nil {
			return nil, err
		}
		if err := writeFile(path, append(keyPEM, a.pem...), 0o600); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	return a, writeFile(filepath.Join(dir, caFile), a.pem, 0o644)
}

func readAuthority(path string) (*Authority, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the local CA: %w", err)
	}
	pair, err := tls.X509KeyPair(data, data)
	if err != nil {
		return nil, fmt.Errorf("the local CA in %s: %w", path, err)
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("the local CA in %s: its key cannot sign", path)
	}
	return &Authority{certificate: pair.Leaf, key: key, pem: encodeCertificate(pair.Leaf)}, nil
}

func encodeCertificate(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}

func newAuthority() (a *Authority, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("create the local CA's key: %w", err)
	}
	now := time.Now()
	serial, err := serialNumber()
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber:                serial,
		Subject:                     pkix.Name{CommonName: "matoolkit local CA", Organization: []string{"matoolkit"}},
		NotBefore:                   now.Add(-time.Hour),
		NotAfter:                    now.AddDate(caYears, 0, 0),
		IsCA:                        true,
		BasicConstraintsValid:       true,
		MaxPathLenZero:              true,
		KeyUsage:                    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		PermittedDNSDomainsCritical: true,
		PermittedDNSDomains:         []string{"localhost"},
		PermittedIPRanges: []*net.IPNet{
			{IP: net.IPv4(127, 0, 0, 0).To4(), Mask: net.CIDRMask(8, 32)},
			{IP: net.IPv6loopback, Mask: net.CIDRMask(128, 128)},
		},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("create the local CA: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, fmt.Errorf("create the local CA: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the local CA's key: %w", err)
	}
	return &Authority{certificate: certificate, key: key, pem: encodeCertificate(certificate)},
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}

// PEM is the CA certificate in PEM.
func (a *Authority) PEM() []byte { return append([]byte(nil), a.pem...) }

// ServerCertificate is made anew at every start and lives in memory only.
func (a *Authority) ServerCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create the server's key: %w", err)
	}
	serial, err := serialNumber()
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "localhost"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create the server's certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func serialNumber() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("create a serial number: %w", err)
	}
	return serial, nil
}

// writeFile replaces a file in one step, so that no reader and no later start
// ever meets half of it.
func writeFile(path string, data []byte, mode fs.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(data)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
