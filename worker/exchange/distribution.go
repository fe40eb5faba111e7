package exchange

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// GroupResult is the result of New-ExchangeDistributionList.
type GroupResult struct {
	GroupID      string `json:"GroupId"`
	ID           string `json:"Id"`
	PrimaryEmail string
}

// wantedRecipient is the group or mailbox that a job creates.
type wantedRecipient struct {
	display, alias, primary string
	add                     []string // secondary and X500 addresses, with their types
}

func wantedRecipientFrom(p catalog.Params) (wantedRecipient, error) {
	w := wantedRecipient{display: p.String("DisplayName"), primary: p.String("PrimaryEmail")}
	name, _, _ := strings.Cut(w.primary, "@")
	w.alias = cmp.Or(p.String("Alias"), name)
	secondary, err := wantedAddresses(p.List("SecondaryEmails"))
	if err != nil {
		return w, err
	}
	for _, address := range secondary.all {
		if session.SMTP(address) == "" {
			return w, &catalog.Failure{Type: catalog.FailureParameters, Message: "SecondaryEmails has an address of another type than SMTP: give it in X500Addresses"}
		}
		if !strings.EqualFold(session.SMTP(address), w.primary) {
			w.add = append(w.add, address)
		}
	}
	w.add = append(w.add, x500(p)...)
	return w, nil
}

// parameters are those of the New cmdlets.
func (w wantedRecipient) parameters() map[string]any {
	return map[string]any{"Name": w.alias, "Alias": w.alias, "DisplayName": w.display, "PrimarySmtpAddress": w.primary}
}

// create runs a New cmdlet. A recipient with this primary address is taken for the work of an earlier attempt
// if it is of the same kind and has the same names, and then gets the addresses that it lacks.
func (c *Client) create(ctx context.Context, w wantedRecipient, kind, cmdlet, get string, parameters map[string]any) (session.Recipient, error) {
	var made []session.Recipient
	r, err := session.Recipient{}, c.Invoke(ctx, cmdlet, parameters, &made)
	switch {
	case err == nil && len(made) == 1 && made[0].ExternalDirectoryObjectId != "":
		r = made[0]
	case err == nil:
		r, err = c.ReadUntil(ctx, get, w.primary, "the recipient has no object id", func(r session.Recipient) bool { return r.ExternalDirectoryObjectId != "" })
	case session.Taken(err):
		// Of several properties that are taken Exchange names one.
		refused := err
		if r, err = c.Read(ctx, get, w.primary); session.Missing(err) {
			err = refused
		}
		if err == nil {
			err = w.sameAs(r, kind)
		}
	}
	if err != nil {
		return r, err
	}
	var add []string
	for _, address := range w.add {
		if !session.Has(r.EmailAddresses, address) {
			add = append(add, address)
		}
	}
	if len(add) > 0 {
		if err := c.editAddresses(ctx, r, r.ExternalDirectoryObjectId, add, nil); err != nil {
			return r, err
		}
	}
	return c.ReadUntil(ctx, get, r.ExternalDirectoryObjectId, "the recipient does not have all properties", func(r session.Recipient) bool {
		return strings.EqualFold(r.PrimarySmtpAddress, w.primary) && !slices.ContainsFunc(w.add, func(a string) bool { return !session.Has(r.EmailAddresses, a) })
	})
}

// sameAs fails unless the recipient may be the one that was asked for.
func (w wantedRecipient) sameAs(r session.Recipient, kind string) error {
	var differ []string
	for name, same := range map[string]bool{
		"PrimaryEmail": strings.EqualFold(r.PrimarySmtpAddress, w.primary), "DisplayName": strings.EqualFold(r.DisplayName, w.display),
		"Alias": strings.EqualFold(r.Alias, w.alias), "Type": strings.EqualFold(r.RecipientTypeDetails, kind),
	} {
		if !same {
			differ = append(differ, name)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	slices.Sort(differ)
	return &catalog.Failure{
		Type: catalog.FailureConflict, Attempts: 1,
		Message: fmt.Sprintf("a recipient with the address %s exists and differs in: %s", w.primary, strings.Join(differ, ", ")),
	}
}

func (c *Client) newDistributionList(ctx context.Context, p catalog.Params) (any, error) {
	w, err := wantedRecipientFrom(p)
	if err != nil {
		return nil, err
	}
	parameters := w.parameters()
	kind, group := "MailUniversalDistributionGroup", cmp.Or(p.String("Type"), "Distribution")
	if group == "Security" {
		kind = "MailUniversalSecurityGroup"
	}
	parameters["Type"], parameters["CopyOwnerToMember"] = group, false
	parameters["RequireSenderAuthenticationEnabled"] = !p.Bool("AllowExternalSenders", false)
	if p.Has("Owners") {
		parameters["ManagedBy"] = p.List("Owners")
	}
	r, err := c.create(ctx, w, kind, "New-DistributionGroup", "Get-DistributionGroup", parameters)
	if err != nil {
		return nil, err
	}
	return GroupResult{GroupID: r.ExternalDirectoryObjectId, ID: r.ExternalDirectoryObjectId, PrimaryEmail: r.PrimarySmtpAddress}, nil
}

func (c *Client) addGroupMember(ctx context.Context, p catalog.Params) (any, error) {
	return c.changeMember(ctx, "Add-DistributionGroupMember", p, "is already a member")
}

func (c *Client) removeGroupMember(ctx context.Context, p catalog.Params) (any, error) {
	return c.changeMember(ctx, "Remove-DistributionGroupMember", p, "isn't a member")
}

// changeMember writes without reading the members, who can be many. done is the text with which Exchange
// refuses a repetition.
func (c *Client) changeMember(ctx context.Context, cmdlet string, p catalog.Params, done string) (any, error) {
	change := map[string]any{"Identity": p.String("GroupIdentity"), "Member": p.String("Member"), "BypassSecurityGroupManagerCheck": true}
	if strings.HasPrefix(cmdlet, "Remove-") {
		change["Confirm"] = false
	}
	if err := c.Invoke(ctx, cmdlet, change, nil); err != nil && !session.Says(err, done) {
		return nil, err
	}
	return true, nil
}

func (c *Client) addGroupOwner(ctx context.Context, p catalog.Params) (any, error) {
	return c.changeOwner(ctx, p, true)
}

func (c *Client) removeGroupOwner(ctx context.Context, p catalog.Params) (any, error) {
	return c.changeOwner(ctx, p, false)
}

func (c *Client) changeOwner(ctx context.Context, p catalog.Params, add bool) (any, error) {
	id := p.String("GroupIdentity")
	owner, err := c.Read(ctx, "Get-Recipient", p.String("Owner"))
	if err != nil {
		return nil, err
	}
	group, err := c.Read(ctx, "Get-DistributionGroup", id)
	if err != nil {
		return nil, err
	}
	change := session.Edit([]string{owner.PrimarySmtpAddress}, nil)
	if !add {
		change = session.Edit(nil, []string{owner.PrimarySmtpAddress})
	}
	if err := c.Set(ctx, group, id, map[string]any{"ManagedBy": change}); err != nil {
		return nil, err
	}
	_, err = session.Until(ctx, c.Session, "the owners are not the new ones", func(is bool) bool { return is == add }, func(ctx context.Context) (bool, error) {
		return c.owns(ctx, id, owner)
	})
	if err != nil {
		return nil, err
	}
	return true, nil
}
