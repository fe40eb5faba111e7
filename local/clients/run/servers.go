package main

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"

	"github.com/matoolkit/matoolkit/local/blob"
	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

const sasKey = "SAS_KEY_VALUE"

// servers are the servers of one program.
type servers struct {
	environment []string
	caFile      string
	stop        []func() error
}

// close stops the servers, the last started first.
func (s *servers) close() (err error) {
	for i := len(s.stop) - 1; i >= 0; i-- {
		err = errors.Join(err, s.stop[i]())
	}
	return err
}

func startServers(ctx context.Context, dir string) (*servers, error) {
	s := &servers{}
	if err := s.start(ctx, dir); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *servers) start(ctx context.Context, dir string) error {
	state, err := os.MkdirTemp("", "matoolkit-clients-")
	if err != nil {
		return err
	}
	s.stop = append(s.stop, func() error { return os.RemoveAll(state) })

	config := entra.DefaultConfig()
	config.Addr, config.DataDir = "127.0.0.1:0", filepath.Join(state, "entra")
	identity, err := entra.Start(ctx, config)
	if err != nil {
		return err
	}
	s.stop = append(s.stop, identity.Close)
	s.caFile = identity.CAFile()
	certificate, err := identity.ServerCertificate()
	if err != nil {
		return err
	}

	text, err := os.ReadFile(filepath.Join(dir, "topology.json"))
	if err != nil {
		return err
	}
	topology, err := servicebus.ParseTopology(text)
	if err != nil {
		return err
	}
	bus, err := servicebus.Start(ctx, servicebus.Config{
		Addr: "127.0.0.1:0", Topology: topology, DataDir: filepath.Join(state, "servicebus"), Key: sasKey,
		TLS:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		VerifyToken: func(token, _ string) error { return identity.VerifyToken(token, entra.ServiceBusAudience) },
	})
	if err != nil {
		return err
	}
	s.stop = append(s.stop, bus.Close)

	db, err := cosmos.Start(ctx, cosmos.Config{DataDir: filepath.Join(state, "cosmos")})
	if err != nil {
		return err
	}
	s.stop = append(s.stop, db.Close)

	account, err := blob.Start(ctx, blob.Config{
		Addr: "127.0.0.1:0", Certificate: certificate, Authority: identity.URL(), TenantID: entra.DefaultTenantID, VerifyToken: identity.VerifyToken,
	})
	if err != nil {
		return err
	}
	s.stop = append(s.stop, account.Close)

	s.environment = []string{
		"BLOB_ENDPOINT=" + account.URL(),
		"SERVICEBUS_CONNECTION_STRING=" + bus.ConnectionString(),
		"SERVICEBUS_ADDRESS=" + bus.Addr(),
		"SERVICEBUS_TLS_CONNECTION_STRING=Endpoint=sb://localhost/;SharedAccessKeyName=" + servicebus.KeyName + ";SharedAccessKey=" + sasKey,
		"COSMOS_ENDPOINT=" + db.URL(),
		"COSMOS_KEY=" + db.Key(),
		"ENTRA_AUTHORITY=" + identity.URL(),
		"TENANT_ID=" + entra.DefaultTenantID,
		"CLIENT_ID=" + entra.DefaultWorkerClientID,
		"CLIENT_SECRET=" + entra.DefaultWorkerSecret,
		"CA_FILE=" + s.caFile,
		"NODE_EXTRA_CA_CERTS=" + s.caFile,
	}
	return nil
}
