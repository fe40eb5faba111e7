// Package pgtest starts a PostgreSQL server for tests with the build tag postgres, and writes the
// certificate of one.
package pgtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

// AzureHost is a server of Azure, which a certificate is for as well.
const AzureHost = "contoso.postgres.database.azure.com"

// WriteCertificate writes server.crt, which is its own CA, and server.key into a folder.
func WriteCertificate(t testenv.T, dir string) (file string, certificate tls.Certificate) {
	t.Helper()
	key := testenv.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{AzureHost}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der := testenv.Must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	private := testenv.Must(x509.MarshalPKCS8PrivateKey(key))(t)
	file = filepath.Join(dir, "server.crt")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	for name, text := range map[string][]byte{file: certPEM, filepath.Join(dir, "server.key"): keyPEM} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file, testenv.Must(tls.X509KeyPair(certPEM, keyPEM))(t)
}
