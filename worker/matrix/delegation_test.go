package matrix_test

import (
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

var notAMailbox = refusal{"a mail user, not a mailbox", map[string]any{"Identity": adaID}, objectNotFound, "couldn't be found"}

var notAMailboxOrGroup = refusal{"a mail user", map[string]any{"Identity": adaID}, catalog.FailureConflict, "is a MailUser: give a mailbox or group"}

// shared gives Bob's mailbox permissions to Ada, to one list, and to an account that is gone, and its calendar the name of
// another language.
func shared(s *tenant.Seed) {
	bob := &s.Recipients[1]
	bob.FullAccess, bob.SendAs, bob.SendOnBehalf = []string{adaID, nobody}, []string{adaID}, []string{adaID, listID}
	bob.CalendarFolder = "Kalender"
	bob.Calendar = []tenant.FolderPermission{{User: adaID, AccessRights: []string{"Reviewer"}}, {User: "Default", AccessRights: []string{"LimitedDetails"}}}
}

// sourceRows are of what happens to a mailbox of the source.
func sourceRows() []row {
	return []row{
		{
			name: "Set-ExchangeAutomaticReplies", function: "Set-ExchangeAutomaticReplies",
			params: map[string]any{"Identity": bobID, "InternalMessage": "<p>I moved to <b>bob@new.example</b> &amp; am well.</p>", "ExternalAudience": "known"},
			refusals: []refusal{
				unknownRecipient, notAMailbox,
				{"half a period", map[string]any{"StartTime": "2026-03-01T18:00:00Z"}, catalog.FailureParameters, "go together"},
				{"times without a zone", map[string]any{"StartTime": "2026-03-01T18:00:00", "EndTime": "2026-03-02T18:00:00"}, catalog.FailureParameters, "with a zone"},
				{"an end before the start", map[string]any{"StartTime": "2026-03-02T18:00:00Z", "EndTime": "2026-03-01T18:00:00Z"}, catalog.FailureParameters, "before EndTime"},
				{"an audience that is none", map[string]any{"ExternalAudience": "Friends"}, catalog.FailureParameters, "All, Known, None"},
			},
		},
		{
			name: "Set-ExchangeAutomaticReplies-for-a-period", function: "Set-ExchangeAutomaticReplies",
			params: map[string]any{
				"Identity": bobID, "InternalMessage": "I move.", "ExternalMessage": "I move, too.",
				"StartTime": "2026-03-01T19:00:00+01:00", "EndTime": "2026-03-02T18:00:00Z",
			},
		},
		{
			name: "Remove-ExchangeAutomaticReplies", function: "Remove-ExchangeAutomaticReplies", params: map[string]any{"Identity": bobID},
			seed: func(s *tenant.Seed) {
				s.Recipients[1].AutoReply = &tenant.AutoReply{State: "Enabled", InternalMessage: "I moved.", ExternalMessage: "I moved.", ExternalAudience: "All"}
			},
			refusals: []refusal{unknownRecipient},
		},
		{
			name: "Remove-ExchangeAddresses", function: "Remove-ExchangeAddresses", params: map[string]any{"Identity": adaID, "Domain": "contoso.example"},
			seed: func(s *tenant.Seed) {
				s.Users[0]["userPrincipalName"] = "ada@tenant.onmicrosoft.com"
				s.VerifiedDomains = append(s.VerifiedDomains, "tenant.onmicrosoft.com")
				s.Recipients[0].EmailAddresses = append(s.Recipients[0].EmailAddresses, "smtp:ada@tenant.onmicrosoft.com")
			},
			refusals: []refusal{
				unknownRecipient,
				{"a sign-in name in the domain", map[string]any{"Identity": bobID}, catalog.FailureConflict, "Set-EntraUserUPN"},
				{"an identity in the domain", map[string]any{"Identity": "ada@contoso.example"}, catalog.FailureParameters, "object id"},
				{"a new primary address in the domain", map[string]any{"PrimaryEmail": "a@contoso.example"}, catalog.FailureParameters, "give another address"},
				{"no address in another domain", map[string]any{"Identity": listID}, catalog.FailureConflict, "give PrimaryEmail"},
				{"an address that is none", map[string]any{"Addresses": "ada"}, catalog.FailureParameters, `"ada" is no address`},
			},
		},
		{
			name: "Remove-ExchangeAddresses-that-are-listed", function: "Remove-ExchangeAddresses",
			params: map[string]any{"Identity": adaID, "Addresses": []string{"A.L@contoso.example", "x500:/o=old/cn=ada", "smtp:never@fabrikam.example"}},
			refusals: []refusal{
				unknownRecipient,
				{"the primary address", map[string]any{"Identity": "ada", "Addresses": "ada@contoso.example"}, catalog.FailureConflict, "Set-EntraUserUPN"},
				{"the primary address of a list", map[string]any{"Identity": listID, "Addresses": "SMTP:list@contoso.example"}, catalog.FailureConflict, "give the new one as PrimaryEmail"},
				{"an identity that is removed", map[string]any{"Identity": "a.l@contoso.example"}, catalog.FailureParameters, "object id"},
				{"a primary address that is removed", map[string]any{"PrimaryEmail": "a.l@contoso.example"}, catalog.FailureParameters, "give another address"},
			},
		},
		{name: "Remove-ExchangeAddresses-of-none", function: "Remove-ExchangeAddresses", params: map[string]any{"Identity": adaID, "Addresses": "[]"}},
		{
			name: "Remove-ExchangeAddresses-with-the-primary-one", function: "Remove-ExchangeAddresses",
			params: map[string]any{"Identity": listID, "Addresses": []string{"list@contoso.example"}, "PrimaryEmail": "list@fabrikam.example"},
		},
		{
			name: "Test-ExchangeAddresses", function: "Test-ExchangeAddresses",
			params: map[string]any{
				"Identity": adaID, "PrimaryEmail": "Ada@contoso.example", "SecondaryEmails": []string{"a.l@contoso.example", "ada@old.onmicrosoft.com"}, "Domain": "contoso.example",
				"X500Addresses": "/o=old/cn=ada", "RemovedAddresses": []string{"countess@contoso.example"}, "RemovedDomain": "fabrikam.example",
			},
			refusals: []refusal{
				unknownRecipient,
				{"an address that is none", map[string]any{"RemovedAddresses": "ada"}, catalog.FailureParameters, `"ada"`},
				{"an X500 address among the secondary ones", map[string]any{"SecondaryEmails": []string{"x500:/o=old"}}, catalog.FailureParameters, "X500Addresses"},
			},
		},
		{
			name: "Test-ExchangeAddresses-that-differ", function: "Test-ExchangeAddresses",
			params: map[string]any{
				"Identity": adaID, "PrimaryEmail": "a.l@contoso.example", "SecondaryEmails": []string{"ada@fabrikam.example"}, "LegacyExchangeDN": "/o=source/cn=ada",
				"RemovedAddresses": []string{"a.l@contoso.example", "X500:/o=OLD/cn=ada"},
			},
		},
		{
			name: "Test-ExchangeAddresses-of-a-list-that-lacks-none", function: "Test-ExchangeAddresses",
			params: map[string]any{"Identity": listID, "SecondaryEmails": "[]", "RemovedDomain": "contoso.example"},
		},
		{
			name: "Remove-ExchangeAddresses-of-a-list", function: "Remove-ExchangeAddresses",
			params: map[string]any{"Identity": listID, "Domain": "Contoso.example", "PrimaryEmail": "list@fabrikam.example"},
		},
		{
			name: "Test-ExchangeMailboxHold", function: "Test-ExchangeMailboxHold", params: map[string]any{"Identity": bobID},
			seed: func(s *tenant.Seed) {
				s.OrganizationHolds = []string{"mbx7cfb30345d454ac0a989ab3041051209:2", "grp1a0a132ee8944501a4bb6a452ec31171:3", "mbx00000000000000000000000000000001:1"}
				s.Recipients[1].Holds = &tenant.Holds{InPlace: []string{"-mbx7cfb30345d454ac0a989ab3041051209"}}
			},
			refusals: []refusal{unknownRecipient, notAMailbox},
		},
		{
			name: "Test-ExchangeMailboxHold-of-all-kinds", function: "Test-ExchangeMailboxHold", params: map[string]any{"Identity": bobID},
			seed: func(s *tenant.Seed) {
				s.OrganizationHolds = []string{"mbx7cfb30345d454ac0a989ab3041051209:3"}
				s.Recipients[1].Holds = &tenant.Holds{
					Litigation: true, ComplianceTag: true, Delay: true, DelayRelease: true,
					InPlace: []string{"UniH7d895d48-7e23-4a8d-8346-533c3beac15d", "skp127d7cf1076947929bf136b7a2a8c36f:2", "c0ba3ce811b6432a8751430937152491"},
				}
			},
		},
		{
			name: "Test-ExchangeMailboxHold-that-is-missing", function: "Test-ExchangeMailboxHold", params: map[string]any{"Identity": bobID, "ExpectedHeld": true},
		},
	}
}

// groupRows are of groups and of mailboxes that are not one person's.
func groupRows() []row {
	unknown := refusal{"a group that does not exist", map[string]any{"GroupIdentity": nobody}, objectNotFound, nobody}
	return []row{
		{
			name: "New-ExchangeDistributionList", function: "New-ExchangeDistributionList",
			params: map[string]any{
				"DisplayName": "Sales", "PrimaryEmail": "sales@contoso.example", "Owners": []string{bobID}, "AllowExternalSenders": true,
				"SecondaryEmails": "sales@fabrikam.example", "LegacyExchangeDN": "/o=old/cn=sales",
			},
			refusals: []refusal{
				{"another group has the address", map[string]any{"PrimaryEmail": "list@contoso.example"}, catalog.FailureConflict, "differs in: DisplayName"},
				{"a user has the address", map[string]any{"PrimaryEmail": "bob@contoso.example", "Alias": "sales"}, addressTaken, "already being used"},
				{"another group has the alias", map[string]any{"Alias": "list"}, recipientTask, "already being used"},
				{"an owner who does not exist", map[string]any{"Owners": []string{nobody}}, objectNotFound, nobody},
				{"a domain that is not accepted", map[string]any{"PrimaryEmail": "sales@other.example"}, notAccepted, "accepted domain"},
				{"an X500 address among the secondary ones", map[string]any{"SecondaryEmails": []string{"x500:/o=old"}}, catalog.FailureParameters, "X500Addresses"},
				{"a type that is none", map[string]any{"Type": "Unified"}, catalog.FailureParameters, "Distribution, Security"},
			},
		},
		{
			name: "New-ExchangeDistributionList-for-permissions", function: "New-ExchangeDistributionList",
			params: map[string]any{"DisplayName": "Sales", "PrimaryEmail": "sales@contoso.example", "Type": "security"},
		},
		{
			name: "Add-ExchangeGroupMember", function: "Add-ExchangeGroupMember", params: map[string]any{"GroupIdentity": listID, "Member": adaID},
			refusals: []refusal{unknown, {"a user who is no recipient", map[string]any{"Member": caraID}, objectNotFound, caraID}},
		},
		{
			name: "Remove-ExchangeGroupMember", function: "Remove-ExchangeGroupMember", params: map[string]any{"GroupIdentity": listID, "Member": "bob@contoso.example"},
			refusals: []refusal{unknown, {"a user who is no recipient", map[string]any{"Member": caraID}, objectNotFound, caraID}},
		},
		{
			name: "Add-ExchangeGroupOwner", function: "Add-ExchangeGroupOwner", params: map[string]any{"GroupIdentity": listID, "Owner": adaID},
			refusals: []refusal{unknown, {"a user who is no recipient", map[string]any{"Owner": caraID}, objectNotFound, caraID}},
		},
		{
			name: "Remove-ExchangeGroupOwner-in-a-group-without", function: "Remove-ExchangeGroupOwner", params: map[string]any{"GroupIdentity": listID, "Owner": adaID},
			refusals: []refusal{unknown},
		},
		{
			name: "Test-ExchangeGroupOwner", function: "Test-ExchangeGroupOwner", params: map[string]any{"GroupIdentity": listID, "Owner": adaID, "ExpectedOwner": false},
			refusals: []refusal{unknown, {"a user who is no recipient", map[string]any{"Owner": caraID}, objectNotFound, caraID}},
		},
		{
			name: "Test-ExchangeGroupOwner-who-is-missing", function: "Test-ExchangeGroupOwner", params: map[string]any{"GroupIdentity": listID, "Owner": "ada@contoso.example"},
		},
		{
			name: "Add-ExchangeSecondaryEmail-of-a-list", function: "Add-ExchangeSecondaryEmail",
			params: map[string]any{"Identity": listID, "SecondaryEmail": "list@fabrikam.example"},
		},
		{
			name: "Set-ExchangePrimaryEmail-of-a-list", function: "Set-ExchangePrimaryEmail",
			params: map[string]any{"Identity": listID, "PrimaryEmail": "list@fabrikam.example"},
		},
		{
			name: "New-ExchangeMailbox", function: "New-ExchangeMailbox",
			params: map[string]any{
				"Type": "Shared", "DisplayName": "Help desk", "PrimaryEmail": "help@contoso.example", "SecondaryEmails": []string{"desk@contoso.example"},
				"LegacyExchangeDN": "/o=old/cn=help",
			},
			refusals: []refusal{
				{"a mailbox of another type has the address", map[string]any{"PrimaryEmail": "bob@contoso.example"}, catalog.FailureConflict, "differs in: DisplayName, Type"},
				{"a mail user has the address", map[string]any{"PrimaryEmail": "a.l@contoso.example"}, addressTaken, "already being used"},
				{"a domain that is not accepted", map[string]any{"PrimaryEmail": "help@other.example"}, notAccepted, "accepted domain"},
				{"an X500 address among the secondary ones", map[string]any{"SecondaryEmails": []string{"x500:/o=old"}}, catalog.FailureParameters, "X500Addresses"},
				{"a mailbox of a person", map[string]any{"Type": "Regular"}, catalog.FailureParameters, "Shared, Room, Equipment"},
			},
		},
		{
			name: "New-ExchangeMailbox-for-a-room", function: "New-ExchangeMailbox",
			params: map[string]any{"Type": "Room", "DisplayName": "Room 1", "PrimaryEmail": "room1@contoso.example"},
		},
		{
			name: "Set-ExchangeMailboxType", function: "Set-ExchangeMailboxType", params: map[string]any{"Identity": bobID, "Type": "Shared"},
			refusals: []refusal{unknownRecipient, notAMailbox},
		},
		{
			name: "Set-ExchangeMailboxType-back", function: "Set-ExchangeMailboxType", params: map[string]any{"Identity": bobID, "Type": "Regular"},
			seed: func(s *tenant.Seed) { s.Recipients[1].MailboxType = "Equipment" },
		},
	}
}

// permissionRows are of permissions on mailboxes and calendars.
func permissionRows() []row {
	missing := refusal{"people whom the tenant does not have", map[string]any{"FullAccess": []string{"gone@old.example"}}, catalog.FailureConflict, "gone@old.example"}
	notAPrincipal := refusal{"a list, which gets no such permission", map[string]any{"FullAccess": []string{"list@old.example"}}, objectNotFound, "wasn't found"}
	return []row{
		{
			name: "Get-ExchangeMailbox", function: "Get-ExchangeMailbox", params: map[string]any{"Identity": bobID},
			seed: func(s *tenant.Seed) {
				s.VerifiedDomains = append(s.VerifiedDomains, "tenant.onmicrosoft.com")
				bob := &s.Recipients[1]
				bob.ExchangeGUID, bob.ArchiveGUID, bob.LegacyDN = exchangeGUID, archiveGUID, "/o=ExchangeLabs/cn=bob"
				bob.EmailAddresses = append(bob.EmailAddresses, "smtp:bob@tenant.onmicrosoft.com", "X500:/o=old/cn=bob", "x500:/o=older/cn=bob")
			},
			refusals: []refusal{unknownRecipient, notAMailbox},
		},
		{
			name: "Get-ExchangeMailbox-without-archive", function: "Get-ExchangeMailbox", params: map[string]any{"Identity": "bob@contoso.example"},
			seed: func(s *tenant.Seed) {
				s.Recipients[1].ExchangeGUID, s.Recipients[1].LegacyDN = exchangeGUID, "/o=ExchangeLabs/cn=bob"
			},
		},
		{
			name: "Get-ExchangeMailboxPermissions", function: "Get-ExchangeMailboxPermissions", params: map[string]any{"Identity": bobID}, seed: shared,
			refusals: []refusal{unknownRecipient, notAMailboxOrGroup},
		},
		{
			name: "Add-ExchangeMailboxPermissions", function: "Add-ExchangeMailboxPermissions",
			params: map[string]any{
				"Identity": bobID, "FullAccess": []string{"ada@old.example"}, "SendAs": `["ada@old.example"]`, "SendOnBehalf": []string{"Ada@old.example", "list@old.example"},
				"TrusteeDomain": "contoso.example",
			},
			refusals: []refusal{unknownRecipient, notAMailboxOrGroup, missing, notAPrincipal},
		},
		{
			name: "Add-ExchangeMailboxPermissions-without-the-missing", function: "Add-ExchangeMailboxPermissions",
			params: map[string]any{"Identity": bobID, "FullAccess": []string{"gone@old.example", adaID}, "SkipMissing": true, "AutoMapping": false},
		},
		{
			name: "Add-ExchangeMailboxPermissions-to-nobody", function: "Add-ExchangeMailboxPermissions", params: map[string]any{"Identity": bobID, "FullAccess": "[]"},
		},
		{
			name: "Remove-ExchangeMailboxPermissions", function: "Remove-ExchangeMailboxPermissions", seed: shared,
			params:   map[string]any{"Identity": bobID, "FullAccess": []string{adaID}, "SendAs": []string{adaID}, "SendOnBehalf": []string{adaID}},
			refusals: []refusal{unknownRecipient, notAMailboxOrGroup},
		},
		{
			name: "Test-ExchangeMailboxPermissions", function: "Test-ExchangeMailboxPermissions", seed: shared,
			params:   map[string]any{"Identity": bobID, "FullAccess": []string{"ada@old.example"}, "SendOnBehalf": []string{"list@old.example"}, "TrusteeDomain": "contoso.example"},
			refusals: []refusal{unknownRecipient, notAMailboxOrGroup},
		},
		{
			name: "Test-ExchangeMailboxPermissions-that-are-missing", function: "Test-ExchangeMailboxPermissions", seed: shared,
			params: map[string]any{"Identity": bobID, "FullAccess": []string{adaID, "gone@old.example"}, "SendAs": []string{listID}},
		},
		{
			name: "Get-ExchangeCalendarPermissions", function: "Get-ExchangeCalendarPermissions", params: map[string]any{"Identity": bobID}, seed: shared,
			refusals: []refusal{unknownRecipient, notAMailbox},
		},
		{
			name: "Set-ExchangeCalendarPermissions", function: "Set-ExchangeCalendarPermissions", seed: shared,
			params: map[string]any{
				"Identity": bobID, "Permissions": []string{"ada@old.example=editor", "list@old.example=CreateItems + FolderVisible", "Default=AvailabilityOnly"},
				"TrusteeDomain": "contoso.example",
			},
			refusals: []refusal{
				unknownRecipient, notAMailbox,
				{"people whom the tenant does not have", map[string]any{"Permissions": []string{"gone@old.example=Editor"}}, catalog.FailureConflict, "gone@old.example"},
				{"an entry without a role", map[string]any{"Permissions": []string{"ada@old.example"}}, catalog.FailureParameters, "ada@contoso.com=Reviewer"},
				{"a role that is none", map[string]any{"Permissions": []string{"ada@old.example=Boss"}}, catalog.FailureParameters, "PublishingEditor"},
				{"two entries of a user", map[string]any{"Permissions": []string{"ada@old.example=Owner", "Ada@old.example=Editor"}}, catalog.FailureParameters, "two entries"},
			},
		},
		{
			name: "Remove-ExchangeCalendarPermissions", function: "Remove-ExchangeCalendarPermissions", seed: shared,
			params: map[string]any{"Identity": bobID, "Trustees": []string{adaID, listID}},
			refusals: []refusal{
				unknownRecipient, notAMailbox,
				{"the entry of everybody", map[string]any{"Trustees": []string{"Default"}}, catalog.FailureParameters, "Set-ExchangeCalendarPermissions"},
			},
		},
		{
			name: "Test-ExchangeCalendarPermissions", function: "Test-ExchangeCalendarPermissions", seed: shared,
			params: map[string]any{"Identity": bobID, "Permissions": []string{"ada@old.example=Reviewer", "Default=LimitedDetails"}, "TrusteeDomain": "contoso.example"},
			refusals: []refusal{
				unknownRecipient, notAMailbox,
				{"an entry without a user", map[string]any{"Permissions": []string{"=Editor"}}, catalog.FailureParameters, "ada@contoso.com=Reviewer"},
			},
		},
		{
			name: "Test-ExchangeCalendarPermissions-that-are-missing", function: "Test-ExchangeCalendarPermissions", seed: shared,
			params: map[string]any{"Identity": bobID, "Permissions": []string{adaID + "=Editor", "gone@old.example=Editor", listID + "=Reviewer", "Anonymous=Reviewer"}},
		},
	}
}
