package tlsroots_test

import (
	"encoding/pem"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/tlsroots"
)

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func block(kind string, content []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
}

func TestHTTPClient(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	certificate := block("CERTIFICATE", server.Certificate().Raw)
	for name, c := range map[string]struct {
		caFile string
		good   bool
	}{
		"with its CA":                    {write(t, certificate), true},
		"with its CA and text around it": {write(t, "# the proxy's\n"+certificate+"\n"), true},
		"with system roots only":         {"", false},
	} {
		client, err := tlsroots.HTTPClient(c.caFile)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Get(server.URL)
		if (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			response.Body.Close()
		}
	}
}

func TestTheClientIsNotTheDefaultOne(t *testing.T) {
	t.Parallel()
	client, err := tlsroots.HTTPClient("")
	if err != nil {
		t.Fatal(err)
	}
	if client.Transport == http.DefaultTransport || client.Transport.(*http.Transport).Proxy == nil {
		t.Error("it must leave the default transport alone and honour the proxy variables")
	}
}

func TestFilesThatAreNotCertificates(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	good := block("CERTIFICATE", server.Certificate().Raw)
	for name, c := range map[string]struct{ content, want string }{
		"empty":                         {"", "no PEM certificate"},
		"something else":                {"hello", "no PEM certificate"},
		"a key":                         {block("PRIVATE KEY", []byte("x")), "PEM block 1 is a PRIVATE KEY"},
		"half a document":               {block("CERTIFICATE", []byte("x")), "PEM block 1"},
		"one of several":                {block("CERTIFICATE", []byte("x")) + block("CERTIFICATE", []byte("y")), "PEM block 1"},
		"a certificate cut":             {"-----BEGIN CERTIFICATE-----\nMIIB", "of 1 PEM blocks only 0"},
		"a good one and one cut":        {good + "-----BEGIN CERTIFICATE-----\nMIIB", "of 2 PEM blocks only 1"},
		"one damaged before a good one": {"-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----\n" + good, "of 2 PEM blocks only 1"},
	} {
		path := write(t, c.content)
		_, err := tlsroots.HTTPClient(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := tlsroots.HTTPClient(filepath.Join(t.TempDir(), "none.pem")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
