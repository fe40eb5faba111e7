package login

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// A password is read from the environment only: other users of the machine see options, and the
// configuration file is not encrypted.
const envPassword = "MATOOLKIT_CLIENT_CERTIFICATE_PASSWORD" // password of the PFX file of client-certificate

// readCertificate reads a certificate and its key, in PEM or PFX. Entra ID accepts RSA keys. Errors name the option of the file
// and that of the app registration.
func (c *Opener) readCertificate(named, app, path string) ([]*x509.Certificate, crypto.PrivateKey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, exit.Usagef("%s: %w", named, err)
	}
	var certificates []*x509.Certificate
	var key crypto.PrivateKey
	if bytes.Contains(data, []byte("-----BEGIN ")) {
		if bytes.Contains(data, []byte("ENCRYPTED")) {
			return nil, nil, &exit.Error{
				Status: exit.WrongUsage, Text: named + ": the key in " + path + " is encrypted; only a PFX file can have an encrypted key",
				Hint: "Create one with: openssl pkcs12 -export -in " + path + " -out certificate.pfx",
			}
		}
		certificates, key, err = azidentity.ParseCertificates(data, nil)
	} else {
		certificates, key, err = parsePFX(data, c.Getenv(envPassword))
	}
	if err != nil {
		return nil, nil, exit.Usagef("%s: %s: %w", named, path, err)
	}
	for _, certificate := range certificates {
		if now := c.Now(); !certificate.IsCA && now.After(certificate.NotAfter) {
			return nil, nil, &exit.Error{
				Status: exit.NotSignedIn, Text: named + ": the certificate in " + path + " expired on " + certificate.NotAfter.UTC().Format("2006-01-02 15:04:05Z"),
				Hint: "Add a new certificate to the app registration of " + app,
			}
		}
	}
	return certificates, key, nil
}

// parsePFX parses PKCS#12, also that of OpenSSL 3, which azidentity cannot parse.
func parsePFX(data []byte, password string) ([]*x509.Certificate, crypto.PrivateKey, error) {
	key, leaf, chain, err := pkcs12.DecodeChain(data, password)
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword) && password == "":
		return nil, nil, errors.New("the file needs a password; set " + envPassword)
	case errors.Is(err, pkcs12.ErrIncorrectPassword):
		return nil, nil, errors.New("the password in " + envPassword + " is wrong")
	case err != nil:
		return nil, nil, errors.New("the file is neither PEM nor a PFX file with one key and its certificate")
	}
	return append([]*x509.Certificate{leaf}, chain...), key, nil
}
