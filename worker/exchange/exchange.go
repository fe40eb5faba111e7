// Package exchange carries out the Exchange functions of the catalogue on Exchange Online. It has those on
// single recipients; its subpackages have the session, delegation, and Microsoft's moves of mailboxes.
package exchange

import (
	"slices"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/delegation"
	"github.com/matoolkit/matoolkit/worker/exchange/migration"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// Client carries out functions in a session. It is safe for concurrent use.
type Client struct {
	*session.Session
	cmdlets Cmdlets // of Invoke-ExchangeCommand
}

// New makes a client. It does not connect.
func New(config session.Config, cmdlets Cmdlets) (*Client, error) {
	s, err := session.New(config)
	if err != nil {
		return nil, err
	}
	return &Client{s, cmdlets}, nil
}

// Functions are the catalogue's functions that this package carries out.
func (c *Client) Functions() []catalog.Function {
	own := []catalog.Function{
		catalog.SetExchangePrimaryEmail.With(c.setPrimary),
		catalog.AddExchangeSecondaryEmail.With(c.addSecondary),
		catalog.SetExchangeExternalAddress.With(c.setExternal),
		catalog.SetExchangeMailUserGuids.With(c.setGUIDs),
		catalog.GetExchangeMailbox.With(c.getMailbox),
		catalog.SetExchangeHidden.With(c.setHidden),
		catalog.SetExchangeForwarding.With(c.setForwarding),
		catalog.RemoveExchangeForwarding.With(c.removeForwarding),
		catalog.SetExchangeAutomaticReplies.With(c.setAutoReply),
		catalog.RemoveExchangeAutomaticReplies.With(c.removeAutoReply),
		catalog.RemoveExchangeAddresses.With(c.removeAddresses),
		catalog.TestExchangeAddresses.With(c.testAddresses),
		catalog.TestExchangeMailboxHold.With(c.testHold),
		catalog.TestExchangeMailbox.With(c.testMailbox),
		catalog.GetExchangeGroup.With(c.getGroup),
		catalog.NewExchangeDistributionList.With(c.newDistributionList),
		catalog.AddExchangeGroupMember.With(c.addGroupMember),
		catalog.RemoveExchangeGroupMember.With(c.removeGroupMember),
		catalog.AddExchangeGroupOwner.With(c.addGroupOwner),
		catalog.RemoveExchangeGroupOwner.With(c.removeGroupOwner),
		catalog.TestExchangeGroupOwner.With(c.testGroupOwner),
		catalog.NewExchangeMailbox.With(c.newMailbox),
		catalog.SetExchangeMailboxType.With(c.setMailboxType),
		catalog.NewExchangeMailUser.With(c.newMailUser),
		catalog.TestExchangeMailUser.With(c.testMailUser),
		catalog.SetExchangeMailUserHold.With(c.setMailUserHold),
		catalog.RemoveExchangeMailUser.With(c.removeMailUser),
		catalog.NewExchangeMailContact.With(c.newContact),
		catalog.RemoveExchangeMailContact.With(c.removeContact),
		catalog.TestExchangeMailContact.With(c.testContact),
		catalog.SetExchangeCustomAttributes.With(c.setCustomAttributes),
		catalog.SetEntraProxyAddresses.With(c.setAddresses),
		catalog.TestExchangeAttributeMatch.With(c.testAttribute),
		catalog.TestExchangeGroupMembership.With(c.testMembership),
		catalog.InvokeExchangeCommand.With(c.invokeCommand),
	}
	return slices.Concat(own, delegation.Functions(c.Session), migration.Functions(c.Session))
}
