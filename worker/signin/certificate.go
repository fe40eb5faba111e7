package signin

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"software.sslmate.com/src/go-pkcs12"
)

// errPassword tells that a PFX cannot be opened with the password at hand.
var errPassword = errors.New("wrong password")

// parsePFX reads PKCS#12 with one key and its certificate, in any encoding: from
// OpenSSL 3, of older programs, and without any encryption, as Key Vault gives it.
func parsePFX(data []byte, password string) ([]*x509.Certificate, crypto.PrivateKey, error) {
	key, first, others, err := pkcs12.DecodeChain(data, password)
	var unknown pkcs12.NotImplementedError
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword), errors.Is(err, pkcs12.ErrDecryption):
		return nil, nil, errPassword
	case errors.As(err, &unknown):
		return nil, nil, fmt.Errorf("unsupported PFX encoding (%w): export the certificate again", err)
	case err != nil:
		// The reason is of ASN.1 or that a part is missing, and tells nothing of the key.
		return nil, nil, fmt.Errorf("not a PFX with one private key and its certificate (%w)", err)
	}
	return append([]*x509.Certificate{first}, others...), key, nil
}

// parsePEM reads a private key, which is not encrypted, and certificates, in any order.
func parsePEM(data []byte) ([]*x509.Certificate, crypto.PrivateKey, error) {
	var certificates []*x509.Certificate
	var key crypto.PrivateKey
	begun := bytes.Count(data, []byte("-----BEGIN "))
	for {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			break
		}
		begun--
		var found crypto.PrivateKey
		var err error
		switch block.Type {
		case "CERTIFICATE":
			certificate, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, nil, fmt.Errorf("invalid certificate: %w", err)
			}
			certificates = append(certificates, certificate)
			continue
		case "PRIVATE KEY":
			found, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			if block.Headers["DEK-Info"] != "" {
				return nil, nil, errors.New("encrypted PEM keys are not supported: use a PFX")
			}
			found, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			return nil, nil, errors.New("encrypted PEM keys are not supported: use a PFX")
		case "EC PRIVATE KEY":
			return nil, nil, errNotRSA
		default:
			return nil, nil, fmt.Errorf("unexpected PEM block %q: give a private key and certificates", block.Type)
		}
		if err != nil {
			return nil, nil, errors.New("invalid private key")
		}
		if key != nil {
			return nil, nil, errors.New("more than one private key")
		}
		key = found
	}
	if begun > 0 { // the decoder passes over what it cannot read
		return nil, nil, errors.New("invalid PEM block")
	}
	return certificates, key, nil
}

var errNotRSA = errors.New("the key is not an RSA key: create the certificate with an RSA key, which Entra ID requires")

// pair puts the certificate of the key first.
func pair(certificates []*x509.Certificate, key crypto.PrivateKey) ([]*x509.Certificate, *rsa.PrivateKey, error) {
	if key == nil {
		return nil, nil, errors.New("no private key: the policy of the certificate in Key Vault must allow the export of its key")
	}
	private, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, nil, errNotRSA
	}
	for i, certificate := range certificates {
		if !private.PublicKey.Equal(certificate.PublicKey) {
			continue
		}
		ordered := []*x509.Certificate{certificate}
		ordered = append(ordered, certificates[:i]...)
		return append(ordered, certificates[i+1:]...), private, nil
	}
	return nil, nil, errors.New("no certificate belongs to the private key")
}
