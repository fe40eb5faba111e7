package database

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/loopback"
)

// signIn is who signs in to SQL Server, and how. The zero value is a user with a password,
// who stands in the configuration of the driver.
type signIn struct {
	// scope is the scope of the token; empty means no token.
	scope string
	// client and secret are those of an application; empty: this program's identity. tenant is
	// empty where the server is asked for it.
	client, secret, tenant string
}

const azureSQLScope = "https://database.windows.net/.default"

// tokenHosts are the ends of the names of those services that a token is given to, and what
// it is for. A token goes nowhere else.
var tokenHosts = []struct{ suffix, scope string }{
	{".database.windows.net", azureSQLScope},
	{".sql.azuresynapse.net", azureSQLScope},
	{".database.fabric.microsoft.com", azureSQLScope},
	{".datawarehouse.fabric.microsoft.com", azureSQLScope},
	{".database.usgovcloudapi.net", "https://database.usgovcloudapi.net/.default"},
	{".database.chinacloudapi.cn", "https://database.chinacloudapi.cn/.default"},
}

func scopeFor(host string, dataverse bool) string {
	host = strings.ToLower(host)
	if dataverse {
		return "https://" + host + "/.default"
	}
	for _, h := range tokenHosts {
		if strings.HasSuffix(host, h.suffix) {
			return h.scope
		}
	}
	if loopback.Is(host) {
		return azureSQLScope
	}
	return ""
}

func parseSignIn(config msdsn.Config, parameters map[string]string, dataverse bool) (signIn, error) {
	l := login{user: config.User, password: config.Password, scope: scopeFor(config.Host, dataverse), dataverse: dataverse}
	method, err := authentication(parameters)
	if err != nil {
		return signIn{}, err
	}
	if method == "" {
		switch {
		case l.user != "" || l.password != "":
			method = "sqlpassword"
		case l.scope != "" && (dataverse || !loopback.Is(config.Host)):
			method = "activedirectorydefault"
		default:
			return signIn{}, errors.New("authentication is missing: set User ID and Password, or Authentication")
		}
	}
	switch method {
	case "sqlpassword":
		return l.byPassword()
	case "activedirectorydefault", "activedirectorymanagedidentity", "activedirectorymsi":
		return l.byIdentity()
	case "activedirectoryserviceprincipal", "activedirectoryapplication":
		return l.byApplication()
	}
	return signIn{}, errors.New("unsupported Authentication; use Active Directory Default, Active Directory Managed Identity, Active Directory Service Principal or SqlPassword")
}

// authentication returns the method that a connection string names, in lower case and
// without spaces; empty if it names none.
func authentication(parameters map[string]string) (string, error) {
	method, named := parameters["authentication"]
	if v, ok := parameters["fedauth"]; ok {
		if named {
			return "", errors.New("Authentication and fedauth exclude each other")
		}
		method = v
	}
	return strings.ToLower(strings.NewReplacer(" ", "", "'", "").Replace(method)), nil
}

// login holds the credentials of a connection string.
type login struct {
	user, password string
	scope          string // of a token for its server; empty if a token is not given to it
	dataverse      bool
}

func (l login) byPassword() (signIn, error) {
	if l.dataverse {
		return signIn{}, errors.New("Dataverse accepts no passwords: remove User ID and Password to use the handler's identity, or use Authentication=Active Directory Service Principal")
	}
	if l.user == "" || l.password == "" {
		return signIn{}, errors.New("set both User ID and Password")
	}
	return signIn{}, nil
}

func (l login) byIdentity() (signIn, error) {
	if l.user != "" || l.password != "" {
		return signIn{}, errors.New("remove User ID and Password: this Authentication uses the handler's identity")
	}
	if l.scope == "" {
		return signIn{}, errTokenHost
	}
	return signIn{scope: l.scope}, nil
}

func (l login) byApplication() (signIn, error) {
	client, tenant, hasTenant := strings.Cut(l.user, "@")
	if client == "" || l.password == "" || hasTenant && !tenantName.MatchString(tenant) {
		return signIn{}, errors.New("Active Directory Service Principal needs the client id of the application as User ID (or client id@tenant id), and its secret as Password")
	}
	if l.scope == "" {
		return signIn{}, errTokenHost
	}
	return signIn{scope: l.scope, client: client, secret: l.password, tenant: tenant}, nil
}

var (
	errTokenHost = errors.New("tokens are sent only to Azure SQL (such as name.database.windows.net), and the server is another")
	tenantName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)
)

// connector makes the driver's one, which signs in so. The token is for the scope that is
// known beforehand and never for what a server asks for.
func (s signIn) connector(config msdsn.Config, identity azcore.TokenCredential, client *http.Client) (*mssql.Connector, error) {
	if s.scope == "" {
		return mssql.NewConnectorConfig(config), nil
	}
	config.User, config.Password = "", ""
	if s.client != "" && s.tenant == "" {
		// The server says of which tenant it is, and only that is taken from it: the secret
		// goes where this program's own environment says.
		return mssql.NewActiveDirectoryTokenConnector(config, mssql.FedAuthADALWorkflowPassword, func(ctx context.Context, _, sts string) (string, error) {
			tenant, err := tenantOf(sts)
			if err != nil {
				return "", err
			}
			return s.application(ctx, tenant, client)
		})
	}
	return mssql.NewSecurityTokenConnector(config, func(ctx context.Context) (string, error) {
		if s.client != "" {
			return s.application(ctx, s.tenant, client)
		}
		return s.token(ctx, identity)
	})
}

func (s signIn) application(ctx context.Context, tenant string, client *http.Client) (string, error) {
	options := &azidentity.ClientSecretCredentialOptions{DisableInstanceDiscovery: datasource.LocalAuthority()}
	if client != nil {
		options.Transport = client
	}
	credential, err := azidentity.NewClientSecretCredential(tenant, s.client, s.secret, options)
	if err != nil {
		return "", fmt.Errorf("credential of the application: %w", err)
	}
	return s.token(ctx, credential)
}

func (s signIn) token(ctx context.Context, credential azcore.TokenCredential) (string, error) {
	token, err := credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{s.scope}})
	if err != nil {
		return "", fmt.Errorf("no token for %s: %w", s.scope, err)
	}
	return token.Token, nil
}

// tenantOf is the tenant of the address where tokens of it are made.
func tenantOf(sts string) (string, error) {
	u, err := url.Parse(sts)
	if err == nil {
		tenant, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
		if tenantName.MatchString(tenant) && tenant != "common" && tenant != "organizations" {
			return tenant, nil
		}
	}
	return "", errors.New("the server does not report its tenant; write the User ID as client id@tenant id")
}
