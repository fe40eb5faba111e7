package exchange

import (
	"context"
	"fmt"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// Group is the result of Get-ExchangeGroup.
type Group struct {
	GroupId          string
	DisplayName      string
	Alias            string
	Type             string // Distribution, Security or Microsoft365
	PrimaryEmail     string
	SecondaryEmails  []string
	LegacyExchangeDN string
	X500Addresses    []string
}

// getGroup reads the kind of the recipient first: each kind of group has a cmdlet that prints all of its properties.
func (c *Client) getGroup(ctx context.Context, p catalog.Params) (any, error) {
	r, err := c.Read(ctx, "Get-Recipient", p.String("Identity"))
	if err != nil {
		return nil, err
	}
	cmdlet, kind := "Get-DistributionGroup", "Distribution"
	switch {
	case r.IsMicrosoft365Group():
		cmdlet, kind = "Get-UnifiedGroup", "Microsoft365"
	case !r.IsGroup():
		return nil, &catalog.Failure{
			Type: catalog.FailureConflict, Attempts: 1,
			Message: fmt.Sprintf("the recipient is a %s: give a distribution list, mail-enabled security group or Microsoft 365 group", r.RecipientTypeDetails),
		}
	case r.RecipientType == "MailUniversalSecurityGroup":
		kind = "Security"
	}
	if r, err = c.Read(ctx, cmdlet, r.ExternalDirectoryObjectId); err != nil {
		return nil, err
	}
	g := Group{
		GroupId: r.ExternalDirectoryObjectId, DisplayName: r.DisplayName, Alias: r.Alias, Type: kind, PrimaryEmail: r.PrimarySmtpAddress,
		LegacyExchangeDN: r.LegacyExchangeDN,
	}
	g.SecondaryEmails, g.X500Addresses = otherAddresses(r)
	return g, nil
}

// OwnerResult is the result of Test-ExchangeGroupOwner.
type OwnerResult struct {
	Complete bool      `json:"complete"`
	Reason   string    `json:"reason,omitempty"` // why it is not complete
	Data     OwnerData `json:"data"`
}

// OwnerData tells of one recipient and one group.
type OwnerData struct {
	GroupIdentity, Owner   string
	ExpectedOwner, IsOwner bool
}

func (c *Client) testGroupOwner(ctx context.Context, p catalog.Params) (any, error) {
	group, owner, expected := p.String("GroupIdentity"), p.String("Owner"), p.Bool("ExpectedOwner", true)
	r, err := c.Read(ctx, "Get-Recipient", owner)
	if err != nil {
		return nil, err
	}
	is, err := c.owns(ctx, group, r)
	if err != nil {
		return nil, err
	}
	reason := ""
	switch {
	case expected && !is:
		reason = "the recipient is not an owner of the group, expected an owner"
	case !expected && is:
		reason = "the recipient is an owner of the group, expected no owner"
	}
	return OwnerResult{reason == "", reason, OwnerData{group, owner, expected, is}}, nil
}

// owns tells whether a recipient is an owner of a group, as one read shows it.
func (c *Client) owns(ctx context.Context, group string, owner session.Recipient) (bool, error) {
	r, err := c.Read(ctx, "Get-DistributionGroup", group)
	if err != nil {
		return false, err
	}
	return c.Names(ctx, r.ManagedBy, owner)
}
