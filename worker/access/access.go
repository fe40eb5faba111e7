// Package access carries out the functions for Conditional Access. It makes requests through the client of package graph.
package access

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// Functions are the catalogue's functions that this package carries out.
func Functions(g *graph.Client) []catalog.Function {
	return []catalog.Function{catalog.TestEntraConditionalAccessExclusion.With(service{g}.testExclusion)}
}

type service struct{ graph *graph.Client }

// policy is a conditionalAccessPolicy, with its conditions about users.
type policy struct {
	ID, DisplayName, State string
	Conditions             struct{ Users users }
}

type users struct {
	IncludeUsers, ExcludeUsers, IncludeGroups, ExcludeGroups, IncludeRoles []string
	IncludeGuestsOrExternalUsers                                           map[string]any
}

// ExclusionResult is the result of Test-EntraConditionalAccessExclusion.
type ExclusionResult struct {
	Complete bool          `json:"complete"`
	Reason   string        `json:"reason,omitempty"` // why it is not complete
	Data     ExclusionData `json:"data"`
}

// ExclusionData tells of one user or group.
type ExclusionData struct {
	UserID           string `json:"UserId,omitempty"`
	GroupID          string `json:"GroupId,omitempty"`
	ExpectedExcluded bool
	Policies         []PolicyExclusion
}

// PolicyExclusion tells whether a policy excludes the user or group.
type PolicyExclusion struct {
	ID          string `json:"Id"`
	Name, State string
	Excluded    bool
	By          string `json:",omitempty"` // group that excludes a user
}

func (s service) testExclusion(ctx context.Context, p catalog.Params) (any, error) {
	data := ExclusionData{
		UserID: p.String("UserId"), GroupID: p.String("GroupId"), ExpectedExcluded: p.Bool("ExpectedExcluded", true), Policies: []PolicyExclusion{},
	}
	if (data.UserID == "") == (data.GroupID == "") {
		return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "give one of UserId and GroupId"}
	}
	policies, err := s.policies(ctx, p.List("Policies"))
	if err != nil {
		return nil, err
	}
	groups := map[string]bool{}
	if data.UserID != "" {
		if groups, err = s.groupsOf(ctx, data.UserID, policies); err != nil {
			return nil, err
		}
	}
	for _, policy := range policies {
		about := policy.Conditions.Users
		if data.UserID != "" && !p.Has("Policies") && !about.mayApply(data.UserID, groups) {
			continue
		}
		e := PolicyExclusion{ID: policy.ID, Name: policy.DisplayName, State: policy.State}
		if data.GroupID != "" {
			e.Excluded = hasFold(about.ExcludeGroups, data.GroupID)
		} else {
			e.Excluded, e.By = about.excludes(data.UserID, groups)
		}
		data.Policies = append(data.Policies, e)
	}
	reason := data.differences()
	return ExclusionResult{Complete: reason == "", Reason: reason, Data: data}, nil
}

// policies are those with these names or ids, or all enabled ones.
func (s service) policies(ctx context.Context, named []string) ([]policy, error) {
	objects, err := s.graph.ReadAll(ctx, "/v1.0/identity/conditionalAccess/policies?$select=id,displayName,state,conditions")
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(objects)
	if err != nil {
		return nil, err
	}
	var all []policy
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: "the answer is not a list of Conditional Access policies"}
	}
	if len(named) == 0 {
		return slices.DeleteFunc(all, func(p policy) bool { return !strings.EqualFold(p.State, "enabled") }), nil
	}
	var found []policy
	for _, name := range named {
		before := len(found)
		for _, p := range all {
			if strings.EqualFold(p.ID, name) || strings.EqualFold(p.DisplayName, name) {
				found = append(found, p)
			}
		}
		if len(found) == before {
			return nil, &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: fmt.Sprintf("the tenant has no Conditional Access policy %q", name)}
		}
	}
	return found, nil
}

// maxGroups is how many groups one checkMemberGroups takes.
const maxGroups = 20

// groupsOf are the groups of the policies that a user is a member of, directly or through other groups.
func (s service) groupsOf(ctx context.Context, user string, policies []policy) (map[string]bool, error) {
	var ids []string
	for _, p := range policies {
		ids = slices.Concat(ids, p.Conditions.Users.IncludeGroups, p.Conditions.Users.ExcludeGroups)
	}
	for i := range ids {
		ids[i] = strings.ToLower(ids[i])
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 { // nothing would tell that there is no such user
		_, err := s.graph.Read(ctx, "/v1.0/users/"+user+"?$select=id")
		return nil, err
	}
	groups := map[string]bool{}
	for chunk := range slices.Chunk(ids, maxGroups) {
		answer, err := s.graph.Ask(ctx, "/v1.0/users/"+user+"/checkMemberGroups", map[string]any{"groupIds": chunk})
		if err != nil {
			return nil, err
		}
		list, _ := answer["value"].([]any)
		for _, id := range list {
			text, _ := id.(string)
			groups[strings.ToLower(text)] = true
		}
	}
	return groups, nil
}

// mayApply tells whether the users of a policy can include a user. Whether a user has a role or is a guest is not looked
// up: such a policy may apply.
func (u users) mayApply(user string, groups map[string]bool) bool {
	return hasFold(u.IncludeUsers, "All") || hasFold(u.IncludeUsers, user) || hasFold(u.IncludeUsers, "GuestsOrExternalUsers") ||
		len(u.IncludeRoles) > 0 || u.IncludeGuestsOrExternalUsers != nil ||
		slices.ContainsFunc(u.IncludeGroups, func(id string) bool { return groups[strings.ToLower(id)] })
}

// excludes tells whether a user is excluded, and by which group.
func (u users) excludes(user string, groups map[string]bool) (excluded bool, by string) {
	if i := slices.IndexFunc(u.ExcludeGroups, func(id string) bool { return groups[strings.ToLower(id)] }); i >= 0 {
		return true, u.ExcludeGroups[i]
	}
	return hasFold(u.ExcludeUsers, user), ""
}

func hasFold(list []string, text string) bool {
	return slices.ContainsFunc(list, func(item string) bool { return strings.EqualFold(item, text) })
}

// differences are the policies that are not as expected.
func (d ExclusionData) differences() string {
	who := "user"
	if d.GroupID != "" {
		who = "group"
	}
	var names []string
	for _, p := range d.Policies {
		if p.Excluded != d.ExpectedExcluded {
			names = append(names, p.Name)
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case d.ExpectedExcluded:
		return fmt.Sprintf("the %s is not excluded from %s, expected an exclusion", who, strings.Join(names, ", "))
	}
	return fmt.Sprintf("the %s is excluded from %s, expected no exclusion", who, strings.Join(names, ", "))
}
