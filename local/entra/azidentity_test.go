package entra_test

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

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

// options are how every program reaches the server: the authority host and a
// transport that trusts its CA.
func options(server *entra.Server) azcore.ClientOptions {
	return azcore.ClientOptions{
		Cloud:     cloud.Configuration{ActiveDirectoryAuthorityHost: server.URL()},
		Transport: server.HTTPClient(),
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}
}

func TestClientSecretCredential(t *testing.T) {
	t.Parallel()
	server := start(t, entra.DefaultConfig())
	credential, err := azidentity.NewClientSecretCredential(entra.DefaultTenantID, entra.DefaultWorkerClientID, entra.DefaultWorkerSecret,
		&azidentity.ClientSecretCredentialOptions{ClientOptions: options(server), DisableInstanceDiscovery: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ scope, audience string }{
		{"https://graph.microsoft.com/.default", entra.GraphAudience},
		{"https://outlook.office365.com/.default", entra.ExchangeAudience},
		{"https://servicebus.azure.net//.default", entra.ServiceBusAudience},
		{"https://cosmos.azure.com/.default", entra.CosmosAudience},
		{"https://account.documents.azure.com/.default", entra.CosmosAudience},
		{entra.DefaultAdminAPIScope, entra.DefaultAdminAPIAudience},
	} {
		token, err := credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{c.scope}})
		if err != nil {
			t.Errorf("%s: %v", c.scope, err)
			continue
		}
		if err := server.VerifyToken(token.Token, c.audience); err != nil {
			t.Errorf("%s: %v", c.scope, err)
		}
	}
}
