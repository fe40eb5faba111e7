package matrix_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// withContact has a contact for Grace, who left.
func withContact(s *tenant.Seed) {
	s.Recipients = append(s.Recipients, tenant.Recipient{
		Kind: tenant.MailContact, GUID: "44444444-0000-4000-8000-000000000003", ExternalDirectoryObjectID: "55555555-0000-4000-8000-000000000001",
		Name: "grace@old.example", DisplayName: "Grace Hopper", Alias: "grace.old.example", ExternalEmailAddress: "grace@old.example",
	})
}

// contactRows are of mail contacts and custom attributes.
func contactRows() []row {
	foreign := refusal{"an address of a mailbox", map[string]any{"ExternalEmail": "bob@contoso.example"}, catalog.FailureConflict, "that of the UserMailbox bob"}
	otherName := refusal{"a contact of somebody else", map[string]any{"Name": "hopper"}, catalog.FailureConflict, "Name"}
	return []row{
		{
			name: "New-ExchangeMailContact", function: "New-ExchangeMailContact",
			params: map[string]any{"DisplayName": "Grace Hopper", "ExternalEmail": "grace@old.example", "Hidden": true},
			refusals: []refusal{
				foreign,
				{"an address of a mail user", map[string]any{"ExternalEmail": "ada@contoso.example"}, catalog.FailureConflict, "that of the MailUser ada"},
				{"somebody else has the name", map[string]any{"Name": "bob"}, recipientTask, "already being used"},
				{"somebody else has the alias", map[string]any{"Alias": "bob"}, recipientTask, "used by another"},
				{"a name that is too long", map[string]any{"Name": strings.Repeat("x", 65)}, catalog.FailureParameters, "64 characters"},
				{"an address that is none", map[string]any{"ExternalEmail": "grace"}, catalog.FailureParameters, "must be an address"},
			},
		},
		{
			name: "New-ExchangeMailContact-with-old-addresses", function: "New-ExchangeMailContact",
			params: map[string]any{
				"DisplayName": "Grace Hopper", "ExternalEmail": "grace@old.example", "SecondaryEmails": []string{"grace@contoso.example"},
				"LegacyExchangeDN": "/o=ExchangeLabs/cn=grace", "X500Addresses": "/o=old/cn=grace",
			},
			refusals: []refusal{
				{"an address of a mailbox", map[string]any{"SecondaryEmails": []string{"bob@contoso.example"}}, catalog.FailureConflict, "bob@contoso.example is an address of another recipient"},
				{"an X500 address among the secondary ones", map[string]any{"SecondaryEmails": "x500:/o=a"}, catalog.FailureParameters, "X500Addresses"},
			},
		},
		{
			name: "Test-ExchangeMailbox", function: "Test-ExchangeMailbox", params: map[string]any{"Identity": bobID},
			seed: func(s *tenant.Seed) { s.Users[0]["displayName"], s.Users[1]["displayName"] = "Twin", "Twin" },
			refusals: []refusal{{
				"a name of several recipients",
				map[string]any{"Identity": "Twin"},
				"Microsoft.Exchange.Configuration.Tasks.ManagementObjectAmbiguousException", "matches multiple entries",
			}},
		},
		{name: "Test-ExchangeMailbox-that-should-be-gone", function: "Test-ExchangeMailbox", params: map[string]any{"Identity": "bob", "ExpectedMailbox": false}},
		{name: "Test-ExchangeMailbox-of-a-mail-user", function: "Test-ExchangeMailbox", params: map[string]any{"Identity": adaID}},
		{name: "Test-ExchangeMailbox-of-nobody", function: "Test-ExchangeMailbox", params: map[string]any{"Identity": nobody, "ExpectedMailbox": false}},
		{
			name: "New-ExchangeMailContact-that-exists", function: "New-ExchangeMailContact", seed: withContact,
			params: map[string]any{"DisplayName": "Grace Hopper", "ExternalEmail": "Grace@old.example", "Hidden": "true"},
			refusals: []refusal{
				otherName,
				{"a contact of another name in the address book", map[string]any{"DisplayName": "Grace"}, catalog.FailureConflict, "differs in: DisplayName"},
			},
		},
		{
			name: "Remove-ExchangeMailContact", function: "Remove-ExchangeMailContact", seed: withContact, params: map[string]any{"ExternalEmail": "grace@old.example"},
			refusals: []refusal{foreign, otherName},
		},
		{name: "Remove-ExchangeMailContact-that-does-not-exist", function: "Remove-ExchangeMailContact", params: map[string]any{"ExternalEmail": "grace@old.example"}},
		{
			name: "Test-ExchangeMailContact", function: "Test-ExchangeMailContact", seed: withContact,
			params: map[string]any{"ExternalEmail": "grace@old.example", "DisplayName": "grace hopper", "Name": "grace@old.example", "Hidden": false},
			refusals: []refusal{
				foreign,
				{"a contact that does not exist", map[string]any{"ExternalEmail": "nobody@old.example"}, objectNotFound, "nobody@old.example"},
			},
		},
		{
			name: "Test-ExchangeMailContact-that-differs", function: "Test-ExchangeMailContact", seed: withContact,
			params: map[string]any{"ExternalEmail": "grace@old.example", "DisplayName": "G. Hopper", "Hidden": true},
		},
		{
			name: "Set-ExchangeCustomAttributes", function: "Set-ExchangeCustomAttributes",
			params: map[string]any{"Identity": adaID, "CustomAttribute7": "wave 1", "CustomAttribute15": "Ada", "ClearAttributes": []string{"customattribute8"}},
			seed: func(s *tenant.Seed) {
				s.Recipients[0].Custom = map[string]string{"CustomAttribute8": "old", "CustomAttribute9": "kept"}
			},
			refusals: []refusal{
				unknownRecipient,
				{"a distribution list", map[string]any{"Identity": listID}, catalog.FailureConflict, "give a mail user or mailbox"},
				{"nothing", map[string]any{"CustomAttribute7": nil, "CustomAttribute15": nil, "ClearAttributes": nil}, catalog.FailureParameters, "no custom attribute is given"},
				{"an attribute that does not exist", map[string]any{"ClearAttributes": "CustomAttribute16"}, catalog.FailureParameters, "CustomAttribute16"},
				{"an attribute set and cleared", map[string]any{"ClearAttributes": "CustomAttribute7"}, catalog.FailureParameters, "also given"},
				{"a text that is too long", map[string]any{"CustomAttribute1": strings.Repeat("x", 1025)}, catalog.FailureParameters, "1024 characters"},
			},
		},
		{
			name: "Set-ExchangeCustomAttributes-of-a-mailbox", function: "Set-ExchangeCustomAttributes", params: map[string]any{"Identity": bobID, "CustomAttribute1": "moved"},
		},
	}
}

// A move that failed is started again after the repair, waits for the approval of what was skipped, and completes at its own time.
func TestAMoveIsRepaired(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: func(s *tenant.Seed) {
		waiting(s)
		s.Recipients[0].ExchangeGUID = ""
		s.MigrationBatches = []tenant.MigrationBatch{{
			Name: "wave 1", SourceEndpoint: "source", TargetDeliveryDomain: "contoso.example",
			Users: []tenant.MigrationUser{{Email: "ada@contoso.example", Error: "MigrationPermanentException: Cannot find a recipient that has mailbox GUID", Skipped: true}},
		}}
	}}, func(c *tenant.Config) { c.MoveDelay = time.Minute })
	ada := func(more map[string]any) map[string]any {
		params := map[string]any{"BatchName": "wave 1", "EmailAddress": "ada@contoso.example"}
		for name, value := range more {
			params[name] = value
		}
		return params
	}
	expect := func(status string) {
		t.Helper()
		answer, err := w.call(t.Context(), "Test-ExchangeMigrationUser", ada(map[string]any{"ExpectedStatus": "Completed"}), false)
		if err != nil {
			answer = err.Error()
		}
		if !strings.Contains(answer, status) {
			t.Errorf("got %s, want %q", answer, status)
		}
	}
	expect("is Failed, expected Completed")
	w.does(step{"Set-ExchangeMailUserGuids", map[string]any{"Identity": adaID, "ExchangeGuid": exchangeGUID}},
		step{"Start-ExchangeMigrationBatch", map[string]any{"BatchName": "wave 1"}})
	expect("is Syncing, expected Completed")
	_ = w.clock.sleep(t.Context(), time.Minute)
	w.does(step{"Set-ExchangeMigrationUser", ada(map[string]any{"CompleteAfter": "2026-03-01T09:00:00Z"})})
	expect("is Synced, expected Completed")
	w.does(step{"Set-ExchangeMigrationUser", ada(map[string]any{"ApproveSkippedItems": true})})
	_ = w.clock.sleep(t.Context(), time.Minute)
	expect(`"complete":true`)
	w.does(step{"Start-ExchangeMigrationBatch", map[string]any{"BatchName": "wave 1"}}, // nothing has failed
		step{"Set-ExchangeMigrationUser", ada(map[string]any{"ApproveSkippedItems": true})})
	if r := w.recipient(adaID); r.Kind != tenant.UserMailbox {
		t.Errorf("Ada is a %s after her move", r.Kind)
	}
}
