// Package tlsroots makes HTTP clients that trust one more certificate authority
// than the system does: a corporate proxy that inspects TLS, or the identity
// provider of a local installation. It also reads the authorities of one server from a file. It knows nothing of
// the servers.
package tlsroots

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
)

// EnvCAFile names the environment variable that every program reads the
// path of its additional CA file from. Unset or empty means system roots only.
const EnvCAFile = "EXTRA_CA_FILE" // PEM file of certificate authorities to trust in addition to those of the system

// HTTPClient returns a client that trusts the system's roots and the
// certificates in the PEM file caFile. An empty caFile adds nothing. The
// client honours the proxy variables of the environment and sets no overall
// timeout: the caller bounds each request by its context.
func HTTPClient(caFile string) (*http.Client, error) {
	roots, err := Roots(caFile)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &http.Client{Transport: transport}, nil
}

// Roots returns the system's roots and the certificates in the PEM file
// caFile. An empty caFile adds nothing.
func Roots(caFile string) (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("load the system's CA certificates: %w", err)
	}
	if caFile == "" {
		return roots, nil
	}
	data, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("read the additional CA file: %w", err)
	}
	certificates, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("additional CA file %s: %w", caFile, err)
	}
	for _, certificate := range certificates {
		roots.AddCert(certificate)
	}
	return roots, nil
}

// parse reads every PEM block and accepts nothing but certificates: a file
// that holds something else was most likely named by mistake. A block that is
// damaged or cut short counts too; the decoder itself would pass over it.
func parse(data []byte) ([]*x509.Certificate, error) {
	var certificates []*x509.Certificate
	headers := bytes.Count(data, []byte("-----BEGIN "))
	for number := 1; ; number++ {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("PEM block %d is a %s; only certificates are expected", number, block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("PEM block %d: %w", number, err)
		}
		certificates = append(certificates, certificate)
	}
	switch {
	case headers == 0:
		return nil, errors.New("holds no PEM certificate")
	case len(certificates) < headers:
		return nil, fmt.Errorf("of %d PEM blocks only %d can be decoded", headers, len(certificates))
	}
	return certificates, nil
}
