package graph

import (
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
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

const publicGraph = "https://graph.microsoft.com"

// graphs are the Graphs of Microsoft's clouds. A token for Graph is sent nowhere else, except to this machine.
var graphs = []string{publicGraph, "https://graph.microsoft.us", "https://dod-graph.microsoft.us", "https://microsoftgraph.chinacloudapi.cn"}

// exchangeScope is the scope of a token that stands for a secret.
const exchangeScope = "api://AzureADTokenExchange/.default"

// connection is the setting that a runbook names.
type connection struct {
	tenant, client string
	secret         string // empty: a federated credential
	endpoint       string // scheme and host
	local          bool   // the endpoint is on this machine
}

// connectionForm is the end of each error about a connection. Errors quote nothing of the connection, which may be a secret.
const connectionForm = `use "TenantId=…;ClientId=…;ClientSecret=…", or leave ClientSecret out if the app registration trusts the identity of the handler`

var (
	tenantForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$`)
	clientForm = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
)

func parseConnection(text string) (connection, error) {
	c := connection{endpoint: publicGraph}
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
		if c.local || slices.Contains(graphs, c.endpoint) {
			return c, nil
		}
	}
	return c, fmt.Errorf("Endpoint is not the Graph of a Microsoft cloud; leave it out, or use one of %s", strings.Join(graphs[1:], ", ")) //nolint:staticcheck // begins with the name of a part
}

// scope is the scope of tokens. The Graph of this machine takes those of the public cloud.
func (c connection) scope() string {
	if c.local {
		return publicGraph + "/.default"
	}
	return c.endpoint + "/.default"
}

// credential signs in as the app registration. identity is this program's own.
func (c connection) credential(identity azcore.TokenCredential, client *http.Client) (azcore.TokenCredential, error) {
	options := azcore.ClientOptions{Transport: client}
	if c.secret != "" {
		return azidentity.NewClientSecretCredential(c.tenant, c.client, c.secret,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: localAuthority()})
	}
	if identity == nil {
		return nil, errors.New("ClientSecret is missing, and the handler has no identity that could stand for it")
	}
	assertion := func(ctx context.Context) (string, error) {
		token, err := identity.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{exchangeScope}})
		if err != nil {
			return "", fmt.Errorf("the identity of the handler gets no token for the federated credential: %w", err)
		}
		return token.Token, nil
	}
	return azidentity.NewClientAssertionCredential(c.tenant, c.client, assertion,
		&azidentity.ClientAssertionCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: localAuthority()})
}

// localAuthority says that tokens are made on this machine, where there is no service that knows all authorities.
func localAuthority() bool {
	u, err := url.Parse(os.Getenv("AZURE_AUTHORITY_HOST"))
	return err == nil && u.Host != "" && loopback.Is(u.Hostname())
}
