package signin_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/internal/signin"
	"github.com/matoolkit/matoolkit/local/entra"
)

func start(t *testing.T, config entra.Config) *entra.Server {
	t.Helper()
	config.Addr = "127.0.0.1:0"
	server, err := entra.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

func verifierConfig(server *entra.Server) signin.Config {
	return signin.Config{
		Instance:   server.URL() + "/",
		TenantID:   entra.DefaultTenantID,
		ClientID:   entra.DefaultAdminAPIClientID,
		Audience:   entra.DefaultAdminAPIAudience,
		HTTPClient: server.HTTPClient(),
	}
}

func TestUserTokenIsVerified(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	verifier, err := signin.New(t.Context(), verifierConfig(server))
	if err != nil {
		t.Fatal(err)
	}
	token, err := server.IssueUserToken(entra.DefaultAdminUPN, entra.DefaultAdminAPIScope)
	if err != nil {
		t.Fatal(err)
	}
	identity, err := verifier.Verify(t.Context(), "Bearer "+token)
	if err != nil {
		t.Fatal(err)
	}
	if identity.Name != entra.DefaultAdminUPN || !identity.Admin() || identity.IsApp || identity.ObjectID != entra.DefaultAdminObjectID {
		t.Errorf("identity %+v", identity)
	}
}
