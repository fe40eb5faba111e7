package matrix_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Everybody in the tenant at the start.
const (
	adaID   = "11111111-0000-4000-8000-000000000001" // a mail user
	bobID   = "11111111-0000-4000-8000-000000000002" // has a mailbox, is in both groups
	caraID  = "11111111-0000-4000-8000-000000000003" // no recipient
	eveID   = "11111111-0000-4000-8000-000000000004" // signs in with an account of another organisation
	syncID  = "11111111-0000-4000-8000-000000000005" // comes from on-premises
	groupID = "22222222-0000-4000-8000-000000000001"
	listID  = "22222222-0000-4000-8000-000000000002" // a distribution list
	nobody  = "99999999-0000-4000-8000-000000000009"

	skuID          = "05e9a617-0261-4cee-bb44-138d3ef5d965" // of SPE_E3, and its plans
	exchangePlanID = "efb87545-963c-4e0d-99df-69c6916d9eb0"
	teamsPlanID    = "57ff2da0-773e-42df-b2af-ffb7a2317929"

	exchangeGUID = "33333333-0000-4000-8000-000000000001"
	archiveGUID  = "33333333-0000-4000-8000-000000000002"
)

func people() tenant.Seed {
	user := func(id, name string, more tenant.User) tenant.User {
		u := tenant.User{
			"id": id, "userPrincipalName": name + "@contoso.example", "displayName": name, "mailNickname": name, "accountEnabled": true,
			"department": "Sales", "createdDateTime": "2026-01-01T00:00:00Z",
		}
		for k, v := range more {
			u[k] = v
		}
		return u
	}
	return tenant.Seed{
		VerifiedDomains: []string{"contoso.example", "fabrikam.example"},
		Licenses: []tenant.License{
			{SkuPartNumber: "SPE_E3", SkuID: skuID, Enabled: 25, Consumed: 23, Plans: []tenant.ServicePlan{
				{ID: exchangePlanID, Name: "EXCHANGE_S_ENTERPRISE", Service: "exchange"}, {ID: teamsPlanID, Name: "TEAMS1", Service: "TeamspaceAPI"},
			}},
			{SkuPartNumber: "SPE_E5", SkuID: "06ebc4ee-1bb5-47dd-8120-11324bc54e06", Enabled: 1, Consumed: 1},
			{SkuPartNumber: "VISIOCLIENT", SkuID: "c5928f49-12ba-48f7-ada3-0d743a3601d5", Enabled: 5},
		},
		Users: []tenant.User{
			user(adaID, "ada", nil), user(bobID, "bob", tenant.User{"usageLocation": "US"}), user(caraID, "cara", nil),
			user(eveID, "eve", tenant.User{"externalUserState": "Accepted", "mail": "eve@old.example", "userType": "Guest"}),
			user(syncID, "sync", tenant.User{"onPremisesUserPrincipalName": "sync@corp.example"}),
		},
		Groups: []tenant.SeedGroup{
			{Members: []string{bobID}, Properties: map[string]any{
				"id": groupID, "displayName": "pilots", "mailNickname": "pilots", "mailEnabled": false, "securityEnabled": true,
			}},
			{Members: []string{bobID}, Properties: map[string]any{
				"id": listID, "displayName": "list", "mailNickname": "list", "mailEnabled": true, "securityEnabled": false, "mail": "list@contoso.example",
			}},
		},
		Recipients: []tenant.Recipient{
			{
				Kind: tenant.MailUser, GUID: "44444444-0000-4000-8000-000000000001", ExternalDirectoryObjectID: adaID, Name: "ada", Alias: "ada",
				EmailAddresses:       []string{"SMTP:ada@contoso.example", "smtp:a.l@contoso.example", "X500:/o=old/cn=ada"},
				ExternalEmailAddress: "ada@old.example",
			},
			{
				Kind: tenant.UserMailbox, GUID: "44444444-0000-4000-8000-000000000002", ExternalDirectoryObjectID: bobID, Name: "bob", Alias: "bob",
				EmailAddresses: []string{"SMTP:bob@contoso.example"},
			},
		},
	}
}

// row is a function as a job asks for it.
type row struct {
	name     string // of its golden file
	function string
	params   map[string]any
	seed     func(*tenant.Seed)
	// movesPrimary: the tenant moves a primary address along with the external one.
	movesPrimary bool
	// ignoresPrimary: the tenant ignores the primary address of a new mail user.
	ignoresPrimary bool
	permissions    []string // of the application; nil: those that the catalogue names
	refusals       []refusal
}

// refusal is a documented error: the failure's type, and part of what it says. The
// tenant is as it was afterwards.
type refusal struct {
	note   string
	change map[string]any // of the row's parameters; nil takes one away
	kind   string
	says   string
}

// Types of failures that the tenant's answers have.
const (
	notFound       = "Request_ResourceNotFound"
	badRequest     = "Request_BadRequest"
	objectNotFound = "Microsoft.Exchange.Configuration.Tasks.ManagementObjectNotFoundException"
	addressTaken   = "Microsoft.Exchange.Configuration.ObjectModel.ProxyAddressExistsException"
	addressInvalid = "Microsoft.Exchange.Data.DataValidationException"
	notAccepted    = "Microsoft.Exchange.Configuration.ObjectModel.NotAcceptedDomainException"
	recipientTask  = "Microsoft.Exchange.Management.Tasks.RecipientTaskException"
)

var (
	unknownUser      = refusal{"a user who does not exist", map[string]any{"UserId": nobody}, notFound, nobody}
	unknownRecipient = refusal{"a recipient who does not exist", map[string]any{"Identity": nobody}, objectNotFound, nobody}
	notAMailUser     = refusal{"a mailbox, not a mail user", map[string]any{"Identity": bobID}, objectNotFound, "couldn't be found"}
	malformed        = "isn't a valid SMTP address"
	mailEnabled      = refusal{"a group that Exchange manages", map[string]any{"GroupId": listID}, badRequest, "mail-enabled security groups"}
	unknownGroup     = refusal{"a group that does not exist", map[string]any{"GroupId": nobody}, notFound, nobody}
)

// graceAsMailUser are the parameters of a mail user to be created, with changes.
func graceAsMailUser(change map[string]any) map[string]any {
	params := map[string]any{
		"DisplayName": "Grace Hopper", "UserPrincipalName": "grace@contoso.example", "GivenName": "Grace", "Surname": "Hopper",
		"ExternalEmail": "grace@old.example", "SecondaryEmails": []string{"grace@fabrikam.example"}, "ExchangeGuid": exchangeGUID,
		"LegacyExchangeDN": "/o=old/cn=grace", "X500Addresses": []string{"X500:/o=older/cn=grace"},
	}
	maps.Copy(params, change)
	return params
}

// withLicense gives users SPE_E3: the first directly, the second from a group that has none left.
func withLicense(s *tenant.Seed) {
	state := func(group any, state, problem string) []any {
		return []any{map[string]any{"skuId": skuID, "assignedByGroup": group, "state": state, "error": problem, "disabledPlans": []any{}}}
	}
	bob, sync := s.Users[1], s.Users[4]
	bob["assignedLicenses"] = []any{map[string]any{"skuId": skuID, "disabledPlans": []any{}}}
	bob["licenseAssignmentStates"] = state(nil, "Active", "None")
	bob["provisionedPlans"] = []any{
		map[string]any{"service": "exchange", "capabilityStatus": "Enabled", "provisioningStatus": "Success"},
		map[string]any{"service": "TeamspaceAPI", "capabilityStatus": "Enabled", "provisioningStatus": "PendingActivation"},
	}
	sync["licenseAssignmentStates"] = state(groupID, "Error", "CountViolation")
}

var noSubscription = refusal{"a product that the tenant does not have", map[string]any{"SkuPartNumber": "EMS"}, catalog.FailureConflict, "no subscription of EMS"}

func rows() []row {
	return slices.Concat(userRows(), sourceRows(), groupRows(), permissionRows(), moveRows(), contactRows(), contentRows(), teamRows(), entraGroupRows(), groupMailRows(), jobRows(), signInRows(), mailRows())
}

// userRows are of users, and of recipients as such.
func userRows() []row {
	return []row{
		{
			name: "New-EntraUser", function: "New-EntraUser",
			params: map[string]any{
				"DisplayName": "Grace Hopper", "UserPrincipalName": "grace@contoso.example", "Mail": "grace@contoso.example",
				"OtherMails": []string{"grace@old.example"}, "UsageLocation": "US", "Department": "Navy", "EmployeeId": 17,
			},
			refusals: []refusal{
				{"another user has the name", map[string]any{"UserPrincipalName": "ada@contoso.example"}, catalog.FailureConflict, "displayName"},
				{"another user has the address", map[string]any{"Mail": "bob@contoso.example"}, badRequest, "proxyAddresses"},
				{"another user has the nickname", map[string]any{"MailNickname": "bob"}, badRequest, "mailNickname"},
				{"a domain that is not verified", map[string]any{"UserPrincipalName": "g@other.example"}, badRequest, "verified domain"},
				{"a name that is none", map[string]any{"UserPrincipalName": "grace"}, catalog.FailureParameters, "must be an address"},
				{"a country that is none", map[string]any{"UsageLocation": "America"}, badRequest, "usageLocation"},
			},
		},
		{
			name: "Set-EntraUserUPN", function: "Set-EntraUserUPN",
			params: map[string]any{"UserId": adaID, "NewUserPrincipalName": "ada@fabrikam.example"},
			refusals: []refusal{
				unknownUser,
				{"another user has the name", map[string]any{"NewUserPrincipalName": "bob@contoso.example"}, badRequest, "userPrincipalName"},
				{"a domain that is not verified", map[string]any{"NewUserPrincipalName": "a@other.example"}, badRequest, "verified domain"},
			},
		},
		{
			name: "Set-EntraUserEnabled", function: "Set-EntraUserEnabled",
			params:   map[string]any{"UserId": adaID, "Enabled": "false"},
			refusals: []refusal{unknownUser},
		},
		{
			name: "Set-EntraUserAttributes", function: "Set-EntraUserAttributes",
			params: map[string]any{
				"UserId": adaID, "JobTitle": "Countess", "UsageLocation": "GB", "BusinessPhones": "+44 20 7946 0000", "ExtensionAttribute7": "wave 1",
				"OtherMails":      []string{"ada@old.example", "countess@home.example"},
				"ClearAttributes": []string{"department", "ExtensionAttribute8"},
			},
			seed: func(s *tenant.Seed) {
				s.Users[0]["onPremisesExtensionAttributes"] = map[string]any{"extensionAttribute8": "old", "extensionAttribute9": "kept"}
				s.Users[4]["onPremisesSyncEnabled"] = true
			},
			refusals: []refusal{
				unknownUser,
				{"a user from on-premises", map[string]any{"UserId": syncID}, badRequest, "on-premises mastered"},
				{"a country that is none", map[string]any{"UsageLocation": "Britain"}, badRequest, "usageLocation"},
				{"an attribute that does not exist", map[string]any{"ClearAttributes": []string{"Shoe"}}, catalog.FailureParameters, "Shoe"},
				{"an attribute set and cleared", map[string]any{"ClearAttributes": []string{"JobTitle"}}, catalog.FailureParameters, "also given"},
				{"a text that is too long", map[string]any{"ExtensionAttribute1": strings.Repeat("x", 1025)}, catalog.FailureParameters, "1024 characters"},
			},
		},
		{
			name: "Set-EntraUserPassword", function: "Set-EntraUserPassword", params: map[string]any{"UserId": adaID, "Password": "Pa55word-Of-Ada"},
			refusals: []refusal{
				unknownUser,
				{"a password that is too short", map[string]any{"Password": "short"}, badRequest, "complexity requirements"},
				{"a user from on-premises", map[string]any{"UserId": syncID}, badRequest, "on-premises mastered"},
			},
			seed: func(s *tenant.Seed) { s.Users[4]["onPremisesSyncEnabled"] = true },
		},
		{
			name: "Remove-EntraUser", function: "Remove-EntraUser",
			params: map[string]any{"UserId": bobID},
			refusals: []refusal{
				{"nobody named", map[string]any{"UserId": nil}, catalog.FailureParameters, "give UserId, Upn or both"},
			},
		},
		{name: "Remove-EntraUser-by-name", function: "Remove-EntraUser", params: map[string]any{"upn": "bob@contoso.example"}},
		{name: "Remove-EntraUser-with-a-name", function: "Remove-EntraUser", params: map[string]any{"UserId": bobID, "Upn": "BOB@contoso.example"}},
		{
			name: "Send-AdminAlert", function: "Send-AdminAlert",
			params: map[string]any{"Subject": "Rollback triggered", "Body": "Ada's move was undone.", "To": []string{"a@contoso.example", "b@contoso.example"}},
			refusals: []refusal{
				{"an address that is none", map[string]any{"To": []string{"admins"}}, catalog.FailureParameters, "invalid mail address"},
				{"a person elsewhere", map[string]any{"To": []string{"a@contoso.example", "b@other.example"}}, catalog.FailureNotConfigured, "does not mail people in other.example"},
			},
		},
		{
			name: "Send-AdminAlert-to-nobody-in-particular", function: "Send-AdminAlert", params: map[string]any{"Subject": "Rollback triggered"},
		},
		{
			name: "Add-EntraGroupMember", function: "Add-EntraGroupMember",
			params:   map[string]any{"GroupId": groupID, "UserId": adaID},
			refusals: []refusal{unknownUser, unknownGroup, mailEnabled},
		},
		{
			name: "Remove-EntraGroupMember", function: "Remove-EntraGroupMember",
			params:   map[string]any{"GroupId": groupID, "UserId": bobID},
			refusals: []refusal{unknownUser, unknownGroup, mailEnabled},
		},
		{
			name: "New-EntraB2BInvitation", function: "New-EntraB2BInvitation",
			params: map[string]any{"UserId": caraID, "InvitedUserEmail": "cara@old.example"},
			refusals: []refusal{
				unknownUser,
				{"a user from on-premises", map[string]any{"UserId": syncID}, catalog.FailureConflict, "on-premises"},
				{"invited under another address", map[string]any{"UserId": eveID}, catalog.FailureConflict, "another address"},
				{"an address of somebody else", map[string]any{"InvitedUserEmail": "bob@contoso.example"}, badRequest, "proxyAddresses"},
				{"an address that is none", map[string]any{"InvitedUserEmail": "cara"}, catalog.FailureParameters, "must be an address"},
			},
		},
		{
			name: "Convert-EntraB2BToInternal", function: "Convert-EntraB2BToInternal",
			params: map[string]any{"UserId": eveID, "UserPrincipalName": "eve@fabrikam.example", "Mail": "eve@fabrikam.example"},
			refusals: []refusal{
				unknownUser,
				{"an internal user of another name", map[string]any{"UserId": adaID}, catalog.FailureConflict, "with the name ada@contoso.example"},
				{"no name", map[string]any{"UserPrincipalName": nil}, "badRequest", "UPN cannot be empty"},
				{"a domain that is not verified", map[string]any{"UserPrincipalName": "eve@other.example"}, "badRequest", "valid domain"},
			},
		},
		{
			name: "Test-EntraAttributeMatch", function: "Test-EntraAttributeMatch",
			params: map[string]any{"UserId": adaID, "AttributeName": "department", "ExpectedValue": "sales"},
			refusals: []refusal{
				unknownUser,
				{"an attribute that does not exist", map[string]any{"AttributeName": "departement"}, "BadRequest", "departement"},
			},
		},
		{
			name: "Test-EntraGroupMembership", function: "Test-EntraGroupMembership",
			params:   map[string]any{"GroupId": groupID, "UserId": bobID},
			refusals: []refusal{unknownUser},
		},
		{
			name: "Test-EntraAddressAvailable", function: "Test-EntraAddressAvailable",
			params: map[string]any{"Address": "grace.o'hara@contoso.example"},
			refusals: []refusal{
				{"an address that is none", map[string]any{"Address": "grace"}, catalog.FailureParameters, "must be an address"},
			},
		},
		{
			name: "Test-EntraAddressAvailable-of-a-user", function: "Test-EntraAddressAvailable",
			params: map[string]any{"Address": "A.L@contoso.example"},
		},
		{
			name: "Test-EntraAddressAvailable-of-a-group", function: "Test-EntraAddressAvailable",
			params: map[string]any{"Address": "list@contoso.example"},
		},
		{
			name: "Test-EntraDomainVerified", function: "Test-EntraDomainVerified",
			params: map[string]any{"Address": "grace@Fabrikam.example"},
			refusals: []refusal{
				{"an address that is none", map[string]any{"Address": "fabrikam.example"}, catalog.FailureParameters, "must be an address"},
			},
		},
		{
			name: "Test-EntraDomainVerified-of-another-tenant", function: "Test-EntraDomainVerified",
			params: map[string]any{"Address": "grace@other.example"},
		},
		{
			name: "Test-EntraLicenseAvailable", function: "Test-EntraLicenseAvailable",
			params: map[string]any{"SkuPartNumber": "spe_e3", "Units": 2},
			refusals: []refusal{
				{"a number that is none", map[string]any{"Units": "two"}, catalog.FailureParameters, "whole number"},
				{"no licence", map[string]any{"Units": 0}, catalog.FailureParameters, "whole number"},
			},
		},
		{
			name: "Test-EntraLicenseAvailable-with-too-few", function: "Test-EntraLicenseAvailable",
			params: map[string]any{"SkuPartNumber": "SPE_E3", "Units": 3},
		},
		{
			name: "Test-EntraLicenseAvailable-of-no-subscription", function: "Test-EntraLicenseAvailable",
			params: map[string]any{"SkuPartNumber": "EMS"},
		},
		{
			name: "Set-EntraUserManager", function: "Set-EntraUserManager", params: map[string]any{"UserId": adaID, "ManagerId": bobID},
			refusals: []refusal{
				unknownUser,
				{"a manager who does not exist", map[string]any{"ManagerId": nobody}, notFound, nobody},
			},
		},
		{
			name: "Revoke-EntraUserSessions", function: "Revoke-EntraUserSessions", params: map[string]any{"UserId": adaID},
			refusals: []refusal{unknownUser},
		},
		{
			name: "Add-EntraUserLicense", function: "Add-EntraUserLicense",
			params: map[string]any{"UserId": caraID, "SkuPartNumber": "spe_e3", "DisabledPlans": []string{"teams1"}, "UsageLocation": "US"},
			refusals: []refusal{
				unknownUser, noSubscription,
				{"a plan that the product does not have", map[string]any{"DisabledPlans": []string{"YAMMER"}}, catalog.FailureParameters, "YAMMER"},
				{"no licence left", map[string]any{"UserId": bobID, "SkuPartNumber": "SPE_E5", "DisabledPlans": nil}, catalog.FailureConflict, "1 of 1 are assigned"},
				{"no usage location", map[string]any{"UsageLocation": nil}, badRequest, "invalid usage location"},
			},
		},
		{
			name: "Add-EntraUserLicense-to-a-mail-user-that-waits-for-its-mailbox", function: "Add-EntraUserLicense",
			params: map[string]any{"UserId": adaID, "SkuPartNumber": "SPE_E3"},
			seed: func(s *tenant.Seed) {
				s.Users[0]["usageLocation"] = "GB"
				s.Recipients[0].ExchangeGUID = exchangeGUID
				s.Recipients[0].EmailAddresses = append(s.Recipients[0].EmailAddresses, "smtp:ada@gone.example")
			},
		},
		{
			name: "Remove-EntraUserLicense", function: "Remove-EntraUserLicense", seed: withLicense,
			params: map[string]any{"UserId": bobID, "SkuPartNumber": "SPE_E3"},
			refusals: []refusal{
				unknownUser, noSubscription,
				{"a licence from a group", map[string]any{"UserId": syncID}, catalog.FailureConflict, "from group " + groupID},
			},
		},
		{
			name: "Remove-EntraUserLicense-that-the-user-does-not-have", function: "Remove-EntraUserLicense",
			params: map[string]any{"UserId": caraID, "SkuPartNumber": "SPE_E3"},
		},
		{
			name: "Test-EntraUserLicense", function: "Test-EntraUserLicense", seed: withLicense,
			params: map[string]any{"UserId": bobID, "SkuPartNumber": "SPE_E3", "Services": []string{"Exchange"}},
			refusals: []refusal{
				unknownUser, noSubscription,
				{"services of no licence", map[string]any{"ExpectedAssigned": false}, catalog.FailureParameters, "give one of Services"},
			},
		},
		{
			name: "Test-EntraUserLicense-that-is-not-provisioned", function: "Test-EntraUserLicense", seed: withLicense,
			params: map[string]any{"UserId": bobID, "SkuPartNumber": "SPE_E3", "Services": []string{"TeamspaceAPI", "SharePoint"}},
		},
		{
			name: "Test-EntraUserLicense-of-a-group-without-licences", function: "Test-EntraUserLicense", seed: withLicense,
			params: map[string]any{"UserId": syncID, "SkuPartNumber": "SPE_E3"},
		},
		{
			name: "Test-EntraUserLicense-that-should-be-gone", function: "Test-EntraUserLicense", seed: withLicense,
			params: map[string]any{"UserId": bobID, "SkuPartNumber": "SPE_E3", "ExpectedAssigned": false},
		},
		{
			name: "Set-EntraProxyAddresses", function: "Set-EntraProxyAddresses",
			params: map[string]any{"UserId": adaID, "ProxyAddresses": []string{"SMTP:ada.l@contoso.example", "smtp:ada@contoso.example", "countess@contoso.example"}},
			refusals: []refusal{
				{"a user who does not exist", map[string]any{"UserId": nobody}, objectNotFound, nobody},
				{"a user without a recipient", map[string]any{"UserId": caraID}, objectNotFound, caraID},
				{"an address that is none", map[string]any{"ProxyAddresses": []string{"SMTP:ada@contoso.example", "ada"}}, addressInvalid, malformed},
				{"two primary addresses", map[string]any{"ProxyAddresses": []string{"SMTP:a@contoso.example", "SMTP:b@contoso.example"}}, catalog.FailureParameters, "two primary"},
				{"no primary address", map[string]any{"ProxyAddresses": []string{"x@contoso.example"}}, catalog.FailureParameters, "ProxyAddresses has no primary address"},
				{"an address of somebody else", map[string]any{"ProxyAddresses": []string{"SMTP:bob@contoso.example"}}, addressTaken, "already being used"},
			},
		},
		{
			name: "Add-ExchangeSecondaryEmail", function: "Add-ExchangeSecondaryEmail",
			params: map[string]any{"Identity": adaID, "SecondaryEmail": "countess@contoso.example"},
			refusals: []refusal{
				unknownRecipient,
				{"an address of somebody else", map[string]any{"SecondaryEmail": "bob@contoso.example"}, addressTaken, "already being used"},
				{"an address that is none", map[string]any{"SecondaryEmail": "countess"}, catalog.FailureParameters, "must be an address"},
			},
		},
		{
			name: "Add-ExchangeSecondaryEmail-of-a-mailbox-that-moved", function: "Add-ExchangeSecondaryEmail",
			params: map[string]any{
				"Identity": adaID, "SecondaryEmails": []string{"countess@fabrikam.example", "ada@old.onmicrosoft.com", "Ada.L@FABRIKAM.example"}, "Domain": "fabrikam.example",
				"LegacyExchangeDN": "/o=ExchangeLabs/cn=ada", "X500Addresses": []string{"X500:/o=old/cn=ada", "/o=older/cn=ada"},
			},
			refusals: []refusal{
				{"an X500 address among the secondary ones", map[string]any{"SecondaryEmails": []string{"x500:/o=old"}}, catalog.FailureParameters, "X500Addresses"},
				{"a domain that is not accepted", map[string]any{"Domain": nil}, notAccepted, "accepted domain"},
			},
		},
		{name: "Add-ExchangeSecondaryEmail-of-none", function: "Add-ExchangeSecondaryEmail", params: map[string]any{"Identity": adaID, "SecondaryEmails": "[]"}},
		{
			name: "Set-ExchangePrimaryEmail", function: "Set-ExchangePrimaryEmail",
			params: map[string]any{"Identity": adaID, "PrimaryEmail": "ada.lovelace@contoso.example"},
			refusals: []refusal{
				unknownRecipient,
				{"an address of somebody else", map[string]any{"PrimaryEmail": "bob@contoso.example"}, addressTaken, "already being used"},
				{"an address that is none", map[string]any{"PrimaryEmail": "ada"}, catalog.FailureParameters, "must be an address"},
			},
		},
		{
			name: "Set-ExchangePrimaryEmail-of-a-mailbox", function: "Set-ExchangePrimaryEmail",
			params: map[string]any{"Identity": bobID, "PrimaryEmail": "robert@contoso.example"},
		},
		{
			name: "Set-ExchangeExternalAddress", function: "Set-ExchangeExternalAddress",
			params: map[string]any{"Identity": adaID, "ExternalEmail": "ada@new.example"},
			refusals: []refusal{
				unknownRecipient, notAMailUser,
				{"an address that is none", map[string]any{"ExternalEmail": "ada"}, catalog.FailureParameters, "must be an address"},
			},
		},
		{
			name: "Set-ExchangeExternalAddress-that-moves-the-primary", function: "Set-ExchangeExternalAddress", movesPrimary: true,
			params: map[string]any{"Identity": adaID, "ExternalEmail": "ada@new.example", "PrimaryEmail": "ada@contoso.example"},
			seed:   func(s *tenant.Seed) { s.Recipients[0].ExternalEmailAddress = "ada@contoso.example" },
		},
		{
			name: "Set-ExchangeMailUserGuids", function: "Set-ExchangeMailUserGuids",
			params: map[string]any{"Identity": adaID, "ExchangeGuid": exchangeGUID, "ArchiveGuid": archiveGUID},
			seed:   func(s *tenant.Seed) { s.Recipients[1].ExchangeGUID = "33333333-0000-4000-8000-000000000009" },
			refusals: []refusal{
				unknownRecipient, notAMailUser,
				{"an id of somebody else", map[string]any{"ExchangeGuid": "33333333-0000-4000-8000-000000000009"}, recipientTask, "ExchangeGuid"},
			},
		},
		{
			name: "Set-ExchangeHidden", function: "Set-ExchangeHidden", params: map[string]any{"Identity": adaID, "Hidden": "true"},
			refusals: []refusal{unknownRecipient},
		},
		{name: "Set-ExchangeHidden-of-a-list", function: "Set-ExchangeHidden", params: map[string]any{"Identity": listID, "Hidden": true}},
		{
			name: "Set-ExchangeHidden-of-a-mailbox", function: "Set-ExchangeHidden", params: map[string]any{"Identity": bobID, "Hidden": true},
		},
		{
			name: "Set-ExchangeForwarding", function: "Set-ExchangeForwarding", params: map[string]any{"Identity": bobID, "ForwardTo": "bob@new.example"},
			seed: func(s *tenant.Seed) { s.Recipients[1].ForwardingAddress = "ada" },
			refusals: []refusal{
				unknownRecipient,
				{"a mail user, not a mailbox", map[string]any{"Identity": adaID}, objectNotFound, "couldn't be found"},
				{"an address that is none", map[string]any{"ForwardTo": "bob"}, catalog.FailureParameters, "must be an address"},
			},
		},
		{
			name: "Remove-ExchangeForwarding", function: "Remove-ExchangeForwarding", params: map[string]any{"Identity": bobID},
			seed: func(s *tenant.Seed) {
				s.Recipients[1].ForwardingSMTP, s.Recipients[1].KeepsForwarded = "bob@new.example", true
			},
			refusals: []refusal{unknownRecipient},
		},
		{
			name: "New-ExchangeMailUser", function: "New-ExchangeMailUser", params: graceAsMailUser(nil),
			refusals: []refusal{
				{"another user has the name", map[string]any{"UserPrincipalName": "ada@contoso.example"}, catalog.FailureConflict, "differs in: DisplayName, ExternalEmailAddress"},
				{"a user who is no recipient has the name", map[string]any{"UserPrincipalName": "cara@contoso.example", "Alias": "cara2"}, recipientTask, "already being used"},
				{"another user has the address", map[string]any{"PrimaryEmail": "bob@contoso.example"}, addressTaken, "already being used"},
				{"another user has the alias", map[string]any{"Alias": "bob"}, recipientTask, "already being used"},
				{"a sign-in name in a domain that is not accepted", map[string]any{"UserPrincipalName": "grace@other.example"}, notAccepted, "accepted domain"},
				{"an address in a domain that is not accepted", map[string]any{"PrimaryEmail": "grace@other.example"}, notAccepted, "accepted domain"},
				{"an external address that is the primary one", map[string]any{"ExternalEmail": "grace@contoso.example"}, catalog.FailureParameters, "own addresses"},
				{"an X500 address among the secondary ones", map[string]any{"SecondaryEmails": []string{"x500:/o=old"}}, catalog.FailureParameters, "X500Addresses"},
			},
		},
		{
			name: "New-ExchangeMailUser-whose-primary-address-is-ignored", function: "New-ExchangeMailUser", ignoresPrimary: true,
			params: graceAsMailUser(map[string]any{"ArchiveGuid": archiveGUID, "Password": "Pa55word-Of-Grace"}),
		},
		{
			name: "Test-ExchangeMailUser", function: "Test-ExchangeMailUser",
			params: map[string]any{
				"Identity": adaID, "PrimaryEmail": "Ada@contoso.example", "ExternalEmail": "ada@old.example", "LegacyExchangeDN": "/o=old/cn=ada",
				"TargetDeliveryDomain": "contoso.example",
			},
			refusals: []refusal{unknownRecipient, notAMailUser},
		},
		{
			name: "Test-ExchangeMailUser-that-cannot-be-moved", function: "Test-ExchangeMailUser",
			params: map[string]any{
				"Identity": adaID, "ExchangeGuid": exchangeGUID, "LegacyExchangeDN": "/o=old/cn=a", "TargetDeliveryDomain": "fabrikam.example",
			},
			seed: func(s *tenant.Seed) {
				s.Recipients[0].ExternalEmailAddress = "a.l@contoso.example"
				s.Recipients[0].EmailAddresses = append(s.Recipients[0].EmailAddresses, "smtp:ada@gone.example")
			},
		},
		{
			name: "Test-ExchangeAttributeMatch", function: "Test-ExchangeAttributeMatch",
			params: map[string]any{"Identity": adaID, "AttributeName": "PrimarySmtpAddress", "ExpectedValue": "ADA@contoso.example", "RecipientType": "mailuser"},
			refusals: []refusal{
				unknownRecipient,
				{"an attribute that does not exist", map[string]any{"AttributeName": "Primary"}, catalog.FailureParameters, "Primary"},
				{"a kind that does not exist", map[string]any{"RecipientType": "Contact"}, catalog.FailureParameters, "MailUser, Mailbox, Recipient"},
			},
		},
		{
			name: "Test-ExchangeAttributeMatch-of-a-mailbox", function: "Test-ExchangeAttributeMatch",
			params: map[string]any{"Identity": bobID, "AttributeName": "DisplayName", "ExpectedValue": "bob", "RecipientType": "Mailbox"},
		},
		{
			name: "Test-ExchangeGroupMembership", function: "Test-ExchangeGroupMembership",
			params: map[string]any{"GroupIdentity": listID, "UserId": bobID},
			refusals: []refusal{
				{"a group that does not exist", map[string]any{"GroupIdentity": nobody}, objectNotFound, nobody},
			},
		},
		{
			name: "Invoke-GraphRequest", function: "Invoke-GraphRequest", permissions: []string{"User.ReadWrite.All"},
			params: map[string]any{
				"Method": "PATCH", "Path": "/v1.0/users/" + adaID, "Body": map[string]any{"department": "Navy", "jobTitle": nil},
				"CheckPath": "/v1.0/users/" + adaID + "?$select=department", "CheckExpected": map[string]any{"department": "Navy"},
			},
			refusals: []refusal{
				{"a user who does not exist", map[string]any{"Path": "/v1.0/users/" + nobody}, notFound, nobody},
				{"a request that no other function makes", map[string]any{"Path": "/v1.0/groups/" + groupID}, catalog.FailureNotConfigured, "GRAPH_REQUESTS"},
				{"a property that no other function writes", map[string]any{"Body": map[string]any{"aboutMe": "x"}}, catalog.FailureNotConfigured, "body.aboutMe is not described"},
				{"a request that one function makes alone", map[string]any{
					"Method": "POST", "Path": "/v1.0/users/" + bobID + "/sendMail", "Body": map[string]any{"Message": map[string]any{
						"subject": "s", "body": map[string]any{"contentType": "text", "content": "c"},
						"toRecipients": []any{map[string]any{"emailAddress": map[string]any{"address": "a@b.example"}}},
					}},
				}, catalog.FailureNotConfigured, "only Send-AdminAlert"},
				{"an invitation, which sends mail", map[string]any{
					"Method": "POST", "Path": "/v1.0/invitations", "Body": map[string]any{
						"invitedUserEmailAddress": "a@b.example", "inviteRedirectUrl": "https://b.example", "sendInvitationMessage": true,
						"invitedUser": map[string]any{"id": adaID},
					},
				}, catalog.FailureNotConfigured, "only New-EntraB2BInvitation"},
				{"a password", map[string]any{"Body": map[string]any{"passwordProfile": map[string]any{"password": "Pa55word-Of-Ada"}}}, catalog.FailureNotConfigured, "only Set-EntraUserPassword or Reset-EntraUserPassword"},
				{"the deletion of a user", map[string]any{"Method": "DELETE", "Body": nil}, catalog.FailureNotConfigured, "only Remove-EntraUser"},
				{"the cancellation of a move", map[string]any{
					"Method": "POST", "Path": "/v1.0/solutions/migrations/crossTenantMigrationJobs/wave/cancel", "Body": nil,
				}, catalog.FailureNotConfigured, "only Stop-CrossTenantMigrationJob"},
				{"a check that is not allowed", map[string]any{"CheckPath": "/v1.0/users/" + adaID + "/messages"}, catalog.FailureNotConfigured, "GRAPH_REQUESTS"},
				{"a path to another server", map[string]any{"Path": "https://example.com/v1.0/users/" + adaID}, catalog.FailureParameters, "must begin with /v1.0/"},
				{"a path that leads up", map[string]any{"Path": "/v1.0/users/../groups/" + groupID}, catalog.FailureParameters, "segment"},
				{"the name of a guest", map[string]any{"Path": "/v1.0/users/eve#EXT#@contoso.example"}, catalog.FailureParameters, "%23"},
				{"an expectation of nothing", map[string]any{"CheckPath": nil}, catalog.FailureParameters, "without CheckPath"},
			},
		},
		{
			name: "Invoke-GraphRequest-that-adds", function: "Invoke-GraphRequest", permissions: []string{"GroupMember.ReadWrite.All"},
			params: map[string]any{
				"Method": "POST", "Path": "/v1.0/groups/" + groupID + "/members/$ref",
				"Body":      map[string]any{"@odata.id": "https://graph.microsoft.com/v1.0/directoryObjects/" + adaID},
				"CheckPath": "/v1.0/groups/" + groupID + "/members?$select=id", "CheckExpected": map[string]any{"value": []any{map[string]any{"id": adaID}}},
			},
			refusals: []refusal{{"a group that Exchange manages", map[string]any{"Path": "/v1.0/groups/" + listID + "/members/$ref"}, badRequest, "mail-enabled security groups"}},
		},
		{
			name: "Invoke-GraphRequest-that-removes", function: "Invoke-GraphRequest", permissions: []string{"GroupMember.ReadWrite.All"},
			params: map[string]any{"Method": "DELETE", "Path": "/v1.0/groups/" + groupID + "/members/" + bobID + "/$ref"},
		},
		{
			name: "Invoke-GraphRequest-that-reads", function: "Invoke-GraphRequest", permissions: []string{"User.Read.All"},
			params: map[string]any{"Method": "get", "Path": "/v1.0/users/" + adaID + "?$select=id,department"},
			refusals: []refusal{
				{"a user who does not exist", map[string]any{"Path": "/v1.0/users/" + nobody + "?$select=id"}, notFound, nobody},
				{"a check of nothing", map[string]any{"CheckPath": "/v1.0/users/" + adaID + "?$select=id"}, catalog.FailureParameters, "a GET writes nothing"},
			},
		},
		{
			name: "Invoke-ExchangeCommand", function: "Invoke-ExchangeCommand",
			params: map[string]any{
				"Cmdlet": "Set-Mailbox", "Parameters": map[string]any{"Identity": bobID, "EmailAddresses": map[string]any{"Add": []string{"smtp:b@fabrikam.example"}}},
				"CheckCmdlet": "Get-Mailbox", "CheckParameters": map[string]any{"Identity": bobID},
				"CheckExpected": map[string]any{"EmailAddresses": []string{"smtp:b@fabrikam.example", "SMTP:bob@contoso.example"}},
			},
			refusals: []refusal{
				{"a mailbox that does not exist", map[string]any{"Parameters": map[string]any{"Identity": nobody, "HiddenFromAddressListsEnabled": true}}, objectNotFound, nobody},
				{"a cmdlet that one function runs alone", map[string]any{
					"Cmdlet": "Remove-MigrationBatch", "Parameters": map[string]any{"Identity": "wave 1", "Confirm": false},
				}, catalog.FailureNotConfigured, "only Remove-ExchangeMigrationBatch"},
				{"a cmdlet that no other function runs", map[string]any{"Cmdlet": "Remove-Mailbox"}, catalog.FailureNotConfigured, "EXCHANGE_CMDLETS"},
				{"a parameter that no other function uses", map[string]any{"Parameters": map[string]any{"Identity": bobID, "MessageCopyForSentAsEnabled": true}}, catalog.FailureNotConfigured, "Parameters.MessageCopyForSentAsEnabled is not described"},
				{"a name that is none", map[string]any{"Cmdlet": "Set-Mailbox; Remove-Mailbox"}, catalog.FailureParameters, "name of a cmdlet"},
				{"a check that writes", map[string]any{"CheckCmdlet": "Set-Mailbox"}, catalog.FailureParameters, "no Get- cmdlet"},
			},
		},
		{
			name: "Invoke-ExchangeCommand-that-creates", function: "Invoke-ExchangeCommand",
			params: map[string]any{
				"Cmdlet": "New-MailUser", "Parameters": map[string]any{
					"Name": "grace", "MicrosoftOnlineServicesID": "grace@contoso.example", "Password": "Pa55word-Of-Grace", "ExternalEmailAddress": "grace@old.example",
				},
				"CheckCmdlet": "Get-MailUser", "CheckParameters": map[string]any{"Identity": "grace@contoso.example"},
				"CheckExpected": map[string]any{"ExternalEmailAddress": "SMTP:grace@old.example"},
			},
			refusals: []refusal{{"a domain that is not accepted", map[string]any{"Parameters": map[string]any{
				"Name": "grace", "MicrosoftOnlineServicesID": "grace@other.example", "Password": "Pa55word-Of-Grace",
			}}, notAccepted, "accepted domain"}},
		},
	}
}

// unseen are documented errors that no row has as a refusal, with the reason.
var unseen = map[string]string{
	"Invoke-GraphRequest Conflict":                "TestAPostWithoutCheckIsMadeOnce of package graph",
	"Invoke-ExchangeCommand Conflict":             "TestACmdletWithoutCheckRunsOnce of package exchange",
	"Get-ExchangeCalendarPermissions Conflict":    "each mailbox of the local tenant has a calendar: TestUsersOfACalendarAreTextsOrObjects of package exchange",
	"Remove-ExchangeCalendarPermissions Conflict": "as above",
	"Test-ExchangeCalendarPermissions Conflict":   "as above",
	"Test-ExchangeGroupOwner Conflict":            "TestANameOfSeveralRecipientsIsRefused of package exchange",
	"Complete-ExchangeMigrationBatch Conflict":    "another step stops the batch: TestACompletionAfterTheRemovalMovesNothing",
	"Remove-ExchangeMigrationBatch Conflict":      "a move lasts minutes: TestAMigrationBatchIsStoppedBeforeItIsRemoved of package exchange",
	"Start-ExchangeMigrationBatch Conflict":       "no batch of the local tenant is corrupted, and one that is being removed is gone soon",
}

// Every function has a row, and its documented errors are the refusals of its rows.
func TestEveryFunctionIsInTheMatrix(t *testing.T) {
	t.Parallel()
	rowOf := map[string]bool{}
	refused := map[string]bool{}
	for _, r := range rows() {
		rowOf[r.function] = true
		for _, refusal := range r.refusals {
			refused[r.function+" "+refusal.kind] = true
		}
	}
	documented := map[string]bool{}
	for _, f := range catalog.Standard() {
		for _, e := range f.Errors {
			documented[f.Name+" "+e.Type] = true
		}
		if f.Name == catalog.SendWebhookMessage.Name {
			continue // it makes no request of the tenant: its row is TestWebhookFaults of package notify
		}
		if !rowOf[f.Name] {
			t.Errorf("%s has no row", f.Name)
		}
		for _, e := range f.Errors {
			if name := f.Name + " " + e.Type; !refused[name] && unseen[name] == "" {
				t.Errorf("%s is documented, but no row has it as a refusal", name)
			}
		}
	}
	for name := range refused {
		if !documented[name] {
			t.Errorf("%s is a refusal of a row, but not documented", name)
		}
	}
	for name := range unseen {
		if refused[name] || !documented[name] {
			t.Errorf("%s needs no reason: a row has it, or it is not documented", name)
		}
	}
}
