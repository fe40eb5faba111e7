package database

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/tds"
)

// refusing is a credential that gives no token.
type refusing struct{}

func (refusing) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, errors.New("not today")
}

// An application signs in: its token comes from the directory, and the server checks it.
// The tenant is in the connection, or the server is asked for it.
func TestApplicationsSignIn(t *testing.T) {
	directory := entra.DefaultConfig()
	directory.Addr = "127.0.0.1:0"
	directory.Tenants[0].Applications = append(directory.Tenants[0].Applications,
		entra.Application{ClientID: "022907d3-0f1b-48f7-badc-1ba6abab6d66", Name: "Azure SQL Database", TokenVersion: 1, IdentifierURIs: []string{"https://database.windows.net"}, AppRoles: []string{"any"}},
		entra.Application{ClientID: "00000007-0000-0000-c000-000000000000", Name: "Dataverse", TokenVersion: 1, IdentifierURIs: []string{"https://contoso.crm4.dynamics.com"}, AppRoles: []string{"any"}},
	)
	authority := testenv.Started(entra.Start(t.Context(), directory))(t)
	t.Setenv("AZURE_AUTHORITY_HOST", authority.URL()+"/")
	for _, c := range []struct {
		name, server, audience string
		open                   datasource.Open
	}{
		{"azure", azureHost, "https://database.windows.net", OpenSQL},
		{"dataverse", dataverseHost + ",5558", "https://contoso.crm4.dynamics.com", OpenDataverse},
	} {
		s := serve(t, tds.Config{
			STSURL: authority.URL() + "/" + entra.DefaultTenantID, SPN: "https://graph.microsoft.com/",
			CheckToken: func(token string) error {
				claims, err := authority.VerifyClaims(token, c.audience)
				if err == nil && claims.ClientID != entra.DefaultWorkerClientID {
					err = errors.New("of another application")
				}
				return err
			},
		})
		s.answer(t, "SELECT id", tds.Result{Columns: []tds.Column{{Name: "id", Type: tds.Int}}, Rows: [][]any{{1}}})
		for user, library := range map[string]string{
			entra.DefaultWorkerClientID:                               tds.ActiveDirectory,
			entra.DefaultWorkerClientID + "@" + entra.DefaultTenantID: tds.SecurityToken,
		} {
			for secret, good := range map[string]bool{entra.DefaultWorkerSecret: true, "hunter2": false} {
				before := len(s.Logins())
				source := s.source(t, kind{
					name:    c.name,
					connect: "Server=" + c.server + ";Workstation ID=%s;Certificate=%s;Authentication=Active Directory Service Principal;User ID=" + user + ";Password=" + secret,
					open:    c.open,
				}, "SELECT id")
				source.spec.HTTPClient = authority.HTTPClient()
				_, rows, err := all(t, source)
				if good != (err == nil && len(rows) == 1) || err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("%s, %s: %v, %v", c.name, library, rows, err)
				}
				if logins := s.Logins(); good && (len(logins) != before+1 || logins[before].Library != library) || !good && len(logins) != before {
					t.Errorf("%s, %s: %v", c.name, library, logins)
				}
			}
		}
	}
}
