package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/entra"
)

// TestByItsIdentity runs the handler with a managed identity, as in Azure: the platform
// provides the token endpoint, the infrastructure the identity's client id, and there
// are no keys. The app has user-assigned identities only, so a request without a client id gets no token.
// Service Bus stays as on one machine, as its SDK takes a token over TLS only.
func TestByItsIdentity(t *testing.T) {
	t.Parallel()
	s := newSystem(t)

	// Cosmos asks for tokens of its own address, here 127.0.0.1.
	const audience = "https://127.0.0.1"
	config := entra.DefaultConfig()
	config.Addr = "127.0.0.1:0"
	config.Tenants[0].Applications = append(config.Tenants[0].Applications, entra.Application{
		ClientID: "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1bf1", Name: "Cosmos DB here", IdentifierURIs: []string{audience}, TokenVersion: 1,
	})
	directory := testenv.Started(entra.Start(t.Context(), config))(t)
	account := testenv.Started(cosmos.Start(t.Context(), cosmos.Config{VerifyToken: func(token string) error {
		claims, err := directory.VerifyClaims(token, audience)
		if err == nil && claims.ClientID != entra.DefaultWorkerClientID {
			err = fmt.Errorf("%s has no role here", claims.ClientID)
		}
		return err
	}}))(t)
	stored := testenv.Must(cosmosstore.Open(cosmosstore.Config{Endpoint: account.URL(), Key: account.Key(), Database: "matoolkit", Container: "matoolkit"}))(t)
	if err := stored.Provision(t.Context()); err != nil {
		t.Fatal(err)
	}
	certificate := testenv.Must(directory.ServerCertificate())(t)
	var front *httptest.Server
	front = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			account.ServeHTTP(w, r)
			return
		}
		// The account tells where it is, which for the handler is here.
		answer := httptest.NewRecorder()
		account.ServeHTTP(answer, r)
		maps.Copy(w.Header(), answer.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Code)
		_, _ = io.WriteString(w, strings.ReplaceAll(answer.Body.String(), account.URL(), front.URL)) // to a client that may have gone
	}))
	front.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	front.StartTLS()
	t.Cleanup(front.Close)
	platform := httptest.NewServer(directory.ManagedIdentity("a header", "", entra.DefaultWorkerClientID))
	t.Cleanup(platform.Close)
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, directory.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}

	settings := s.settings()
	delete(settings, "COSMOS_KEY")
	settings["COSMOS_ENDPOINT"] = front.URL + "/"
	settings["AzureAd__Instance"] = directory.URL() + "/"
	settings["EXTRA_CA_FILE"] = caFile
	settings["IDENTITY_ENDPOINT"], settings["IDENTITY_HEADER"] = platform.URL, "a header"
	token := testenv.Must(directory.IssueUserToken(entra.DefaultAdminUPN, entra.DefaultAdminAPIScope))(t)
	for id, want := range map[string]int{entra.DefaultWorkerClientID: 200, "": 503} {
		if id != "" {
			settings["AZURE_CLIENT_ID"] = id
		} else {
			delete(settings, "AZURE_CLIENT_ID")
		}
		p := start(t, settings)
		p.ready()
		if status, _, body := get(t, p.url+"/api/runbooks", token); status != want || want == 200 && !strings.Contains(body, "items") {
			t.Errorf("as %q: %d %s", id, status, body)
		}
	}
}
