package system

import (
	"context"
	"strings"

	"github.com/matoolkit/matoolkit/local/blob"
	"github.com/matoolkit/matoolkit/local/entra"
)

// BlobContainer is the container of large outputs and cached results.
const BlobContainer = "artifacts"

// startBlob starts Blob Storage, which accepts every identity of the directory.
func (s *System) startBlob(ctx context.Context) error {
	certificate, err := s.Entra.ServerCertificate()
	if err != nil {
		return err
	}
	dir, err := s.dir("blob")
	if err != nil {
		return err
	}
	s.Blob, err = blob.Start(ctx, blob.Config{
		Addr: s.config.Addresses.Blob, Certificate: certificate, Authority: s.Entra.URL(), TenantID: entra.DefaultTenantID,
		VerifyToken: s.Entra.VerifyToken, DataDir: dir,
	})
	if err != nil {
		return err
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(s.Blob.URL(), "https://"), "/")
	s.config.Addresses.Blob = address
	s.started("Blob Storage", s.Blob.URL(), s.Blob.Close)
	return s.Blob.EnsureContainer(BlobContainer)
}

// BlobEndpoint is the endpoint of the local account.
func (s *System) BlobEndpoint() string {
	return "https://" + s.config.Addresses.Blob + "/" + blob.DefaultAccount
}
