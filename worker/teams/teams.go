// Package teams carries out the functions for members of teams. It makes requests through the client of package graph.
package teams

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// Roles in a team.
const (
	owner  = "owner"
	member = "member"
	none   = "none"
)

// service is Teams as Graph has it.
type service struct{ graph *graph.Client }

// Functions are the catalogue's functions that this package carries out.
func Functions(g *graph.Client) []catalog.Function {
	s := service{g}
	return []catalog.Function{
		catalog.AddTeamsMember.With(s.addMember),
		catalog.RemoveTeamsMember.With(s.removeMember),
		catalog.TestTeamsMembership.With(s.testMembership),
	}
}

// membership is that of a user in a team.
type membership struct {
	path     string // of the members of the team
	user, id string // the id is empty for no member
	role     string
}

func newMembership(p catalog.Params) *membership {
	return &membership{path: "/v1.0/teams/" + p.String("TeamId") + "/members", user: p.String("UserId"), role: none}
}

// look reads the membership, and judges it. What it finds may be late.
func (m *membership) look(judge func() (met bool)) graph.Look {
	filter := url.QueryEscape("(microsoft.graph.aadUserConversationMember/userId eq '" + m.user + "')")
	return graph.Look{Path: m.path + "?$filter=" + filter, Shows: func(object map[string]any) (catalog.Shown, bool, error) {
		m.id, m.role = "", none
		members, _ := object["value"].([]any)
		for _, item := range members {
			found, _ := item.(map[string]any)
			roles, _ := found["roles"].([]any)
			m.id, _ = found["id"].(string)
			if m.role = member; slices.Contains(roles, any(owner)) {
				m.role = owner
			}
		}
		return catalog.Shown{Answer: true, Met: judge(), Reason: "the role of the user is " + m.role}, true, nil
	}}
}

// setRole changes the role of a member.
func (s service) setRole(ctx context.Context, m *membership, roles ...string) (bool, error) {
	return s.graph.Write(ctx, http.MethodPatch, m.path+"/"+url.PathEscape(m.id), map[string]any{
		"@odata.type": "#microsoft.graph.aadUserConversationMember", "roles": append([]string{}, roles...),
	})
}

func (s service) addMember(ctx context.Context, p catalog.Params) (any, error) {
	m, role := newMembership(p), cmp.Or(p.String("Role"), member)
	roles := []string{}
	if role == owner {
		roles = append(roles, owner)
	}
	look := m.look(func() bool { return m.role == role || m.role == owner })
	return catalog.Unless(ctx, func(wait catalog.Waiting) (catalog.Shown, error) { return s.graph.Look(ctx, look, wait) }, func() (bool, error) {
		if m.id != "" {
			return s.setRole(ctx, m, roles...)
		}
		return s.graph.Write(ctx, http.MethodPost, m.path, map[string]any{
			"@odata.type": "#microsoft.graph.aadUserConversationMember", "roles": roles,
			"user@odata.bind": s.graph.URL("/v1.0/users('" + m.user + "')"),
		})
	}, "the user was added, but Teams does not show it")
}

func (s service) removeMember(ctx context.Context, p catalog.Params) (any, error) {
	m, role := newMembership(p), cmp.Or(p.String("Role"), member)
	look := m.look(func() bool { return m.role == none || role == owner && m.role == member })
	return catalog.Unless(ctx, func(wait catalog.Waiting) (catalog.Shown, error) { return s.graph.Look(ctx, look, wait) }, func() (bool, error) {
		if role == owner {
			return s.setRole(ctx, m)
		}
		return s.graph.Write(ctx, http.MethodDelete, m.path+"/"+url.PathEscape(m.id), nil)
	}, "the user was removed, but Teams still shows it")
}

// MembershipResult is the result of Test-TeamsMembership.
type MembershipResult struct {
	Complete bool           `json:"complete"`
	Reason   string         `json:"reason,omitempty"` // why it is not complete
	Data     MembershipData `json:"data"`
}

// MembershipData tells of one user and one team.
type MembershipData struct {
	TeamID             string `json:"TeamId"`
	UserID             string `json:"UserId"`
	ExpectedRole, Role string
}

func (s service) testMembership(ctx context.Context, p catalog.Params) (any, error) {
	m, expected := newMembership(p), cmp.Or(p.String("ExpectedRole"), member)
	look := m.look(func() bool { return m.role == expected || m.role == owner && expected == member })
	shown, err := s.graph.Look(ctx, look, catalog.Waiting{})
	if err != nil {
		return nil, err
	}
	result := MembershipResult{Complete: shown.Met, Data: MembershipData{p.String("TeamId"), m.user, expected, m.role}}
	if !shown.Met {
		result.Reason = fmt.Sprintf("%s, expected %s", shown.Reason, expected)
	}
	return result, nil
}
