// Package delegation reads, gives and takes permissions on mailboxes, their calendars, and groups.
package delegation

import (
	"context"
	"fmt"
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

// delegator is the mailbox or group that permissions are on. Only a mailbox has full access.
type delegator struct {
	id string // as the job names it
	session.Recipient
}

// mailboxGrant is a permission on a whole mailbox or group.
type mailboxGrant struct {
	name string // of the parameter and of the result
	list func(context.Context, *functions, delegator) ([]string, error)
	add  func(ctx context.Context, c *functions, on delegator, r session.Recipient, p catalog.Params) error
	take func(ctx context.Context, c *functions, on delegator, r session.Recipient) error
}

var mailboxGrants = []mailboxGrant{
	{
		name: "FullAccess", list: fullAccess,
		add: func(ctx context.Context, c *functions, on delegator, r session.Recipient, p catalog.Params) error {
			err := c.Invoke(ctx, "Add-MailboxPermission", map[string]any{
				"Identity": on.id, "User": r.PrimarySmtpAddress, "AccessRights": []string{"FullAccess"}, "InheritanceType": "All",
				"AutoMapping": p.Bool("AutoMapping", true), "Confirm": false,
			}, nil)
			if session.Says(err, "existing permission entry was found") {
				return nil
			}
			return err
		},
		take: func(ctx context.Context, c *functions, on delegator, r session.Recipient) error {
			return c.Invoke(ctx, "Remove-MailboxPermission", map[string]any{
				"Identity": on.id, "User": r.PrimarySmtpAddress, "AccessRights": []string{"FullAccess"}, "InheritanceType": "All", "Confirm": false,
			}, nil)
		},
	},
	{
		name: "SendAs", list: sendAs,
		add: func(ctx context.Context, c *functions, on delegator, r session.Recipient, _ catalog.Params) error {
			return c.changeSendAs(ctx, "Add", on.id, r)
		},
		take: func(ctx context.Context, c *functions, on delegator, r session.Recipient) error {
			return c.changeSendAs(ctx, "Remove", on.id, r)
		},
	},
	{
		name: "SendOnBehalf", list: sendOnBehalf,
		add: func(ctx context.Context, c *functions, on delegator, r session.Recipient, _ catalog.Params) error {
			return c.changeSendOnBehalf(ctx, on, session.Edit([]string{r.PrimarySmtpAddress}, nil))
		},
		take: func(ctx context.Context, c *functions, on delegator, r session.Recipient) error {
			return c.changeSendOnBehalf(ctx, on, session.Edit(nil, []string{r.PrimarySmtpAddress}))
		},
	},
}

func (c *functions) changeSendAs(ctx context.Context, verb, id string, r session.Recipient) error {
	return c.Invoke(ctx, verb+"-RecipientPermission", map[string]any{
		"Identity": id, "Trustee": r.PrimarySmtpAddress, "AccessRights": []string{"SendAs"}, "Confirm": false,
	}, nil)
}

func (c *functions) changeSendOnBehalf(ctx context.Context, on delegator, change map[string]any) error {
	return c.Set(ctx, on.Recipient, on.id, map[string]any{"GrantSendOnBehalfTo": change})
}

// delegator reads the recipient that a job names. It waits for a mail user that becomes a mailbox. It refuses full access to a group.
func (c *functions) delegator(ctx context.Context, p catalog.Params) (delegator, error) {
	id := p.String("Identity")
	r, err := c.ReadUntil(ctx, "Get-Recipient", id, "the recipient is no mailbox or group", func(r session.Recipient) bool {
		return r.RecipientType == "UserMailbox" || r.IsGroup()
	})
	var refused string
	switch {
	case err == nil && r.IsGroup() && len(p.List("FullAccess")) > 0:
		refused = "the recipient is a group, which has no full access: leave FullAccess out, and add members with Add-EntraGroupMember or Add-ExchangeGroupMember"
	case err != nil && r.RecipientType != "" && r.RecipientType != "UserMailbox" && !r.IsGroup():
		refused = fmt.Sprintf("the recipient is a %s: give a mailbox or group", r.RecipientType)
	default:
		return delegator{id, r}, err
	}
	return delegator{}, &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: refused}
}

// fullAccess lists the accounts that can open a mailbox, as Exchange prints them, without the mailbox itself and
// without accounts that inherit the permission from the organisation.
func fullAccess(ctx context.Context, c *functions, on delegator) ([]string, error) {
	if on.IsGroup() {
		return nil, nil
	}
	var entries []struct {
		User         string
		AccessRights []string
		IsInherited  bool
		Deny         bool
	}
	if err := c.Invoke(ctx, "Get-MailboxPermission", map[string]any{"Identity": on.id, "ResultSize": "Unlimited"}, &entries); err != nil {
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

// sendAs lists the accounts that can send as a mailbox or group, as Exchange prints them.
func sendAs(ctx context.Context, c *functions, on delegator) ([]string, error) {
	var entries []struct {
		Trustee           string
		AccessControlType string
		AccessRights      []string
		IsInherited       bool
	}
	if err := c.Invoke(ctx, "Get-RecipientPermission", map[string]any{"Identity": on.id, "ResultSize": "Unlimited"}, &entries); err != nil {
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

// sendOnBehalf lists the recipients that can send on behalf of a mailbox or group, as Exchange prints them.
func sendOnBehalf(ctx context.Context, c *functions, on delegator) ([]string, error) {
	get, err := on.Cmdlet("Get")
	if err != nil {
		return nil, err
	}
	r, err := c.Read(ctx, get, on.id)
	return r.GrantSendOnBehalfTo, err
}

// builtIn tells whether an account is one of the system's, such as NT AUTHORITY\SELF.
func builtIn(user string) bool { return strings.HasPrefix(strings.ToUpper(user), `NT AUTHORITY\`) }

func (c *functions) getPermissions(ctx context.Context, p catalog.Params) (any, error) {
	on, err := c.delegator(ctx, p)
	if err != nil {
		return nil, err
	}
	lists, unresolved := map[string][]string{}, []string{}
	known := map[string]string{}
	for _, g := range mailboxGrants {
		users, err := g.list(ctx, c, on)
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
	on, err := c.delegator(ctx, p) // before it waits for trustees
	if err != nil {
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
				err = g.add(ctx, c, on, r, p)
			} else {
				err = g.take(ctx, c, on, r)
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
			users, err := g.list(ctx, c, on)
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
	on, err := c.delegator(ctx, p)
	if err != nil {
		return nil, err
	}
	var checks []session.Check
	var reasons []string
	for _, g := range mailboxGrants {
		if !p.Has(g.name) {
			continue
		}
		users, err := g.list(ctx, c, on)
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
	return session.NewCheckResult(on.id, checks, reasons), nil
}
