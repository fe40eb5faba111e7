package tlsroots

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// File reads the PEM file of the certificate authorities of a server. option is the option of the connection that names
// the file; errors do not quote the file.
func File(option, file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, fmt.Errorf("the file that %s names cannot be read: %w", option, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the file that %s names contains no PEM certificate", option)
	}
	return roots, nil
}
