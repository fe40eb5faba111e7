package matrix_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

const (
	teamID   = "22222222-0000-4000-8000-000000000003"
	policyID = "66666666-0000-4000-8000-000000000001"
)

// withTeam has a team, of which Bob is the owner and Cara a member.
func withTeam(s *tenant.Seed) {
	s.Groups = append(s.Groups, tenant.SeedGroup{
		Members: []string{bobID, caraID}, Owners: []string{bobID},
		Properties: map[string]any{
			"id": teamID, "displayName": "movers", "mailNickname": "movers", "mailEnabled": true, "securityEnabled": false,
			"groupTypes": []any{"Unified"}, "resourceProvisioningOptions": []any{"Team"},
		},
	})
}

// withPolicies has policies of Conditional Access: two exclude the pilots, of whom Bob is one.
func withPolicies(s *tenant.Seed) {
	policy := func(n, name, state string, users map[string]any) tenant.Policy {
		return tenant.Policy{"id": policyID[:len(policyID)-1] + n, "displayName": name, "state": state, "conditions": map[string]any{"users": users}}
	}
	s.Policies = []tenant.Policy{
		policy("1", "Require MFA", "enabled", map[string]any{"includeUsers": []any{"All"}, "excludeGroups": []any{groupID}}),
		policy("2", "Block other countries", "enabled", map[string]any{"includeUsers": []any{"All"}, "excludeUsers": []any{caraID}, "excludeGroups": []any{strings.ToUpper(groupID)}}),
		policy("3", "Members of the list", "enabled", map[string]any{"includeGroups": []any{listID}}),
		policy("4", "Draft", "disabled", map[string]any{"includeUsers": []any{"All"}}),
	}
}

// teamRows are of members of teams, and of Conditional Access.
func teamRows() []row {
	noTeam := refusal{"a group without a team", map[string]any{"TeamId": groupID}, "NotFound", "No team found"}
	return []row{
		{
			name: "Add-TeamsMember", function: "Add-TeamsMember", seed: withTeam, params: map[string]any{"TeamId": teamID, "UserId": adaID},
			refusals: []refusal{noTeam, {"a user who does not exist", map[string]any{"UserId": nobody}, "NotFound", "Failed to find user"}},
		},
		{name: "Add-TeamsMember-who-is-the-owner", function: "Add-TeamsMember", seed: withTeam, params: map[string]any{"TeamId": teamID, "UserId": bobID}},
		{name: "Add-TeamsMember-as-owner", function: "Add-TeamsMember", seed: withTeam, params: map[string]any{"TeamId": teamID, "UserId": caraID, "Role": "Owner"}},
		{
			name: "Remove-TeamsMember", function: "Remove-TeamsMember", seed: withTeam, params: map[string]any{"TeamId": teamID, "UserId": caraID},
			refusals: []refusal{noTeam, {"the last owner", map[string]any{"UserId": bobID}, "BadRequest", "last owner"}},
		},
		{
			name: "Remove-TeamsMember-as-owner", function: "Remove-TeamsMember", params: map[string]any{"TeamId": teamID, "UserId": bobID, "Role": "owner"},
			seed: func(s *tenant.Seed) {
				withTeam(s)
				s.Groups[2].Owners = []string{bobID, caraID}
			},
		},
		{
			name: "Test-TeamsMembership", function: "Test-TeamsMembership", seed: withTeam, params: map[string]any{"TeamId": teamID, "UserId": bobID},
			refusals: []refusal{noTeam},
		},
		{name: "Test-TeamsMembership-as-owner", function: "Test-TeamsMembership", seed: withTeam, params: map[string]any{"TeamId": teamID, "UserId": caraID, "ExpectedRole": "owner"}},
		{name: "Test-TeamsMembership-of-nobody", function: "Test-TeamsMembership", seed: withTeam, params: map[string]any{"TeamId": teamID, "UserId": adaID, "ExpectedRole": "none"}},
		{
			name: "Test-EntraConditionalAccessExclusion", function: "Test-EntraConditionalAccessExclusion", seed: withPolicies,
			params: map[string]any{"UserId": bobID, "Policies": []string{"require mfa", policyID[:len(policyID)-1] + "2"}},
			refusals: []refusal{
				unknownUser,
				{"a policy that does not exist", map[string]any{"Policies": "Require password"}, catalog.FailureConflict, `no Conditional Access policy "Require password"`},
				{"a user and a group", map[string]any{"GroupId": groupID}, catalog.FailureParameters, "one of UserId and GroupId"},
			},
		},
		{
			name: "Test-EntraConditionalAccessExclusion-from-all", function: "Test-EntraConditionalAccessExclusion", seed: withPolicies, params: map[string]any{"UserId": bobID},
		},
		{
			name: "Test-EntraConditionalAccessExclusion-of-a-group", function: "Test-EntraConditionalAccessExclusion", seed: withPolicies, params: map[string]any{"GroupId": groupID},
		},
		{
			name: "Test-EntraConditionalAccessExclusion-that-should-be-gone", function: "Test-EntraConditionalAccessExclusion", seed: withPolicies,
			params: map[string]any{"UserId": caraID, "ExpectedExcluded": false},
		},
		{name: "Test-EntraConditionalAccessExclusion-without-policies", function: "Test-EntraConditionalAccessExclusion", params: map[string]any{"UserId": adaID}, refusals: []refusal{unknownUser}},
	}
}

// Policies after the first page count.
func TestManyPolicies(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: func(s *tenant.Seed) {
		for n := range 130 {
			s.Policies = append(s.Policies, tenant.Policy{"id": fmt.Sprint("policy ", n), "displayName": fmt.Sprint("policy ", n), "state": "enabled"})
		}
	}}, nil)
	answer, err := w.call(t.Context(), "Test-EntraConditionalAccessExclusion", map[string]any{"GroupId": groupID}, false)
	if err != nil || strings.Count(answer, `"Excluded":false`) != 130 {
		t.Errorf("got %s, %v", answer, err)
	}
}

// A team that was just changed is changed again, before reads show it.
func TestATeamIsChangedForthAndBackWithinTheLag(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: withTeam}, func(c *tenant.Config) { c.Lag = 10 * time.Second })
	ada := func(role string) map[string]any {
		return map[string]any{"TeamId": teamID, "UserId": adaID, "Role": role}
	}
	w.does(step{"Add-TeamsMember", ada("member")}, step{"Add-TeamsMember", ada("owner")}, step{"Remove-TeamsMember", ada("owner")}, step{"Remove-TeamsMember", ada("member")},
		step{"Add-TeamsMember", ada("member")}, step{"Remove-TeamsMember", ada("member")}, step{"Add-TeamsMember", ada("member")})
	for _, g := range w.tenant.State().Groups {
		if g.ID() == teamID && (len(g.Members) != 3 || len(g.Owners) != 1) {
			t.Errorf("the team has the members %v and the owners %v", g.Members, g.Owners)
		}
	}
}
