package exchange_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

func TestAttributeMatch(t *testing.T) {
	t.Parallel()
	w := start(t, tenant.MailUser)
	for _, tc := range []struct {
		note, kind, attribute string
		expected              any
		match                 bool
	}{
		{"same but for case", "", "primarySMTPaddress", "ADA@contoso.example", true},
		{"other", "", "PrimarySmtpAddress", "x@contoso.example", false},
		{
			"set in any order", "MailUser", "EmailAddresses",
			[]string{"X500:/o=old/cn=ada", "smtp:a.l@contoso.example", "SMTP:ada@contoso.example"},
			true,
		},
		{"part of a set", "Recipient", "EmailAddresses", []string{"SMTP:ada@contoso.example"}, false},
		{"expected to be empty", "MailUser", "CustomAttribute1", nil, true},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			answer := testenv.Must(call(t, w.Catalog, "Test-ExchangeAttributeMatch", map[string]any{
				"Identity": adaID, "RecipientType": tc.kind, "AttributeName": tc.attribute, "ExpectedValue": tc.expected,
			}))(t)
			raw, _ := json.Marshal(answer)
			var got struct {
				Complete bool
				Reason   string
				Data     struct{ Match bool }
			}
			if err := json.Unmarshal(raw, &got); err != nil || got.Complete != tc.match || got.Data.Match != tc.match || (got.Reason == "") != tc.match {
				t.Fatalf("got %s, want match %v", raw, tc.match)
			}
		})
	}
}

func TestAttributeThatDoesNotExistIsNotTakenForEmpty(t *testing.T) {
	t.Parallel()
	w := start(t, tenant.MailUser)
	for _, params := range []map[string]any{
		{"Identity": adaID, "AttributeName": "EmailAdresses"},
		{"Identity": adaID, "AttributeName": "EmailAddresses", "RecipientType": "Contact"},
	} {
		_, err := call(t, w.Catalog, "Test-ExchangeAttributeMatch", params)
		var f *catalog.Failure
		if !errors.As(err, &f) || f.Type != catalog.FailureParameters {
			t.Errorf("%v: got %v", params, err)
		}
	}
}

func TestGroupMembership(t *testing.T) {
	t.Parallel()
	w := start(t, tenant.MailUser)
	for name, members := range map[string][]string{"with": {adaID}, "without": nil} {
		if err := w.Seed(tenant.Seed{Groups: []tenant.SeedGroup{{
			Properties: map[string]any{
				"displayName": name, "mailNickname": name, "mail": name + "@contoso.example",
				"mailEnabled": true, "securityEnabled": false,
			},
			Members: members,
		}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		group    string
		expected any
		complete bool
	}{
		{"with@contoso.example", nil, true},
		{"without@contoso.example", nil, false},
		{"with@contoso.example", "false", false},
		{"without@contoso.example", "false", true},
	} {
		answer, err := call(t, w.Catalog, "Test-ExchangeGroupMembership", map[string]any{
			"GroupIdentity": tc.group, "UserId": adaID, "ExpectedMember": tc.expected,
		})
		raw, _ := json.Marshal(answer)
		var got struct{ Complete bool }
		if err != nil || json.Unmarshal(raw, &got) != nil || got.Complete != tc.complete {
			t.Errorf("%s, expected %v: got %s, %v", tc.group, tc.expected, raw, err)
		}
	}
}
