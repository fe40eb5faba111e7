package exchange

import (
	"context"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// MailboxPermissions is the result of Get-ExchangeMailboxPermissions: the addresses of the trustees.
type MailboxPermissions struct {
	FullAccess   []string
	SendAs       []string
	SendOnBehalf []string
	Unresolved   []string // trustees that are no recipient of the tenant, or several
}

// GrantResult is the result of the functions that give and take permissions.
type GrantResult struct {
	Missing []string // trustees that are no recipients of the tenant
}

// mailboxGrant is a permission on a whole mailbox.
type mailboxGrant struct {
	name string // of the parameter and of the result
	list func(context.Context, *Client, string) ([]string, error)
	add  func(ctx context.Context, c *Client, id string, r recipient, p catalog.Params) error
	take func(ctx context.Context, c *Client, id string, r recipient) error
}

var mailboxGrants = []mailboxGrant{
	{
		name: "FullAccess", list: fullAccess,
		add: func(ctx context.Context, c *Client, id string, r recipient, p catalog.Params) error {
			err := c.invoke(ctx, "Add-MailboxPermission", map[string]any{
				"Identity": id, "User": r.PrimarySmtpAddress, "AccessRights": []string{"FullAccess"}, "InheritanceType": "All",
				"AutoMapping": p.Bool("AutoMapping", true), "Confirm": false,
			}, nil)
			if says(err, "existing permission entry was found") {
				return nil
			}
			return err
		},
		take: func(ctx context.Context, c *Client, id string, r recipient) error {
			return c.invoke(ctx, "Remove-MailboxPermission", map[string]any{
				"Identity": id, "User": r.PrimarySmtpAddress, "AccessRights": []string{"FullAccess"}, "InheritanceType": "All", "Confirm": false,
			}, nil)
		},
	},
	{
		name: "SendAs", list: sendAs,
		add: func(ctx context.Context, c *Client, id string, r recipient, _ catalog.Params) error {
			return c.changeSendAs(ctx, "Add", id, r)
		},
		take: func(ctx context.Context, c *Client, id string, r recipient) error {
			return c.changeSendAs(ctx, "Remove", id, r)
		},
	},
	{
		name: "SendOnBehalf", list: sendOnBehalf,
		add: func(ctx context.Context, c *Client, id string, r recipient, _ catalog.Params) error {
			return c.changeSendOnBehalf(ctx, id, edit([]string{r.PrimarySmtpAddress}, nil))
		},
		take: func(ctx context.Context, c *Client, id string, r recipient) error {
			return c.changeSendOnBehalf(ctx, id, edit(nil, []string{r.PrimarySmtpAddress}))
		},
	},
}

func (c *Client) changeSendAs(ctx context.Context, verb, id string, r recipient) error {
	return c.invoke(ctx, verb+"-RecipientPermission", map[string]any{
		"Identity": id, "Trustee": r.PrimarySmtpAddress, "AccessRights": []string{"SendAs"}, "Confirm": false,
	}, nil)
}

func (c *Client) changeSendOnBehalf(ctx context.Context, id string, change map[string]any) error {
	return c.invoke(ctx, "Set-Mailbox", map[string]any{"Identity": id, "GrantSendOnBehalfTo": change}, nil)
}

// fullAccess lists the accounts that can open a mailbox, as Exchange prints them, without the mailbox itself and
// without accounts that inherit the permission from the organisation.
func fullAccess(ctx context.Context, c *Client, id string) ([]string, error) {
	var entries []struct {
		User         string
		AccessRights []string
		IsInherited  bool
		Deny         bool
	}
	if err := c.invoke(ctx, "Get-MailboxPermission", map[string]any{"Identity": id, "ResultSize": "Unlimited"}, &entries); err != nil {
		return nil, err
	}
	var users []string
	for _, e := range entries {
		if has(e.AccessRights, "FullAccess") && !e.IsInherited && !e.Deny && !builtIn(e.User) {
			users = append(users, e.User)
		}
	}
	return users, nil
}

// sendAs lists the accounts that can send as a mailbox, as Exchange prints them.
func sendAs(ctx context.Context, c *Client, id string) ([]string, error) {
	var entries []struct {
		Trustee           string
		AccessControlType string
		AccessRights      []string
		IsInherited       bool
	}
	if err := c.invoke(ctx, "Get-RecipientPermission", map[string]any{"Identity": id, "ResultSize": "Unlimited"}, &entries); err != nil {
		return nil, err
	}
	var users []string
	for _, e := range entries {
		if has(e.AccessRights, "SendAs") && !e.IsInherited && !strings.EqualFold(e.AccessControlType, "Deny") && !builtIn(e.Trustee) {
			users = append(users, e.Trustee)
		}
	}
	return users, nil
}

// sendOnBehalf lists the recipients that can send on behalf of a mailbox, as Exchange prints them.
func sendOnBehalf(ctx context.Context, c *Client, id string) ([]string, error) {
	r, err := c.read(ctx, "Get-Mailbox", id)
	return r.GrantSendOnBehalfTo, err
}

// builtIn tells whether an account is one of the system's, such as NT AUTHORITY\SELF.
func builtIn(user string) bool { return strings.HasPrefix(strings.ToUpper(user), `NT AUTHORITY\`) }

func (c *Client) getPermissions(ctx context.Context, p catalog.Params) (any, error) {
	id := p.String("Identity")
	lists, unresolved := map[string][]string{}, []string{}
	known := map[string]string{}
	for _, g := range mailboxGrants {
		users, err := g.list(ctx, c, id)
		if err != nil {
			return nil, err
		}
		lists[g.name] = []string{}
		for _, user := range users {
			if _, ok := known[user]; !ok {
				if known[user], err = c.addressOf(ctx, user); err != nil {
					return nil, err
				}
			}
			switch address := known[user]; {
			case address != "" && !has(lists[g.name], address):
				lists[g.name] = append(lists[g.name], address)
			case address == "" && !has(unresolved, user):
				unresolved = append(unresolved, user)
			}
		}
		slices.Sort(lists[g.name])
	}
	return MailboxPermissions{lists["FullAccess"], lists["SendAs"], lists["SendOnBehalf"], unresolved}, nil
}

// addressOf is the primary address of the one recipient that Exchange prints so; empty for none, or several.
func (c *Client) addressOf(ctx context.Context, user string) (string, error) {
	found, err := c.find(ctx, user)
	if err != nil || len(found) != 1 {
		return "", err
	}
	return found[0].PrimarySmtpAddress, nil
}

// named are all trustees of a job, for any permission.
func named(p catalog.Params) []string {
	var all []string
	for _, g := range mailboxGrants {
		all = append(all, p.List(g.name)...)
	}
	return all
}

func (c *Client) addPermissions(ctx context.Context, p catalog.Params) (any, error) {
	return c.changePermissions(ctx, p, true)
}

func (c *Client) removePermissions(ctx context.Context, p catalog.Params) (any, error) {
	return c.changePermissions(ctx, p, false)
}

// changePermissions gives or takes each permission, and reads until it shows.
func (c *Client) changePermissions(ctx context.Context, p catalog.Params, add bool) (any, error) {
	id := p.String("Identity")
	if _, err := c.read(ctx, "Get-Mailbox", id); err != nil { // before it waits for trustees
		return nil, err
	}
	who, err := c.trustees(ctx, p, named(p), !add || p.Bool("SkipMissing", false)) // a trustee that does not exist has nothing to lose
	if err != nil {
		return nil, err
	}
	for _, g := range mailboxGrants {
		var changed []recipient
		for _, address := range p.List(g.name) {
			r, found := who.of(address)
			if !found {
				continue
			}
			if add {
				err = g.add(ctx, c, id, r, p)
			} else {
				err = g.take(ctx, c, id, r)
			}
			if err != nil {
				return nil, err
			}
			changed = append(changed, r)
		}
		if len(changed) == 0 {
			continue
		}
		_, err := until(ctx, c, g.name+" is not as it should be", func(users []string) bool {
			for _, r := range changed {
				if slices.ContainsFunc(users, r.isNamed) != add {
					return false
				}
			}
			return true
		}, func(ctx context.Context) ([]string, error) { return g.list(ctx, c, id) })
		if err != nil {
			return nil, err
		}
	}
	return GrantResult{Missing: who.missing}, nil
}

func (c *Client) testPermissions(ctx context.Context, p catalog.Params) (any, error) {
	id := p.String("Identity")
	var checks []Check
	var reasons []string
	for _, g := range mailboxGrants {
		if !p.Has(g.name) {
			continue
		}
		users, err := g.list(ctx, c, id)
		if err != nil {
			return nil, err
		}
		actual := append([]string{}, users...)
		var lack []string
		for _, address := range p.List(g.name) {
			found, err := c.find(ctx, mapped(address, p.String("TrusteeDomain")))
			if err != nil {
				return nil, err
			}
			if len(found) != 1 || !slices.ContainsFunc(users, found[0].isNamed) {
				lack = append(lack, address)
			}
		}
		checks = append(checks, Check{Name: g.name, Match: len(lack) == 0, ExpectedValue: p.List(g.name), ActualValue: actual})
		if len(lack) > 0 {
			reasons = append(reasons, catalog.Lack(g.name, lack, actual))
		}
	}
	return checkResult(id, checks, reasons), nil
}
