package exchange

import (
	"context"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// AttributeResult is the result of Test-ExchangeAttributeMatch.
type AttributeResult struct {
	Complete bool          `json:"complete"`
	Reason   string        `json:"reason,omitempty"` // why it is not complete
	Data     AttributeData `json:"data"`
}

// AttributeData tells of one attribute of one recipient. ActualValue is as the
// tenant has it.
type AttributeData struct {
	Identity      string
	AttributeName string
	Match         bool
	ExpectedValue []string // empty: the attribute is empty
	ActualValue   any
}

func (c *Client) testAttribute(ctx context.Context, p catalog.Params) (any, error) {
	id, name := p.String("Identity"), p.String("AttributeName")
	cmdlet := "Get-Recipient"
	if p.Has("RecipientType") {
		cmdlet = "Get-" + p.String("RecipientType")
	}
	var found []map[string]any
	if err := c.Invoke(ctx, cmdlet, map[string]any{"Identity": id}, &found); err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, session.Ambiguous(cmdlet, len(found))
	}
	actual, ok := attribute(found[0], name)
	if !ok {
		return nil, &catalog.Failure{
			Type: catalog.FailureParameters, Attempts: 1,
			Message: fmt.Sprintf("%s returns no attribute %q", cmdlet, name),
		}
	}
	expected := p.List("ExpectedValue")
	reason := catalog.Mismatch(name, expected, actual)
	return AttributeResult{reason == "", reason, AttributeData{id, name, reason == "", expected, actual}}, nil
}

// attribute finds a property as PowerShell does, in any case.
func attribute(of map[string]any, name string) (any, bool) {
	for k, v := range of {
		if strings.EqualFold(k, name) {
			return v, true
		}
	}
	return nil, false
}

// MembershipResult is the result of Test-ExchangeGroupMembership.
type MembershipResult struct {
	Complete bool           `json:"complete"`
	Reason   string         `json:"reason,omitempty"` // why it is not complete
	Data     MembershipData `json:"data"`
}

// MembershipData tells of one user and one group.
type MembershipData struct {
	UserID         string `json:"UserId"`
	GroupIdentity  string
	ExpectedMember bool
	IsMember       bool
}

func (c *Client) testMembership(ctx context.Context, p catalog.Params) (any, error) {
	group, user := p.String("GroupIdentity"), p.String("UserId")
	var members []struct{ ExternalDirectoryObjectId string }
	// All of them: a member beyond a page's end would be taken for none.
	if err := c.Invoke(ctx, "Get-DistributionGroupMember",
		map[string]any{"Identity": group, "ResultSize": "Unlimited"}, &members); err != nil {
		return nil, err
	}
	is := false
	for _, m := range members {
		is = is || strings.EqualFold(m.ExternalDirectoryObjectId, user)
	}
	expected := p.Bool("ExpectedMember", true)
	reason := catalog.MembershipMismatch(expected, is)
	return MembershipResult{reason == "", reason, MembershipData{user, group, expected, is}}, nil
}
