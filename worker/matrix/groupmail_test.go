package matrix_test

import (
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// withGroupMail has a Microsoft 365 group with an address in the initial domain.
func withGroupMail(s *tenant.Seed) {
	s.VerifiedDomains = append(s.VerifiedDomains, "tenant.onmicrosoft.com")
	withTeam(s)
	s.Groups[len(s.Groups)-1].Properties["proxyAddresses"] = []string{"smtp:movers@contoso.example", "X500:/o=old/cn=movers"}
}

// withSenders has this group with Ada and Bob, who can send as it, and Bob, who can send on its behalf.
func withSenders(s *tenant.Seed) {
	withGroupMail(s)
	g := &s.Groups[len(s.Groups)-1]
	g.SendAs, g.SendOnBehalf = []string{adaID, bobID}, []string{bobID}
}

// groupMailRows are of addresses of groups, and of permissions to send as them.
func groupMailRows() []row {
	of := func(id string, more map[string]any) map[string]any {
		params := map[string]any{"Identity": id}
		for name, value := range more {
			params[name] = value
		}
		return params
	}
	send := map[string]any{"SendAs": []string{"bob@old.example"}, "SendOnBehalf": []string{"bob@old.example"}, "TrusteeDomain": "contoso.example"}
	full := refusal{"full access", map[string]any{"FullAccess": []string{"bob@old.example"}}, catalog.FailureConflict, "no full access"}
	return []row{
		{
			name: "Get-ExchangeGroup", function: "Get-ExchangeGroup", seed: withGroupMail, params: of(teamID, nil),
			refusals: []refusal{unknownRecipient, {"a mail user", map[string]any{"Identity": adaID}, catalog.FailureConflict, "is a MailUser: give a distribution list"}},
		},
		{name: "Get-ExchangeGroup-that-is-a-list", function: "Get-ExchangeGroup", params: of("list@contoso.example", nil)},
		{
			name: "Set-ExchangePrimaryEmail-of-a-group", function: "Set-ExchangePrimaryEmail", seed: withGroupMail,
			params: of(teamID, map[string]any{"PrimaryEmail": "movers@fabrikam.example"}),
			refusals: []refusal{
				{"an address of another recipient", map[string]any{"PrimaryEmail": "bob@contoso.example"}, addressTaken, "already being used"},
				{"a domain that is not accepted", map[string]any{"PrimaryEmail": "movers@other.example"}, notAccepted, "accepted domain"},
			},
		},
		{
			name: "Add-ExchangeSecondaryEmail-of-a-group", function: "Add-ExchangeSecondaryEmail", seed: withGroupMail,
			params:   of(teamID, map[string]any{"SecondaryEmail": "move@contoso.example"}),
			refusals: []refusal{{"an address of a list", map[string]any{"SecondaryEmail": "list@contoso.example"}, addressTaken, "already being used"}},
		},
		{
			name: "Set-EntraProxyAddresses-of-a-group", function: "Set-EntraProxyAddresses", seed: withGroupMail,
			params:   map[string]any{"UserId": teamID, "ProxyAddresses": []string{"SMTP:movers@contoso.example", "movers@tenant.onmicrosoft.com", "move@fabrikam.example"}},
			refusals: []refusal{{"a group that does not exist", map[string]any{"UserId": nobody}, objectNotFound, nobody}},
		},
		{
			name: "Set-ExchangeHidden-a-group", function: "Set-ExchangeHidden", seed: withGroupMail, params: of(teamID, map[string]any{"Hidden": true}),
		},
		{
			name: "Remove-ExchangeAddresses-of-a-group", function: "Remove-ExchangeAddresses", seed: withGroupMail,
			params:   of(teamID, map[string]any{"Domain": "contoso.example"}),
			refusals: []refusal{{"the initial domain", map[string]any{"Domain": "tenant.onmicrosoft.com", "PrimaryEmail": "movers@contoso.example"}, catalog.FailureConflict, "keeps an address in an onmicrosoft.com domain"}},
		},
		{
			name: "Add-ExchangeMailboxPermissions-to-a-group", function: "Add-ExchangeMailboxPermissions", seed: withGroupMail, params: of(teamID, send),
			refusals: []refusal{full, {"a list that sends as the group", map[string]any{"SendAs": []string{"list@old.example"}}, objectNotFound, "wasn't found"}},
		},
		{name: "Add-ExchangeMailboxPermissions-to-a-list", function: "Add-ExchangeMailboxPermissions", seed: withGroupMail, params: of(listID, send)},
		{name: "Get-ExchangeMailboxPermissions-of-a-group", function: "Get-ExchangeMailboxPermissions", seed: withSenders, params: of(teamID, nil)},
		{
			name: "Remove-ExchangeMailboxPermissions-of-a-group", function: "Remove-ExchangeMailboxPermissions", seed: withSenders, params: of(teamID, send),
			refusals: []refusal{full},
		},
		{
			name: "Test-ExchangeMailboxPermissions-of-a-group", function: "Test-ExchangeMailboxPermissions", seed: withSenders, params: of(teamID, send),
			refusals: []refusal{full},
		},
		{name: "Test-ExchangeMailboxPermissions-of-a-list-without", function: "Test-ExchangeMailboxPermissions", params: of(listID, send)},
	}
}

// A group gets its addresses and permissions as soon as it was created, which reads show late, and those who could send in the source can
// send in the target.
func TestANewGroupGetsItsMail(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: func(s *tenant.Seed) { s.VerifiedDomains = append(s.VerifiedDomains, "tenant.onmicrosoft.com") }}, func(c *tenant.Config) { c.Lag = 10 * time.Second })
	w.does(step{"New-EntraGroup", map[string]any{"DisplayName": "Sales", "MailNickname": "sales", "Owners": []string{bobID}}})
	sales := map[string]any{"Identity": "sales@tenant.onmicrosoft.com", "SendAs": bobID, "SendOnBehalf": bobID}
	w.does(step{"Set-ExchangePrimaryEmail", map[string]any{"Identity": "sales@tenant.onmicrosoft.com", "PrimaryEmail": "sales@contoso.example"}},
		step{"Add-ExchangeMailboxPermissions", sales}, step{"Remove-ExchangeMailboxPermissions", sales}, step{"Add-ExchangeMailboxPermissions", sales})
	for _, r := range w.tenant.State().Recipients {
		if r.Alias == "sales" && (r.Primary() != "sales@contoso.example" || !slices.Equal(r.SendAs, []string{bobID}) || !slices.Equal(r.SendOnBehalf, []string{bobID})) {
			t.Errorf("the group is %+v", r)
		}
	}
}
