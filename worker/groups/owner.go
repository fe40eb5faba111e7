package groups

import (
	"context"
	"net/http"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// ownership is that of a user in a group.
type ownership struct {
	path    string // of the owners of the group
	user    string
	isOwner bool
}

func newOwnership(p catalog.Params) *ownership {
	return &ownership{path: "/v1.0/groups/" + p.String("GroupId") + "/owners", user: p.String("UserId")}
}

// look reads the owners, of whom a group has at most 100: one page. What it finds may be late.
func (o *ownership) look(expected bool) graph.Look {
	return graph.Look{Path: o.path + "?$select=id&$top=999", Shows: func(object map[string]any) (catalog.Shown, bool, error) {
		o.isOwner = false
		owners, _ := object["value"].([]any)
		for _, item := range owners {
			owner, _ := item.(map[string]any)
			id, _ := owner["id"].(string)
			o.isOwner = o.isOwner || strings.EqualFold(id, o.user)
		}
		shown := catalog.Shown{Answer: true, Met: o.isOwner == expected}
		if !shown.Met {
			shown.Reason = mismatch(expected)
		}
		return shown, true, nil
	}}
}

// mismatch says how an ownership differs from the expected one.
func mismatch(expected bool) string {
	if expected {
		return "the user is not an owner of the group, expected an owner"
	}
	return "the user is an owner of the group, expected no owner"
}

func (s service) addOwner(ctx context.Context, p catalog.Params) (any, error) {
	o := newOwnership(p)
	look := o.look(true)
	return catalog.Unless(ctx, func(wait catalog.Waiting) (catalog.Shown, error) { return s.graph.Look(ctx, look, wait) }, func() (bool, error) {
		uncertain, err := s.graph.Write(ctx, http.MethodPost, o.path+"/$ref", map[string]any{"@odata.id": s.graph.URL("/v1.0/users/" + o.user)})
		if said(err, "added object references already exist") {
			return false, nil // reads do not show it yet
		}
		return uncertain, err
	}, "the owner was added, but Graph does not show it")
}

func (s service) removeOwner(ctx context.Context, p catalog.Params) (any, error) {
	o := newOwnership(p)
	look := o.look(false)
	return catalog.Unless(ctx, func(wait catalog.Waiting) (catalog.Shown, error) { return s.graph.Look(ctx, look, wait) }, func() (bool, error) {
		uncertain, err := s.graph.Write(ctx, http.MethodDelete, o.path+"/"+o.user+"/$ref", nil)
		switch {
		case said(err, "removed object references do not exist") || missing(err):
			return false, nil // reads still show it
		case said(err, "must have at least one owner"):
			return false, conflict("the user is the last owner of the group; add another owner with Add-EntraGroupOwner first: " + err.Error())
		}
		return uncertain, err
	}, "the owner was removed, but Graph still shows it")
}

// OwnerResult is the result of Test-EntraGroupOwner.
type OwnerResult struct {
	Complete bool      `json:"complete"`
	Reason   string    `json:"reason,omitempty"` // why it is not complete
	Data     OwnerData `json:"data"`
}

// OwnerData tells of one user and one group.
type OwnerData struct {
	GroupID                string `json:"GroupId"`
	UserID                 string `json:"UserId"`
	ExpectedOwner, IsOwner bool
}

func (s service) testOwner(ctx context.Context, p catalog.Params) (any, error) {
	o, expected := newOwnership(p), p.Bool("ExpectedOwner", true)
	shown, err := s.graph.Look(ctx, o.look(expected), catalog.Waiting{})
	if err != nil {
		return nil, err
	}
	return OwnerResult{shown.Met, shown.Reason, OwnerData{p.String("GroupId"), o.user, expected, o.isOwner}}, nil
}
