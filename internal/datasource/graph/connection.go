package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/loopback"
)

// A microsoftCloud is a cloud with a Graph and an Entra ID of its own. An app registration is of one cloud.
type microsoftCloud struct {
	graph    string // scheme and host
	entra    cloud.Configuration
	exchange string // audience of a token that stands for a secret
}

var publicCloud = microsoftCloud{"https://graph.microsoft.com", cloud.AzurePublic, "api://AzureADTokenExchange"}

// clouds are those of Microsoft. A token for Graph is sent nowhere else, except to this machine.
var clouds = []microsoftCloud{
	publicCloud,
	{"https://graph.microsoft.us", cloud.AzureGovernment, "api://AzureADTokenExchangeUSGov"},
	{"https://dod-graph.microsoft.us", cloud.AzureGovernment, "api://AzureADTokenExchangeUSGov"},
	{"https://microsoftgraph.chinacloudapi.cn", cloud.AzureChina, "api://AzureADTokenExchangeChina"},
}

// authorityHost is the environment variable with the Entra ID of this program's identity.
const authorityHost = "AZURE_AUTHORITY_HOST"

// connection is the setting that a runbook names.
type connection struct {
	tenant, client string
	secret         string         // empty: a federated credential
	endpoint       string         // scheme and host
	local          bool           // the endpoint is on this machine
	cloud          microsoftCloud // of the endpoint; on this machine, the public one
}

// connectionForm is the end of each error about a connection. Errors quote nothing of the connection, which may be a secret.
const connectionForm = `use "TenantId=…;ClientId=…;ClientSecret=…", or leave ClientSecret out if the app registration trusts the identity of the handler`

var (
	tenantForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$`)
	clientForm = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
)

func parseConnection(text string) (connection, error) {
	c := connection{endpoint: publicCloud.graph}
	fields := map[string]*string{"tenantid": &c.tenant, "clientid": &c.client, "clientsecret": &c.secret, "endpoint": &c.endpoint}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		field, known := fields[name]
		switch {
		case !ok || !known:
			return c, errors.New("it has a part that is not one of TenantId, ClientId, ClientSecret and Endpoint; " + connectionForm)
		case seen[name]:
			return c, errors.New("it has a part twice; " + connectionForm)
		}
		seen[name] = true
		*field = strings.TrimSpace(value)
	}
	switch {
	case !tenantForm.MatchString(c.tenant) || slices.Contains([]string{"common", "organizations", "consumers"}, strings.ToLower(c.tenant)):
		return c, errors.New("TenantId is missing or not the id or a domain of a tenant; " + connectionForm)
	case !clientForm.MatchString(c.client):
		return c, errors.New("ClientId is missing or not the id of an app registration; " + connectionForm)
	case seen["clientsecret"] && c.secret == "":
		return c, errors.New("ClientSecret is empty; " + connectionForm)
	}
	return c.at(c.endpoint)
}

// at checks the endpoint.
func (c connection) at(endpoint string) (connection, error) {
	u, err := url.Parse(endpoint)
	if err == nil && u.User == nil && u.RawQuery == "" && u.Fragment == "" && strings.Trim(u.Path, "/") == "" {
		c.endpoint = strings.ToLower(u.Scheme + "://" + u.Host)
		c.local = (u.Scheme == "http" || u.Scheme == "https") && loopback.Is(u.Hostname())
		if c.local {
			c.cloud = publicCloud
			return c, nil
		}
		if i := slices.IndexFunc(clouds, func(m microsoftCloud) bool { return m.graph == c.endpoint }); i >= 0 {
			c.cloud = clouds[i]
			return c, nil
		}
	}
	var others []string
	for _, m := range clouds[1:] {
		others = append(others, m.graph)
	}
	return c, fmt.Errorf("Endpoint is not the Graph of a Microsoft cloud; leave it out, or use one of %s", strings.Join(others, ", "))
}

// scope is the scope of tokens. The Graph of this machine takes those of the public cloud.
func (c connection) scope() string { return c.cloud.graph + "/.default" }

// credential signs in as the app registration, at the Entra ID of the cloud of the endpoint: another one does not know
// it, and must not get the secret. For a Graph on this machine it is the one of this program, which is identity.
func (c connection) credential(identity azcore.TokenCredential, client *http.Client) (azcore.TokenCredential, error) {
	options := azcore.ClientOptions{Transport: client}
	if !c.local {
		options.Cloud = c.cloud.entra
	}
	localEntra := c.local && datasource.LocalAuthority()
	if c.secret != "" {
		return azidentity.NewClientSecretCredential(c.tenant, c.client, c.secret,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: localEntra})
	}
	if identity == nil {
		return nil, errors.New("ClientSecret is missing, and the handler has no identity that could stand for it")
	}
	if own := cmp.Or(os.Getenv(authorityHost), publicCloud.entra.ActiveDirectoryAuthorityHost); !c.local && !sameHost(own, c.cloud.entra.ActiveDirectoryAuthorityHost) {
		return nil, fmt.Errorf("the identity of the handler cannot stand for ClientSecret: %s is of another cloud, in which the handler has no identity (its %s is %s); add ClientSecret", c.endpoint, authorityHost, cmp.Or(os.Getenv(authorityHost), "not set"))
	}
	assertion := func(ctx context.Context) (string, error) {
		token, err := identity.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{c.cloud.exchange + "/.default"}})
		if err != nil {
			return "", fmt.Errorf("the identity of the handler gets no token for the federated credential: %w", err)
		}
		return token.Token, nil
	}
	return azidentity.NewClientAssertionCredential(c.tenant, c.client, assertion,
		&azidentity.ClientAssertionCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: localEntra})
}

// sameHost reports whether two URLs have one host.
func sameHost(a, b string) bool {
	u, err := url.Parse(a)
	v, err2 := url.Parse(b)
	return err == nil && err2 == nil && strings.EqualFold(u.Hostname(), v.Hostname())
}
