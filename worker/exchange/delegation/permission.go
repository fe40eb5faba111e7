// Package delegation reads, gives and takes permissions on mailboxes and their calendars.
package delegation

import (
	"context"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// functions carries out functions in a session.
type functions struct{ *session.Session }

// Functions are the catalogue's functions that this package carries out.
func Functions(s *session.Session) []catalog.Function {
	c := &functions{s}
	return []catalog.Function{
		catalog.GetExchangeMailboxPermissions.With(c.getPermissions),
		catalog.AddExchangeMailboxPermissions.With(c.addPermissions),
		catalog.RemoveExchangeMailboxPermissions.With(c.removePermissions),
		catalog.TestExchangeMailboxPermissions.With(c.testPermissions),
		catalog.GetExchangeCalendarPermissions.With(c.getCalendar),
		catalog.SetExchangeCalendarPermissions.With(c.setCalendar),
		catalog.RemoveExchangeCalendarPermissions.With(c.removeCalendar),
		catalog.TestExchangeCalendarPermissions.With(c.testCalendar),
	}
}

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
	list func(context.Context, *functions, string) ([]string, error)
	add  func(ctx context.Context, c *functions, id string, r session.Recipient, p catalog.Params) error
	take func(ctx context.Context, c *functions, id string, r session.Recipient) error
}

var mailboxGrants = []mailboxGrant{
	{
		name: "FullAccess", list: fullAccess,
		add: func(ctx context.Context, c *functions, id string, r session.Recipient, p catalog.Params) error {
			err := c.Invoke(ctx, "Add-MailboxPermission", map[string]any{
				"Identity": id, "User": r.PrimarySmtpAddress, "AccessRights": []string{"FullAccess"}, "InheritanceType": "All",
				"AutoMapping": p.Bool("AutoMapping", true), "Confirm": false,
			}, nil)
			if session.Says(err, "existing permission entry was found") {
				return nil
			}
			return err
		},
		take: func(ctx context.Context, c *functions, id string, r session.Recipient) error {
			return c.Invoke(ctx, "Remove-MailboxPermission", map[string]any{
				"Identity": id, "User": r.PrimarySmtpAddress, "AccessRights": []string{"FullAccess"}, "InheritanceType": "All", "Confirm": false,
			}, nil)
		},
	},
	{
		name: "SendAs", list: sendAs,
		add: func(ctx context.Context, c *functions, id string, r session.Recipient, _ catalog.Params) error {
			return c.changeSendAs(ctx, "Add", id, r)
		},
		take: func(ctx context.Context, c *functions, id string, r session.Recipient) error {
			return c.changeSendAs(ctx, "Remove", id, r)
		},
	},
	{
		name: "SendOnBehalf", list: sendOnBehalf,
		add: func(ctx context.Context, c *functions, id string, r session.Recipient, _ catalog.Params) error {
			return c.changeSendOnBehalf(ctx, id, session.Edit([]string{r.PrimarySmtpAddress}, nil))
		},
		take: func(ctx context.Context, c *functions, id string, r session.Recipient) error {
			return c.changeSendOnBehalf(ctx, id, session.Edit(nil, []string{r.PrimarySmtpAddress}))
		},
	},
}

func (c *functions) changeSendAs(ctx context.Context, verb, id string, r session.Recipient) error {
	return c.Invoke(ctx, verb+"-RecipientPermission", map[string]any{
		"Identity": id, "Trustee": r.PrimarySmtpAddress, "AccessRights": []string{"SendAs"}, "Confirm": false,
	}, nil)
}

func (c *functions) changeSendOnBehalf(ctx context.Context, id string, change map[string]any) error {
	return c.Invoke(ctx, "Set-Mailbox", map[string]any{"Identity": id, "GrantSendOnBehalfTo": change}, nil)
}

// fullAccess lists the accounts that can open a mailbox, as Exchange prints them, without the mailbox itself and
// without accounts that inherit the permission from the organisation.
func fullAccess(ctx context.Context, c *functions, id string) ([]string, error) {
	var entries []struct {
		User         string
		AccessRights []string
		IsInherited  bool
		Deny         bool
	}
	if err := c.Invoke(ctx, "Get-MailboxPermission", map[string]any{"Identity": id, "ResultSize": "Unlimited"}, &entries); err != nil {
		return nil, err
	}
	var users []string
	for _, e := range entries {
		if session.Has(e.AccessRights, "FullAccess") && !e.IsInherited && !e.Deny && !builtIn(e.User) {
			users = append(users, e.User)
		}
	}
	return users, nil
}

// sendAs lists the accounts that can send as a mailbox, as Exchange prints them.
func sendAs(ctx context.Context, c *functions, id string) ([]string, error) {
	var entries []struct {
		Trustee           string
		AccessControlType string
		AccessRights      []string
		IsInherited       bool
	}
	if err := c.Invoke(ctx, "Get-RecipientPermission", map[string]any{"Identity": id, "ResultSize": "Unlimited"}, &entries); err != nil {
		return nil, err
	}
	var users []string
	for _, e := range entries {
		if session.Has(e.AccessRights, "SendAs") && !e.IsInherited && !strings.EqualFold(e.AccessControlType, "Deny") && !builtIn(e.Trustee) {
			users = append(users, e.Trustee)
		}
	}
	return users, nil
}

// sendOnBehalf lists the recipients that can send on behalf of a mailbox, as Exchange prints them.
func sendOnBehalf(ctx context.Context, c *functions, id string) ([]string, error) {
	r, err := c.Read(ctx, "Get-Mailbox", id)
	return r.GrantSendOnBehalfTo, err
}

// builtIn tells whether an account is one of the system's, such as NT AUTHORITY\SELF.
func builtIn(user string) bool { return strings.HasPrefix(strings.ToUpper(user), `NT AUTHORITY\`) }

func (c *functions) getPermissions(ctx context.Context, p catalog.Params) (any, error) {
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
			case address != "" && !session.Has(lists[g.name], address):
				lists[g.name] = append(lists[g.name], address)
			case address == "" && !session.Has(unresolved, user):
				unresolved = append(unresolved, user)
			}
		}
		slices.Sort(lists[g.name])
	}
	return MailboxPermissions{lists["FullAccess"], lists["SendAs"], lists["SendOnBehalf"], unresolved}, nil
}

// addressOf is the primary address of the one recipient that Exchange prints so; empty for none, or several.
func (c *functions) addressOf(ctx context.Context, user string) (string, error) {
	r, _, err := c.Find(ctx, user)
	if session.IsAmbiguous(err) {
		return "", nil
	}
	return r.PrimarySmtpAddress, err
}

// named are all trustees of a job, for any permission.
func named(p catalog.Params) []string {
	var all []string
	for _, g := range mailboxGrants {
		all = append(all, p.List(g.name)...)
	}
	return all
}

func (c *functions) addPermissions(ctx context.Context, p catalog.Params) (any, error) {
	return c.changePermissions(ctx, p, true)
}

func (c *functions) removePermissions(ctx context.Context, p catalog.Params) (any, error) {
	return c.changePermissions(ctx, p, false)
}

// changePermissions gives or takes each permission, and reads until it shows.
func (c *functions) changePermissions(ctx context.Context, p catalog.Params, add bool) (any, error) {
	id := p.String("Identity")
	if _, err := c.Read(ctx, "Get-Mailbox", id); err != nil { // before it waits for trustees
		return nil, err
	}
	who, err := c.trustees(ctx, p, named(p), !add || p.Bool("SkipMissing", false)) // a trustee that does not exist has nothing to lose
	if err != nil {
		return nil, err
	}
	for _, g := range mailboxGrants {
		var changed []session.Recipient
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
		_, err := session.Until(ctx, c.Session, g.name+" is not as it should be", func(done bool) bool { return done }, func(ctx context.Context) (bool, error) {
			users, err := g.list(ctx, c, id)
			for _, r := range changed {
				if err != nil {
					break
				}
				var has bool
				if has, err = c.Names(ctx, users, r); err == nil && has != add {
					return false, nil
				}
			}
			return err == nil, err
		})
		if err != nil {
			return nil, err
		}
	}
	return GrantResult{Missing: who.missing}, nil
}

func (c *functions) testPermissions(ctx context.Context, p catalog.Params) (any, error) {
	id := p.String("Identity")
	var checks []session.Check
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
			r, has, err := c.Find(ctx, mapped(address, p.String("TrusteeDomain")))
			if has {
				has, err = c.Names(ctx, users, r)
			}
			if err != nil {
				return nil, err
			}
			if !has {
				lack = append(lack, address)
			}
		}
		checks = append(checks, session.Check{Name: g.name, Match: len(lack) == 0, ExpectedValue: p.List(g.name), ActualValue: actual})
		if len(lack) > 0 {
			reasons = append(reasons, catalog.Lack(g.name, lack, actual))
		}
	}
	return session.NewCheckResult(id, checks, reasons), nil
}
