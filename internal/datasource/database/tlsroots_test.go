package database

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tds"
)

// The certificate counts: of another CA, for another name, and a server that does not
// encrypt.
func TestSQLServerTLSRoots(t *testing.T) {
	t.Parallel()
	s, stranger := serve(t, tds.Config{}), serve(t, tds.Config{})
	s.answer(t, "SELECT id", tds.Result{Columns: []tds.Column{{Name: "id", Type: tds.Int}}})
	address := strings.Replace(s.Addr(), ":", ",", 1)
	try := func(connection string) error {
		source := testenv.Must(OpenSQL(datasource.Spec{Connection: connection, Query: "SELECT id"}))(t)
		_, _, err := all(t, source)
		return err
	}
	const user = ";User ID=reader;Password=hunter2"
	for connection, good := range map[string]bool{
		"Server=" + address + user + ";Certificate=" + s.ca:                                            true,
		"Server=" + address + user + ";Certificate=" + s.ca + ";HostNameInCertificate=" + azureHost:    true,
		"Server=" + address + user + ";Certificate=" + s.ca + ";HostNameInCertificate=sql.example.com": false,
		"Server=" + address + user:                                                 false,
		"Server=" + address + user + ";Encrypt=Strict":                             false,
		"Server=" + address + user + ";Certificate=" + stranger.ca:                 false,
		"Server=" + address + user + ";Encrypt=Strict;Certificate=" + stranger.ca:  false,
		"Server=" + address + user + ";TrustServerCertificate=True":                true,
		"Server=" + address + user + ";TrustServerCertificate=True;Encrypt=Strict": true,
		"sqlserver://reader:hunter2@" + s.Addr() + "?trustservercertificate=true":  true,
	} {
		if err := try(connection); (err == nil) != good || err != nil && !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: %v", connection, err)
		}
	}
	if got := s.Logins(); len(got) != 5 {
		t.Errorf("%d logins", len(got))
	}
	bare := serve(t, tds.Config{NoEncryption: true})
	if err := try("Server=" + strings.Replace(bare.Addr(), ":", ",", 1) + user + ";Certificate=" + bare.ca); err == nil || !strings.Contains(err.Error(), "encrypt") || len(bare.Logins()) != 0 {
		t.Errorf("a server without encryption: %v, %v", err, bare.Logins())
	}
}

// A gateway leads elsewhere: there the certificate has to be for the new name, and from
// this machine, unchecked, it leads nowhere else.
func TestSQLServerRouting(t *testing.T) {
	t.Parallel()
	target := serve(t, tds.Config{Names: []string{"worker.database.windows.net"}})
	target.answer(t, "SELECT id", tds.Result{Columns: []tds.Column{{Name: "id", Type: tds.Int}}, Rows: [][]any{{1}}})
	for name, good := range map[string]bool{"worker.database.windows.net": true, "other.database.windows.net": false} {
		gateway := serve(t, tds.Config{})
		gateway.Route(name, 11000)
		both := filepath.Join(t.TempDir(), "both.pem")
		if err := os.WriteFile(both, append(gateway.CAPEM(), target.CAPEM()...), 0o600); err != nil {
			t.Fatal(err)
		}
		gateway.ca = both
		source := gateway.source(t, kinds[2], "SELECT id")
		source.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			to := gateway.Addr()
			if address == name+":11000" {
				to = target.Addr()
			}
			return (&net.Dialer{}).DialContext(ctx, network, to)
		}
		if _, rows, err := all(t, source); (err == nil && len(rows) == 1) != good {
			t.Errorf("%s: %v, %v", name, rows, err)
		}
	}
	gateway := serve(t, tds.Config{})
	gateway.Route("worker.database.windows.net", 11000)
	source := testenv.Must(OpenSQL(datasource.Spec{Connection: "sqlserver://reader:hunter2@" + gateway.Addr() + "?trustservercertificate=true", Query: "SELECT id"}))(t)
	away := &elsewhere{}
	source.(*sqlServer).dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, gateway.Addr())
		if strings.HasPrefix(address, "worker.") {
			away.Conn = conn
			return away, err
		}
		return conn, err
	}
	if _, err := source.Query(t.Context()); err == nil || !strings.Contains(err.Error(), "not on this machine") || away.Conn == nil {
		t.Errorf("%v", err)
	}
}

// elsewhere is a connection to an address that is not of this machine.
type elsewhere struct{ net.Conn }

func (*elsewhere) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 11000} }
