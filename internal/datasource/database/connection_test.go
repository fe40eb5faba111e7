package database

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// identity is a credential whose tokens name the scope that they are for.
type identity struct{}

func (identity) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "token for " + strings.Join(o.Scopes, " "), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func TestConnections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		connection   string
		dataverse    bool
		host         string
		port         uint64
		database     string
		readOnly     bool
		trustsServer bool
		signIn       signIn
	}{
		{connection: "Server=tcp:contoso.database.windows.net,1433;Initial Catalog=people;Persist Security Info=False;User ID=reader;Password=hunter2;MultipleActiveResultSets=False;Encrypt=True;TrustServerCertificate=False;Connection Timeout=30;", host: "contoso.database.windows.net", port: 1433, database: "people", readOnly: true},
		{connection: `data source=sql.contoso.com;uid=reader;pwd="hunter2;x""y"`, host: "sql.contoso.com"},
		{connection: "sqlserver://reader:hunter2@sql.contoso.com:1533?database=people&encrypt=strict", host: "sql.contoso.com", port: 1533, database: "people", readOnly: true},
		{connection: `sqlserver://reader:hunter2@sql.contoso.com:1533/SQLEXPRESS`, host: "sql.contoso.com", port: 1533},
		{connection: "Server=sql.contoso.com;User ID=reader;Password=hunter2;Database=people;ApplicationIntent=ReadWrite", host: "sql.contoso.com", database: "people"},
		{connection: "Server=localhost,1444;User ID=reader;Password=hunter2;TrustServerCertificate=True", host: "localhost", port: 1444, trustsServer: true},
		{connection: "sqlserver://reader:hunter2@[::1]:1444?trustservercertificate=true", host: "::1", port: 1444, trustsServer: true},
		{connection: "Server=contoso.database.windows.net;Database=people", host: "contoso.database.windows.net", database: "people", readOnly: true, signIn: signIn{scope: azureSQLScope}},
		{connection: "Server=contoso.database.windows.net;Authentication=Active Directory Default", host: "contoso.database.windows.net", signIn: signIn{scope: azureSQLScope}},
		{connection: `Server=contoso.database.windows.net;Authentication="Active Directory Managed Identity"`, host: "contoso.database.windows.net", signIn: signIn{scope: azureSQLScope}},
		{connection: "sqlserver://contoso.database.usgovcloudapi.net?fedauth=ActiveDirectoryMSI", host: "contoso.database.usgovcloudapi.net", signIn: signIn{scope: "https://database.usgovcloudapi.net/.default"}},
		{connection: "Server=contoso.database.windows.net;Authentication=Active Directory Service Principal;User ID=app;Password=hunter2", host: "contoso.database.windows.net", signIn: signIn{scope: azureSQLScope, client: "app", secret: "hunter2"}},
		{connection: "sqlserver://app%40tenant:hunter2@contoso.database.windows.net?fedauth=ActiveDirectoryApplication", host: "contoso.database.windows.net", signIn: signIn{scope: azureSQLScope, client: "app", tenant: "tenant", secret: "hunter2"}},
		{connection: "Server=contoso.database.windows.net;Authentication=Sql Password;User ID=reader;Password=hunter2", host: "contoso.database.windows.net"},

		{dataverse: true, connection: "Server=contoso.crm4.dynamics.com,5558", host: "contoso.crm4.dynamics.com", port: 5558, signIn: signIn{scope: "https://contoso.crm4.dynamics.com/.default"}},
		{dataverse: true, connection: "Server=Contoso.crm.dynamics.com;Authentication=Active Directory Default;Database=contoso", host: "Contoso.crm.dynamics.com", database: "contoso", signIn: signIn{scope: "https://contoso.crm.dynamics.com/.default"}},
		{dataverse: true, connection: "sqlserver://contoso.crm.microsoftdynamics.us", host: "contoso.crm.microsoftdynamics.us", signIn: signIn{scope: "https://contoso.crm.microsoftdynamics.us/.default"}},
		{dataverse: true, connection: "Server=contoso.crm.dynamics.com;Database=contoso;ApplicationIntent=ReadOnly", host: "contoso.crm.dynamics.com", database: "contoso", readOnly: true, signIn: signIn{scope: "https://contoso.crm.dynamics.com/.default"}},
		{dataverse: true, connection: "Server=contoso.crm.dynamics.com;Authentication=Active Directory Service Principal;User ID=app@tenant;Password=hunter2", host: "contoso.crm.dynamics.com", signIn: signIn{scope: "https://contoso.crm.dynamics.com/.default", client: "app", tenant: "tenant", secret: "hunter2"}},
		{dataverse: true, connection: "Server=127.0.0.1,14330;TrustServerCertificate=True", host: "127.0.0.1", port: 14330, trustsServer: true, signIn: signIn{scope: "https://127.0.0.1/.default"}},
	} {
		spec := datasource.Spec{Connection: c.connection, Query: "SELECT 1", Credential: identity{}}
		open := OpenSQL
		if c.dataverse {
			open = OpenDataverse
		}
		source, err := open(spec)
		if err != nil {
			t.Errorf("%s: %v", c.connection, err)
			continue
		}
		got := source.(*sqlServer)
		config := got.connection.config
		if config.Host != c.host || config.Port != c.port || config.Database != c.database || config.ReadOnlyIntent != c.readOnly || got.connection.trustsServer != c.trustsServer || got.connection.signIn != c.signIn {
			t.Errorf("%s: %s, %d, %s, read only %v, trusting %v, %+v", c.connection, config.Host, config.Port, config.Database, config.ReadOnlyIntent, got.connection.trustsServer, got.connection.signIn)
		}
		if config.TLSConfig.InsecureSkipVerify != c.trustsServer || config.TLSConfig.ServerName != c.host || config.Encryption != msdsn.EncryptionRequired && config.Encryption != msdsn.EncryptionStrict {
			t.Errorf("%s: encryption %v, certificate of %s, unchecked: %v", c.connection, config.Encryption, config.TLSConfig.ServerName, config.TLSConfig.InsecureSkipVerify)
		}
		if config.ConnTimeout != 0 || !config.DisableRetry || config.LogFlags != 0 {
			t.Errorf("%s: reads time out after %v, retries: %v, log %v", c.connection, config.ConnTimeout, !config.DisableRetry, config.LogFlags)
		}
		if got.transaction == c.dataverse {
			t.Errorf("%s: in a transaction: %v", c.connection, got.transaction)
		}
	}
}

func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text.pem")
	if err := os.WriteFile(text, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	const user = "User ID=someuser;Password=hunter2;"
	for _, c := range []struct {
		connection string
		dataverse  bool
		want       string // in the error
	}{
		{"", false, "with one of the schemes"},
		{"hunter2", false, "with one of the schemes"},
		{"postgres://someuser:hunter2@host/people", false, "use type: postgres"},
		{"mysql://someuser:hunter2@host/people", false, "with one of the schemes"},
		{"https://hunter2.example.com/?a=b", false, "with one of the schemes"},
		{"Server=sql.contoso.com;" + user + "Encrypt=False", false, "always encrypted"},
		{"Server=sql.contoso.com;" + user + "Encrypt=disable", false, "always encrypted"},
		{"sqlserver://someuser:hunter2@sql.contoso.com?encrypt=optional", false, "always encrypted"},
		{"Server=sql.contoso.com;" + user + "Encrypt=hunter2", false, "always encrypted"},
		{"Server=sql.contoso.com;" + user + "TrustServerCertificate=True", false, "on this machine"},
		{"Server=sql.contoso.com;" + user + "TrustServerCertificate=hunter2", false, "on this machine"},
		{"Server=127.0.0.1.contoso.com;" + user + "Trust Server Certificate=yes", false, "on this machine"},
		{"Server=sql.contoso.com;" + user + "Certificate=/nowhere/hunter2.pem", false, "cannot be read: no such file"},
		{"Server=sql.contoso.com;" + user + "Certificate=" + text, false, "no PEM certificate"},
		{"Server=sql.contoso.com;" + user + "Integrated Security=true", false, "Windows authentication"},
		{"Server=sql.contoso.com;User ID=someuser;Password=abc;hunter2=1", false, "unknown option"},
		{"Server=sql.contoso.com;User ID=someuser;Password=abc;hunter2", false, "unknown option"},
		{"Server=sql.contoso.com;" + user + "log=63", false, "unknown option"},
		{"Server=sql.contoso.com;" + user + "Failover Partner=b", false, "unknown option"},
		{"Server=sql.contoso.com,hunter2;" + user, false, "invalid port"},
		{"sqlserver://someuser:hunter2@sql.contoso.com:port", false, "invalid port"},
		{"sqlserver://someuser:hunter2@sql.contoso.com?database=a&database=b", false, "invalid port"},
		{"Server=sql.contoso.com;" + user + "MultipleActiveResultSets=True", false, "MultipleActiveResultSets"},
		{"Server=sql.contoso.com;" + user + "ApplicationIntent=hunter2;Database=a", false, "ReadOnly or ReadWrite"},
		{`Server=sql.contoso.com\hunter2;` + user, false, "give the port"},
		{"Server=np:sql;" + user, false, "not a host name"},
		{"Server=admin:sql;" + user, false, "only TCP"},
		{"Server=a b;" + user, false, "not a host name"},
		{"Database=people;" + user, false, "server is missing"},
		{"Server=;" + user, false, "server is missing"},
		{"Server=sql.contoso.com;Database=people", false, "authentication is missing"},
		{"Server=localhost;Database=people", false, "authentication is missing"},
		{"Server=sql.contoso.com;User ID=someuser", false, "both User ID and Password"},
		{"Server=sql.contoso.com;Authentication=Active Directory Default", false, "only to Azure SQL"},
		{"Server=database.windows.net.contoso.com;Authentication=Active Directory Default", false, "only to Azure SQL"},
		{"Server=evildatabase.windows.net;Authentication=Active Directory Service Principal;" + user, false, "only to Azure SQL"},
		{"Server=a.database.windows.net;Authentication=Active Directory Default;" + user, false, "remove User ID and Password"},
		{"Server=a.database.windows.net;Authentication=Active Directory Service Principal;User ID=someuser", false, "client id"},
		{"Server=a.database.windows.net;Authentication=Active Directory Service Principal;User ID=someuser@a/b;Password=hunter2", false, "client id"},
		{"Server=a.database.windows.net;Authentication=Active Directory Password;" + user, false, "unsupported Authentication"},
		{"Server=a.database.windows.net;Authentication=Active Directory Interactive", false, "unsupported Authentication"},
		{"Server=a.database.windows.net;Authentication=hunter2", false, "unsupported Authentication"},
		{"Server=a.database.windows.net;Authentication=Active Directory Default;fedauth=ActiveDirectoryDefault", false, "exclude each other"},

		{"https://contoso.crm.dynamics.com", true, "crm4.dynamics.com"},
		{"contoso.crm.dynamics.com", true, "crm4.dynamics.com"},
		{"sqlite:people.db", true, "crm4.dynamics.com"},
		{"Server=contoso.crm.dynamics.com;" + user, true, "Dataverse accepts no passwords"},
		{"sqlserver://someuser:hunter2@contoso.crm.dynamics.com", true, "Dataverse accepts no passwords"},
		{"Server=contoso.crm.dynamics.com;Authentication=Sql Password;" + user, true, "Dataverse accepts no passwords"},
		{"Server=contoso.crm.dynamics.com,1434", true, "1433 or 5558"},
		{"Server=contoso.database.windows.net", true, "not a Dataverse environment"},
		{"Server=contoso.crm.dynamics.com.example.com", true, "not a Dataverse environment"},
		{"Server=crm.dynamics.com", true, "not a Dataverse environment"},
		{"Server=a.b.crm.dynamics.com", true, "not a Dataverse environment"},
	} {
		open := OpenSQL
		if c.dataverse {
			open = OpenDataverse
		}
		_, err := open(datasource.Spec{Connection: c.connection, Query: "SELECT 1", Credential: identity{}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.connection, err)
			continue
		}
		for _, part := range []string{"hunter2", "someuser", "contoso"} {
			if strings.Contains(strings.ReplaceAll(err.Error(), "organization.crm4", ""), part) {
				t.Errorf("%s: the error quotes it: %v", c.connection, err)
			}
		}
	}
	for _, c := range []string{"Server=a.database.windows.net;Database=b", "Server=a.database.windows.net;Authentication=Active Directory Managed Identity"} {
		if _, err := OpenSQL(datasource.Spec{Connection: c, Query: "SELECT 1"}); err == nil || !strings.Contains(err.Error(), "identity") {
			t.Errorf("%s without an identity: %v", c, err)
		}
	}
	if _, err := OpenDataverse(datasource.Spec{Connection: "Server=a.crm.dynamics.com", Query: "SELECT 1"}); err == nil || !strings.Contains(err.Error(), "identity") {
		t.Errorf("dataverse without an identity: %v", err)
	}
}

func TestTenantOf(t *testing.T) {
	t.Parallel()
	for sts, want := range map[string]string{
		"https://login.microsoftonline.com/7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01": "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01",
		"https://login.windows.net/contoso.onmicrosoft.com/oauth2/authorize":     "contoso.onmicrosoft.com",
		"https://login.windows.net/common":                                       "",
		"https://login.windows.net/":                                             "",
		"https://login.windows.net":                                              "",
		"":                                                                       "",
		"https://login.windows.net/..%2fcommon":                                  "",
		"://":                                                                    "",
		"https://evil.example.com/7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01?authority=login.": "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01",
	} {
		got, err := tenantOf(sts)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", sts, got, err)
		}
	}
}
