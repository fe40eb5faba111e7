package databricks

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/matoolkit/matoolkit/internal/testenv"
	server "github.com/matoolkit/matoolkit/local/databricks"
	"github.com/matoolkit/matoolkit/local/entra"
)

// elsewhere gives tokens for another resource than the one that is asked for.
type elsewhere struct{ azcore.TokenCredential }

// The token that Entra ID gives to a real credential is for Azure Databricks, and a
// token for anything else is refused.
func TestSignIn(t *testing.T) {
	t.Parallel()
	const application = "2ff814a6-3304-4ab8-85cb-cd0e6f879c1d"
	config := entra.DefaultConfig()
	config.Addr = "127.0.0.1:0"
	config.Tenants[0].Applications = append(config.Tenants[0].Applications, entra.Application{
		ClientID: application, Name: "AzureDatabricks", TokenVersion: 1, Scopes: []string{"user_impersonation"},
	})
	directory := testenv.Started(entra.Start(t.Context(), config))(t)
	result, want := people(5, 2)
	workspace := testenv.Started(server.Start(t.Context(), server.Config{
		Warehouses:  []string{warehouseOne},
		VerifyToken: func(token string) error { return directory.VerifyToken(token, application) },
		Run:         func(server.Query) server.Result { return result },
	}))(t)
	good := testenv.Must(azidentity.NewClientSecretCredential(entra.DefaultTenantID, entra.DefaultWorkerClientID, entra.DefaultWorkerSecret,
		&azidentity.ClientSecretCredentialOptions{
			ClientOptions:            azcore.ClientOptions{Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: directory.URL()}, Transport: directory.HTTPClient()},
			DisableInstanceDiscovery: true,
		}))(t)
	read := func(credential azcore.TokenCredential) ([]string, error) {
		spec := spec(workspace)
		spec.Credential = credential
		source := testenv.Must(open(spec, hasty()))(t)
		return read(t.Context(), source)
	}
	if got, err := read(good); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := read(elsewhere{good}); err == nil || !strings.Contains(err.Error(), "the workspace answered 401: 401: Invalid access token") {
		t.Errorf("error %v", err)
	}
}

func (e elsewhere) GetToken(ctx context.Context, _ policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return e.TokenCredential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{"https://graph.microsoft.com/.default"}})
}
