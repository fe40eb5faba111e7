package entra_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

func TestCredentialsAreReplaced(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	ask := func(secret string) int {
		return post(t, server, tokenPath, "grant_type", "client_credentials", "client_id", entra.DefaultWorkerClientID,
			"client_secret", secret, "scope", graphScope).status
	}
	if err := server.SetCredentials(entra.DefaultTenantDomain, entra.DefaultWorkerClientID, []string{"another"}, nil); err != nil {
		t.Fatal(err)
	}
	if old, current := ask(entra.DefaultWorkerSecret), ask("another"); old != 401 || current != 200 {
		t.Errorf("the old secret: %d, the new one: %d", old, current)
	}
	for _, id := range []string{entra.DefaultCLIClientID, entra.DefaultTenantID} {
		if server.SetCredentials(entra.DefaultTenantID, id, []string{"x"}, nil) == nil {
			t.Errorf("%s was given a secret", id)
		}
	}
	if server.SetCredentials("fabrikam.example", entra.DefaultWorkerClientID, nil, nil) == nil {
		t.Error("an unknown tenant was taken")
	}
}

func TestKeyVaultIsAResource(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	token := testenv.Must(server.IssueAppToken(entra.DefaultWorkerClientID, entra.KeyVaultAudience+"/.default"))(t)
	if err := server.VerifyToken(token, entra.KeyVaultAudience); err != nil {
		t.Error(err)
	}
}
