package matrix_test

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// withOwners has a Microsoft 365 group that Bob and Cara own.
func withOwners(s *tenant.Seed) {
	withTeam(s)
	s.Groups[len(s.Groups)-1].Owners = []string{bobID, caraID}
}

// entraGroupRows are of new groups of Entra ID, and of their owners.
func entraGroupRows() []row {
	group := map[string]any{
		"DisplayName": "Sales Europe", "MailNickname": "sales-europe", "Description": "Who sells in Europe",
		"Owners": []string{bobID}, "Members": []string{bobID, caraID},
	}
	refusals := []refusal{
		{"a name that is taken", map[string]any{"MailNickname": "movers"}, catalog.FailureConflict, "differs in: displayName, description"},
		{"a name that is none", map[string]any{"MailNickname": "sales europe"}, catalog.FailureParameters, "invalid MailNickname"},
		{"an owner who does not exist", map[string]any{"Owners": []string{nobody}}, "Request_ResourceNotFound", nobody},
		{"an owner by name", map[string]any{"Owners": []string{"bob@contoso.example"}}, catalog.FailureParameters, "object ids of users"},
		{"the visibility of a security group", map[string]any{"Type": "Security", "Visibility": "Private"}, catalog.FailureParameters, "Microsoft 365 groups only"},
	}
	owner := func(user string) map[string]any { return map[string]any{"GroupId": teamID, "UserId": user} }
	unknownGroup := refusal{"a group that does not exist", map[string]any{"GroupId": nobody}, "Request_ResourceNotFound", nobody}
	return []row{
		{name: "New-EntraGroup", function: "New-EntraGroup", seed: withTeam, params: group, refusals: refusals},
		{
			name: "New-EntraGroup-for-security", function: "New-EntraGroup",
			params: map[string]any{"DisplayName": "Excluded", "MailNickname": "excluded", "Type": "Security"},
		},
		{
			name: "New-EntraGroup-that-exists", function: "New-EntraGroup",
			params: map[string]any{"DisplayName": "pilots", "MailNickname": "Pilots", "Type": "Security"},
		},
		{
			name: "Add-EntraGroupOwner", function: "Add-EntraGroupOwner", seed: withTeam, params: owner(adaID),
			refusals: []refusal{unknownGroup, {"a user who does not exist", map[string]any{"UserId": nobody}, "Request_ResourceNotFound", nobody}},
		},
		{name: "Add-EntraGroupOwner-who-is-one", function: "Add-EntraGroupOwner", seed: withTeam, params: owner(bobID)},
		{
			name: "Remove-EntraGroupOwner", function: "Remove-EntraGroupOwner", seed: withOwners, params: owner(bobID),
			refusals: []refusal{unknownGroup},
		},
		{
			name: "Remove-EntraGroupOwner-who-is-none", function: "Remove-EntraGroupOwner", seed: withTeam, params: owner(caraID),
			refusals: []refusal{{"the last owner", map[string]any{"UserId": bobID}, catalog.FailureConflict, "last owner of the group; add another owner"}},
		},
		{name: "Test-EntraGroupOwner", function: "Test-EntraGroupOwner", seed: withTeam, params: owner(bobID), refusals: []refusal{unknownGroup}},
		{name: "Test-EntraGroupOwner-of-a-member", function: "Test-EntraGroupOwner", seed: withTeam, params: owner(caraID)},
		{
			name: "Test-EntraGroupOwner-that-should-be-gone", function: "Test-EntraGroupOwner", seed: withTeam,
			params: map[string]any{"GroupId": teamID, "UserId": bobID, "ExpectedOwner": false},
		},
	}
}

// Owners that were just changed are changed again, before reads show it.
func TestOwnersAreChangedForthAndBackWithinTheLag(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: withTeam}, func(c *tenant.Config) { c.Lag = 10 * time.Second })
	ada := map[string]any{"GroupId": teamID, "UserId": adaID}
	w.does(step{"Add-EntraGroupOwner", ada}, step{"Remove-EntraGroupOwner", ada}, step{"Add-EntraGroupOwner", ada}, step{"Remove-EntraGroupOwner", ada})
	for _, g := range w.tenant.State().Groups {
		if g.ID() == teamID && len(g.Owners) != 1 {
			t.Errorf("the group has the owners %v", g.Owners)
		}
	}
}
