package exchange

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
	"github.com/matoolkit/matoolkit/worker/password"
)

// MailUserResult is the result of New-ExchangeMailUser.
type MailUserResult struct {
	UserID            string `json:"UserId"`
	ID                string `json:"Id"`
	UserPrincipalName string
	PrimaryEmail      string
}

// wantedMailUser has the wishes in the parameters of New-ExchangeMailUser.
type wantedMailUser struct {
	upn, display, alias       string
	external, primary         string
	exchangeGUID, archiveGUID string
	add                       []string // secondary and X500 addresses, with their types
}

func wantedFrom(p catalog.Params) (wantedMailUser, error) {
	w := wantedMailUser{
		upn: p.String("UserPrincipalName"), display: p.String("DisplayName"), external: p.String("ExternalEmail"),
		exchangeGUID: p.String("ExchangeGuid"), archiveGUID: p.String("ArchiveGuid"),
	}
	name, _, _ := strings.Cut(w.upn, "@")
	w.alias = cmp.Or(p.String("Alias"), name)
	w.primary = cmp.Or(p.String("PrimaryEmail"), w.upn)
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
	if strings.EqualFold(w.external, w.primary) || session.Has(w.add, "smtp:"+w.external) {
		return w, &catalog.Failure{Type: catalog.FailureParameters, Message: "ExternalEmail is one of the mail user's own addresses: give the routing address of the source mailbox"}
	}
	return w, nil
}

// x500 are the X500 addresses of a job: LegacyExchangeDN and X500Addresses.
func x500(p catalog.Params) []string {
	var all []string
	for _, given := range append([]string{p.String("LegacyExchangeDN")}, p.List("X500Addresses")...) {
		if kind, rest, ok := strings.Cut(given, ":"); ok && strings.EqualFold(kind, "x500") {
			given = rest
		}
		if given != "" && !session.Has(all, "x500:"+given) {
			all = append(all, "x500:"+given)
		}
	}
	return all
}

// newMailUser creates a mail user and sets what New-MailUser has no parameters for. Of two jobs that
// create it at once, one does, and both set the same values.
func (c *Client) newMailUser(ctx context.Context, p catalog.Params) (any, error) {
	w, err := wantedFrom(p)
	if err != nil {
		return nil, err
	}
	r, err := c.createMailUser(ctx, p, w)
	if session.Taken(err) {
		// Of several properties that are taken Exchange names one.
		refused := err
		if r, err = c.Read(ctx, "Get-MailUser", w.upn); session.Missing(err) {
			err = refused
		}
		if err == nil {
			err = w.sameAs(r)
		}
	}
	if err != nil {
		return nil, err
	}
	id := r.ExternalDirectoryObjectId
	if !strings.EqualFold(r.PrimarySmtpAddress, w.primary) {
		// New-MailUser may have ignored PrimarySmtpAddress.
		if err := c.Invoke(ctx, "Set-MailUser", map[string]any{"Identity": id, "WindowsEmailAddress": w.primary}, nil); err != nil {
			return nil, err
		}
		if r, err = c.ReadUntil(ctx, "Get-MailUser", id, "the primary address is not "+w.primary, func(r session.Recipient) bool {
			return strings.EqualFold(r.PrimarySmtpAddress, w.primary)
		}); err != nil {
			return nil, err
		}
	}
	if change := w.changes(r); len(change) > 0 {
		change["Identity"] = id
		if err := c.Invoke(ctx, "Set-MailUser", change, nil); err != nil {
			return nil, err
		}
	}
	r, err = c.ReadUntil(ctx, "Get-MailUser", id, "the mail user does not have all properties", w.metBy)
	if err != nil {
		return nil, err
	}
	return MailUserResult{UserID: id, ID: id, UserPrincipalName: r.UserPrincipalName, PrimaryEmail: r.PrimarySmtpAddress}, nil
}

func (c *Client) createMailUser(ctx context.Context, p catalog.Params, w wantedMailUser) (session.Recipient, error) {
	first := cmp.Or(p.String("Password"), password.Strong())
	parameters := map[string]any{
		"Name": w.alias, "Alias": w.alias, "DisplayName": w.display, "MicrosoftOnlineServicesID": w.upn, "Password": first,
		"ExternalEmailAddress": w.external, "PrimarySmtpAddress": w.primary,
	}
	for param, parameter := range map[string]string{"GivenName": "FirstName", "Surname": "LastName"} {
		if p.Has(param) {
			parameters[parameter] = p.String(param)
		}
	}
	var made []session.Recipient
	err := c.Invoke(ctx, "New-MailUser", parameters, &made)
	var f *catalog.Failure
	if errors.As(err, &f) {
		f.Message = strings.ReplaceAll(f.Message, first, "(password)")
	}
	if err != nil {
		return session.Recipient{}, err
	}
	if len(made) == 1 && made[0].ExternalDirectoryObjectId != "" {
		return made[0], nil
	}
	return c.ReadUntil(ctx, "Get-MailUser", w.upn, "the mail user has no object id", func(r session.Recipient) bool { return r.ExternalDirectoryObjectId != "" })
}

// sameAs fails unless the mail user may be the one that was asked for: what New-MailUser sets must be the
// same, and what Set-MailUser sets must be the same or not be set.
func (w wantedMailUser) sameAs(r session.Recipient) error {
	var differ []string
	for name, same := range map[string]bool{
		"UserPrincipalName":    strings.EqualFold(r.UserPrincipalName, w.upn),
		"DisplayName":          strings.EqualFold(r.DisplayName, w.display),
		"Alias":                strings.EqualFold(r.Alias, w.alias),
		"ExternalEmailAddress": r.IsExternal(w.external),
		"PrimarySmtpAddress":   strings.EqualFold(r.PrimarySmtpAddress, w.primary) || strings.EqualFold(r.PrimarySmtpAddress, w.external),
		"ExchangeGuid":         w.exchangeGUID == "" || unset(r.ExchangeGuid) || strings.EqualFold(r.ExchangeGuid, w.exchangeGUID),
		"ArchiveGuid":          w.archiveGUID == "" || unset(r.ArchiveGuid) || strings.EqualFold(r.ArchiveGuid, w.archiveGUID),
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
		Message: "a mail user with this userPrincipalName exists and differs in: " + strings.Join(differ, ", "),
	}
}

// unset tells whether an id that Exchange prints is none.
func unset(guid string) bool {
	return guid == "" || guid == "00000000-0000-0000-0000-000000000000"
}

// changes are the parameters of Set-MailUser: the ids, the addresses that a read does not show, and the
// removal of the external address, which a move must not find among the others.
func (w wantedMailUser) changes(r session.Recipient) map[string]any {
	change := map[string]any{}
	if w.exchangeGUID != "" {
		change["ExchangeGuid"] = w.exchangeGUID
	}
	if w.archiveGUID != "" {
		change["ArchiveGuid"] = w.archiveGUID
	}
	var add, remove []string
	for _, address := range w.add {
		if !session.Has(r.EmailAddresses, address) {
			add = append(add, address)
		}
	}
	if session.Has(r.EmailAddresses, "smtp:"+w.external) {
		remove = []string{"smtp:" + w.external}
	}
	if len(add)+len(remove) > 0 {
		change["EmailAddresses"] = session.Edit(add, remove)
	}
	return change
}

func (w wantedMailUser) metBy(r session.Recipient) bool {
	missing := func(address string) bool { return !session.Has(r.EmailAddresses, address) }
	return (w.exchangeGUID == "" || strings.EqualFold(r.ExchangeGuid, w.exchangeGUID)) &&
		(w.archiveGUID == "" || strings.EqualFold(r.ArchiveGuid, w.archiveGUID)) &&
		strings.EqualFold(r.PrimarySmtpAddress, w.primary) && r.IsExternal(w.external) &&
		!slices.ContainsFunc(w.add, missing) && missing("smtp:"+w.external)
}
