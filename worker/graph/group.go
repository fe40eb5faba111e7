package graph

import (
	"context"
	"net/http"
	"strings"

	"github.com/microsoftgraph/msgraph-sdk-go/groups"
	"github.com/microsoftgraph/msgraph-sdk-go/models"
	"github.com/microsoftgraph/msgraph-sdk-go/users"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

func (c *Client) addMember(ctx context.Context, p catalog.Params) (any, error) {
	group, reference := p.String("GroupId"), c.url+"/v1.0/directoryObjects/"+p.String("UserId")
	err := c.do(ctx, c.paces.writes, func(ctx context.Context) error {
		body := models.NewReferenceCreate()
		body.SetOdataId(&reference)
		return c.graph.Groups().ByGroupId(group).Members().Ref().Post(ctx, body, nil)
	})
	// The code of this refusal is the general one: the text tells.
	if err != nil && !failed(err, "added object references already exist") {
		return nil, err
	}
	return true, nil
}

// removeMember ends the reference, never the user: the same request without
// /$ref would delete the user from the tenant.
//
// That there is no such member is believed once the group, the user and the list of
// members have been read: the refusal also comes from a server that has not heard of
// one of them yet, and then the request is repeated.
func (c *Client) removeMember(ctx context.Context, p catalog.Params) (any, error) {
	group, user := p.String("GroupId"), p.String("UserId")
	err := c.do(ctx, c.paces.writes, func(ctx context.Context) error {
		err := c.graph.Groups().ByGroupId(group).Members().ByDirectoryObjectId(user).Ref().Delete(ctx, nil)
		_, text, status := said(err)
		if status != http.StatusNotFound && !strings.Contains(text, "removed object references do not exist") {
			return err
		}
		return c.confirmNoMember(ctx, user, group)
	})
	if err != nil {
		return nil, err
	}
	return true, nil
}

// confirmNoMember fails unless user and group are there and the one is not a direct
// member of the other. It is part of a call and waits for nothing.
func (c *Client) confirmNoMember(ctx context.Context, user, group string) error {
	if _, err := c.graph.Users().ByUserId(user).Get(ctx, &users.UserItemRequestBuilderGetRequestConfiguration{
		QueryParameters: &users.UserItemRequestBuilderGetQueryParameters{Select: []string{"id"}},
	}); err != nil {
		return err
	}
	page, err := c.graph.Groups().ByGroupId(group).Members().Get(ctx, &groups.ItemMembersRequestBuilderGetRequestConfiguration{
		QueryParameters: &groups.ItemMembersRequestBuilderGetQueryParameters{Select: []string{"id"}, Top: new(int32(999))},
	})
	for err == nil {
		for _, member := range page.GetValue() {
			if strings.EqualFold(value(member.GetId()), user) {
				return &staleError{"the group still lists the user as a member"}
			}
		}
		next := value(page.GetOdataNextLink())
		if next == "" {
			return nil
		}
		page, err = c.graph.Groups().ByGroupId(group).Members().WithUrl(next).Get(ctx, nil)
	}
	return err
}

// isMember counts membership through other groups.
func (c *Client) isMember(ctx context.Context, user, group string) (member bool, err error) {
	err = c.do(ctx, c.paces.reads, func(ctx context.Context) error {
		body := users.NewItemCheckMemberGroupsPostRequestBody()
		body.SetGroupIds([]string{group})
		answer, err := c.graph.Users().ByUserId(user).CheckMemberGroups().PostAsCheckMemberGroupsPostResponse(ctx, body, nil)
		if err != nil {
			return err
		}
		for _, id := range answer.GetValue() {
			member = member || strings.EqualFold(id, group)
		}
		return nil
	})
	return member, err
}

// MembershipResult is the result of Test-EntraGroupMembership.
type MembershipResult struct {
	Complete bool           `json:"complete"`
	Reason   string         `json:"reason,omitempty"` // why it is not complete
	Data     MembershipData `json:"data"`
}

// MembershipData tells of one user and one group.
type MembershipData struct {
	UserID         string `json:"UserId"`
	GroupID        string `json:"GroupId"`
	ExpectedMember bool   `json:"ExpectedMember"`
	IsMember       bool   `json:"IsMember"`
}

func (c *Client) testMembership(ctx context.Context, p catalog.Params) (any, error) {
	user, group := p.String("UserId"), p.String("GroupId")
	member, err := c.isMember(ctx, user, group)
	if err != nil {
		return nil, err
	}
	expected := p.Bool("ExpectedMember", true)
	reason := catalog.MembershipMismatch(expected, member)
	return MembershipResult{
		Complete: reason == "", Reason: reason,
		Data: MembershipData{UserID: user, GroupID: group, ExpectedMember: expected, IsMember: member},
	}, nil
}
