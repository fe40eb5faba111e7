package entra

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

// Config describes the directory that the server plays.
type Config struct {
	// Addr is the loopback address to listen on; default 127.0.0.1:7072.
	Addr string
	// DataDir keeps the CA, the signing keys and the refresh token key, so that
	// trust and sign-ins outlive a restart. Empty keeps them in memory.
	DataDir string
	// Tenants are the directories. At least one.
	Tenants []Tenant
	// AutoApprove is the user principal name that every device code is approved
	// as at once. Empty leaves approval to the page.
	AutoApprove string
	// ManagedIdentity is the client ID of the application that IdentityPath gives tokens
	// of, as a managed identity that is the only one of its process. Empty: there is none.
	ManagedIdentity string
	// Now is the clock of everything but the TLS certificates; default time.Now.
	Now func() time.Time
	// Logger receives one line per issued or refused token, never a secret or a
	// token; default discards.
	Logger *slog.Logger
}

// Tenant is one directory.
type Tenant struct {
	// ID is the tenant's GUID.
	ID string
	// Domain is accepted in place of the ID in URLs, as in the real service.
	Domain string
	// Applications are clients, resources, or both.
	Applications []Application
	Users        []User
	// OwnKeys signs the tenant's tokens with keys that no other tenant has. The
	// real service has one set of keys for all tenants of a cloud; with their own,
	// it shows whether a verifier keeps tenants apart.
	OwnKeys bool
}

// Application is an app registration together with its service principal.
type Application struct {
	// ClientID is the application's GUID.
	ClientID string
	// ObjectID is the service principal's GUID: oid and sub of its own tokens.
	// Default: the client ID.
	ObjectID string
	Name     string

	// IdentifierURIs are the names of the application in scopes, besides its
	// client ID, e.g. api://{client-id}. "https://*.documents.azure.com"
	// stands for every host below that domain. None and no Scopes or AppRoles
	// makes an application that is only a client.
	IdentifierURIs []string
	// TokenVersion is the version of the access tokens for this resource, 1 or 2
	// (requestedAccessTokenVersion); default 2. Microsoft's own take 1.
	TokenVersion int
	// Scopes are the delegated permissions, all of them consented to.
	Scopes []string
	// AppRoles are the roles that users and applications can be assigned.
	AppRoles []string

	// Public clients sign users in and have no credential of their own.
	Public bool
	// SPARedirectURIs are the redirect URIs of type single-page application, compared exactly. They
	// belong to a public client.
	SPARedirectURIs []string
	// Secrets and Certificates are the credentials of a confidential client.
	Secrets      []string
	Certificates []*x509.Certificate
	// Roles are the app roles this client is assigned, by resource client ID.
	Roles map[string][]string
}

// User is a person in the directory.
type User struct {
	// UPN is the user principal name, compared without regard to case.
	UPN  string
	Name string
	// ObjectID is the user's GUID.
	ObjectID string
	// Roles are the app roles the user is assigned, by resource client ID.
	Roles map[string][]string
}

// The directory of DefaultConfig. The identifiers are made up; the resource
// client IDs below are Microsoft's own.
const (
	DefaultAddr = "127.0.0.1:7072"

	DefaultTenantID     = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b01"
	DefaultTenantDomain = "contoso.onmicrosoft.com"

	DefaultAdminAPIClientID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b02"
	DefaultAdminAPIAudience = "api://" + DefaultAdminAPIClientID
	// DefaultAdminAPIScope is the scope that the CLI requests.
	DefaultAdminAPIScope = DefaultAdminAPIAudience + "/.default"

	DefaultCLIClientID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b03"
	// DefaultConsoleClientID is the single-page application that the handler serves.
	DefaultConsoleClientID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b08"

	DefaultWorkerClientID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b04"
	// DefaultWorkerSecret guards nothing: the server listens on loopback and
	// its tokens are good for local services only.
	DefaultWorkerSecret = "local-worker-secret"

	// DefaultPeopleClientID is the app registration that data sources of the type graph read with.
	DefaultPeopleClientID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b0b"
	// DefaultPeopleSecret guards nothing either.
	DefaultPeopleSecret = "local-people-secret"

	// DefaultHandlerClientID is the managed identity of the Functions app.
	DefaultHandlerClientID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b07"

	DefaultAdminUPN       = "admin@contoso.onmicrosoft.com"
	DefaultAdminObjectID  = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b05"
	DefaultReaderUPN      = "reader@contoso.onmicrosoft.com"
	DefaultReaderObjectID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b06"

	DefaultOperatorUPN      = "operator@contoso.onmicrosoft.com"
	DefaultOperatorObjectID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b09"
	DefaultApproverUPN      = "approver@contoso.onmicrosoft.com"
	DefaultApproverObjectID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b0a"

	DefaultRequesterUPN      = "requester@contoso.onmicrosoft.com"
	DefaultRequesterObjectID = "7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b0c"

	// The app roles of the admin API.
	RoleReader          = "Reader"
	RoleRequester       = "Requester"
	RoleRequesterForAll = "RequesterForAll"
	RoleOperator        = "Operator"
	RoleApprover        = "Approver"
	RoleAdmin           = "Admin"
)

// Client IDs of Microsoft's resources, the same in every tenant.
const (
	GraphClientID      = "00000003-0000-0000-c000-000000000000"
	ExchangeClientID   = "00000002-0000-0ff1-ce00-000000000000"
	ServiceBusClientID = "80a10ef9-8168-493d-abf9-3297c4ef6e3c"
	CosmosClientID     = "a232010e-820c-4083-83bb-3ace5fc29d0b"
	KeyVaultClientID   = "cfa8b339-82a2-471a-a3c9-0fc0be7a4093"
	ManagementClientID = "797f4846-ba00-4fd7-ba43-dac1f8f63013"
	StorageClientID    = "e406a681-f3d4-42a8-90b6-c2b029497af1"
)

// Audiences that VerifyToken takes for Microsoft's resources.
const (
	GraphAudience      = "https://graph.microsoft.com"
	ExchangeAudience   = "https://outlook.office365.com"
	ServiceBusAudience = "https://servicebus.azure.net"
	CosmosAudience     = "https://cosmos.azure.com"
	KeyVaultAudience   = "https://vault.azure.net"
	ManagementAudience = "https://management.core.windows.net/"
	StorageAudience    = "https://storage.azure.com"
)

// DefaultConfig is the directory of a local installation: the admin API, the
// CLI, a worker allowed to do all that the worker's functions need, an
// administrator, an operator, an approver, a requester and a reader. Every call returns a value of its own.
func DefaultConfig() Config {
	return Config{
		Addr: DefaultAddr,
		Tenants: []Tenant{{
			ID:     DefaultTenantID,
			Domain: DefaultTenantDomain,
			Applications: append(MicrosoftResources(),
				Application{
					ClientID:       DefaultAdminAPIClientID,
					Name:           "matoolkit admin API",
					IdentifierURIs: []string{DefaultAdminAPIAudience},
					Scopes:         []string{"access_as_user"},
					AppRoles:       []string{RoleReader, RoleRequester, RoleRequesterForAll, RoleOperator, RoleApprover, RoleAdmin},
				},
				Application{ClientID: DefaultCLIClientID, Name: "matoolkit CLI", Public: true},
				Application{ClientID: DefaultConsoleClientID, Name: "matoolkit console", Public: true},
				Application{
					ClientID: DefaultPeopleClientID, Name: "matoolkit data sources", Secrets: []string{DefaultPeopleSecret},
					Roles: map[string][]string{GraphClientID: {"User.Read.All", "GroupMember.Read.All", "Sites.Selected"}},
				},
				Application{ClientID: DefaultHandlerClientID, Name: "matoolkit Functions app"},
				Application{
					ClientID: DefaultWorkerClientID,
					Name:     "matoolkit worker",
					Secrets:  []string{DefaultWorkerSecret},
					Roles: map[string][]string{
						GraphClientID: {
							"User.Read.All", "User.ReadWrite.All", "User.EnableDisableAccount.All", "User.Invite.All",
							"User-ConvertToInternal.ReadWrite.All", "GroupMember.ReadWrite.All", "Group.ReadWrite.All", "Mail.Send",
							"Domain.Read.All", "LicenseAssignment.Read.All", "User.RevokeSessions.All", "User-PasswordProfile.ReadWrite.All",
							"SharePointCrossTenantMigration.Manage.All", "SharePointCrossTenantMigration.Read.All", "Files.Read.All", "TeamMember.Read.All", "TeamMember.ReadWrite.All", "Policy.Read.All",
							"CrossTenantContentMigration.Read.All", "CrossTenantContentMigration.ReadWrite.All",
							"UserAuthenticationMethod.Read.All", "UserAuthenticationMethod.ReadWrite.All", "UserAuthMethod-TAP.ReadWrite.All",
						},
						ExchangeClientID: {"Exchange.ManageAsApp"},
					},
				},
			),
			Users: []User{
				{
					UPN: DefaultAdminUPN, Name: "Avery Admin", ObjectID: DefaultAdminObjectID,
					Roles: map[string][]string{DefaultAdminAPIClientID: {RoleAdmin}},
				},
				{
					UPN: DefaultReaderUPN, Name: "Robin Reader", ObjectID: DefaultReaderObjectID,
					Roles: map[string][]string{DefaultAdminAPIClientID: {RoleReader}},
				},
				{
					UPN: DefaultRequesterUPN, Name: "Remy Requester", ObjectID: DefaultRequesterObjectID,
					Roles: map[string][]string{DefaultAdminAPIClientID: {RoleRequester}},
				},
				{
					UPN: DefaultOperatorUPN, Name: "Oakley Operator", ObjectID: DefaultOperatorObjectID,
					Roles: map[string][]string{DefaultAdminAPIClientID: {RoleOperator}},
				},
				{
					UPN: DefaultApproverUPN, Name: "Ariel Approver", ObjectID: DefaultApproverObjectID,
					Roles: map[string][]string{DefaultAdminAPIClientID: {RoleApprover}},
				},
			},
		}},
	}
}

// MicrosoftResources returns the resources that every real tenant has and that
// this system asks tokens for.
func MicrosoftResources() []Application {
	return []Application{
		{
			ClientID: GraphClientID, Name: "Microsoft Graph", TokenVersion: 1,
			IdentifierURIs: []string{GraphAudience},
			Scopes:         []string{"User.Read"},
			AppRoles: []string{
				"User.Read.All", "User.ReadWrite.All", "User.EnableDisableAccount.All", "User.Invite.All",
				"User-ConvertToInternal.ReadWrite.All", "Mail.Send",
				"Sites.Selected", "Sites.Read.All", "Group.Read.All", "Group.ReadWrite.All", "GroupMember.Read.All", "GroupMember.ReadWrite.All",
				"Domain.Read.All", "LicenseAssignment.Read.All", "User.RevokeSessions.All", "User-PasswordProfile.ReadWrite.All",
				"SharePointCrossTenantMigration.Manage.All", "SharePointCrossTenantMigration.Read.All", "Files.Read.All", "TeamMember.Read.All", "TeamMember.ReadWrite.All", "Policy.Read.All",
				"CrossTenantContentMigration.Read.All", "CrossTenantContentMigration.ReadWrite.All",
				"UserAuthenticationMethod.Read.All", "UserAuthenticationMethod.ReadWrite.All", "UserAuthMethod-TAP.ReadWrite.All",
			},
		},
		{
			ClientID: ExchangeClientID, Name: "Office 365 Exchange Online", TokenVersion: 1,
			IdentifierURIs: []string{ExchangeAudience},
			AppRoles:       []string{"Exchange.ManageAsApp"},
		},
		{
			ClientID: ServiceBusClientID, Name: "Microsoft.ServiceBus", TokenVersion: 1,
			IdentifierURIs: []string{ServiceBusAudience, "https://*.servicebus.windows.net"},
			Scopes:         []string{"user_impersonation"},
		},
		{
			ClientID: CosmosClientID, Name: "Azure Cosmos DB", TokenVersion: 1,
			IdentifierURIs: []string{CosmosAudience, "https://*.documents.azure.com"},
			Scopes:         []string{"user_impersonation"},
		},
		{
			ClientID: KeyVaultClientID, Name: "Azure Key Vault", TokenVersion: 1,
			IdentifierURIs: []string{KeyVaultAudience},
			Scopes:         []string{"user_impersonation"},
		},
		{
			ClientID: ManagementClientID, Name: "Azure Resource Manager", TokenVersion: 1,
			IdentifierURIs: []string{ManagementAudience, "https://management.azure.com"},
			Scopes:         []string{"user_impersonation"},
		},
		{
			ClientID: StorageClientID, Name: "Azure Storage", TokenVersion: 1,
			IdentifierURIs: []string{StorageAudience, "https://*.blob.core.windows.net"},
			Scopes:         []string{"user_impersonation"},
		},
	}
}

// AddRedirectURIs adds redirect URIs of type single-page application to the client. The Config must not
// share its tenants with another one.
func (c Config) AddRedirectURIs(clientID string, uris ...string) {
	for _, t := range c.Tenants {
		for i := range t.Applications {
			if a := &t.Applications[i]; a.ClientID == clientID {
				a.SPARedirectURIs = append(a.SPARedirectURIs, uris...)
			}
		}
	}
}

// complete fills in the defaults on a copy and refuses a directory that
// contradicts itself, so that a mistake shows at start and not as a refused
// token later.
func (c Config) complete() (Config, error) {
	if c.Addr == "" {
		c.Addr = DefaultAddr
	}
	if err := checkLoopback(c.Addr); err != nil {
		return Config{}, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if len(c.Tenants) == 0 {
		return Config{}, errors.New("no tenant configured")
	}
	tenants := make([]Tenant, len(c.Tenants))
	names := map[string]bool{}
	for i, t := range c.Tenants {
		tenant, err := t.complete()
		if err != nil {
			return Config{}, fmt.Errorf("tenant %q: %w", t.ID, err)
		}
		for _, name := range []string{tenant.ID, strings.ToLower(tenant.Domain)} {
			if name != "" && names[name] {
				return Config{}, fmt.Errorf("tenant %q is configured twice", name)
			}
			names[name] = true
		}
		tenants[i] = tenant
	}
	c.Tenants = tenants
	if c.AutoApprove != "" {
		if _, _, ok := c.userByUPN(c.AutoApprove); !ok {
			return Config{}, fmt.Errorf("AutoApprove names user %q, which no tenant has", c.AutoApprove)
		}
	}
	return c, nil
}

func (t Tenant) complete() (Tenant, error) {
	if err := uuid.Validate(t.ID); err != nil {
		return Tenant{}, fmt.Errorf("the ID is not a GUID: %w", err)
	}
	t.ID = strings.ToLower(t.ID)
	applications := make([]Application, len(t.Applications))
	seen := map[string]bool{}
	for i, a := range t.Applications {
		if err := uuid.Validate(a.ClientID); err != nil {
			return Tenant{}, fmt.Errorf("application %q: client ID %q is not a GUID: %w", a.Name, a.ClientID, err)
		}
		if seen[a.ClientID] {
			return Tenant{}, fmt.Errorf("application %q: client ID %q is configured twice", a.Name, a.ClientID)
		}
		seen[a.ClientID] = true
		if a.ObjectID == "" {
			a.ObjectID = a.ClientID
		}
		if a.TokenVersion == 0 {
			a.TokenVersion = 2
		}
		if a.TokenVersion != 1 && a.TokenVersion != 2 {
			return Tenant{}, fmt.Errorf("application %q: unknown token version %d: use 1 or 2", a.Name, a.TokenVersion)
		}
		if a.Public && len(a.Secrets)+len(a.Certificates) > 0 {
			return Tenant{}, fmt.Errorf("public client %q cannot have a credential", a.Name)
		}
		if len(a.SPARedirectURIs) > 0 && !a.Public {
			return Tenant{}, fmt.Errorf("application %q: a single-page application is a public client", a.Name)
		}
		for _, uri := range a.SPARedirectURIs {
			if err := checkRedirectURI(uri); err != nil {
				return Tenant{}, fmt.Errorf("application %q: %w", a.Name, err)
			}
		}
		applications[i] = a
	}
	t.Applications = applications
	for _, a := range t.Applications {
		if err := t.checkRoles(a.Roles); err != nil {
			return Tenant{}, fmt.Errorf("application %q: %w", a.Name, err)
		}
	}
	for _, u := range t.Users {
		if u.UPN == "" || seen[strings.ToLower(u.UPN)] {
			return Tenant{}, fmt.Errorf("user %q: the UPN is empty or not unique", u.UPN)
		}
		seen[strings.ToLower(u.UPN)] = true
		if err := uuid.Validate(u.ObjectID); err != nil {
			return Tenant{}, fmt.Errorf("user %q: object ID %q is not a GUID: %w", u.UPN, u.ObjectID, err)
		}
		if err := t.checkRoles(u.Roles); err != nil {
			return Tenant{}, fmt.Errorf("user %q: %w", u.UPN, err)
		}
	}
	return t, nil
}

// checkRoles holds assignments to roles that their resource defines.
func (t Tenant) checkRoles(assigned map[string][]string) error {
	for clientID, roles := range assigned {
		resource, ok := t.application(clientID)
		if !ok {
			return fmt.Errorf("roles refer to %q, which is not an application of the tenant", clientID)
		}
		for _, role := range roles {
			if !slices.Contains(resource.AppRoles, role) {
				return fmt.Errorf("application %q has no role %q", resource.Name, role)
			}
		}
	}
	return nil
}

// checkLoopback refuses every address that other machines can reach: the server
// hands out tokens for the asking.
func checkLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("address %q: %w", addr, err)
	}
	if !loopback.Is(host) {
		return fmt.Errorf("address %q is not on loopback", addr)
	}
	return nil
}
