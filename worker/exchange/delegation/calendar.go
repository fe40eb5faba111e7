package delegation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// CalendarPermissions is the result of Get-ExchangeCalendarPermissions.
type CalendarPermissions struct {
	Permissions []string // such as ada@contoso.com=Reviewer
	Unresolved  []string // users without a known address
}

// folderEntry is a user's access rights to a folder.
type folderEntry struct {
	user   string // an address, Default or Anonymous
	rights []string
}

func (e folderEntry) String() string { return e.user + "=" + strings.Join(e.rights, "+") }

// everybody tells whether an entry is of no single user.
func (e folderEntry) everybody() bool {
	return strings.EqualFold(e.user, "Default") || strings.EqualFold(e.user, "Anonymous")
}

// rightsOfFolders are the roles and the rights that Exchange knows.
var rightsOfFolders = []string{
	"None", "Owner", "PublishingEditor", "Editor", "PublishingAuthor", "Author", "NonEditingAuthor", "Reviewer", "Contributor", "AvailabilityOnly", "LimitedDetails",
	"CreateItems", "CreateSubfolders", "DeleteAllItems", "DeleteOwnedItems", "EditAllItems", "EditOwnedItems", "FolderContact", "FolderOwner", "FolderVisible", "ReadItems",
}

// folderEntries reads the entries of a job, in the form of CalendarPermissions.
func folderEntries(texts []string) ([]folderEntry, error) {
	var entries []folderEntry
	for _, text := range texts {
		user, rights, found := strings.Cut(text, "=")
		entry := folderEntry{user: strings.TrimSpace(user)}
		if !found || entry.user == "" {
			return nil, entryFailure(text, "write an address, =, and a role, such as ada@contoso.com=Reviewer")
		}
		for _, right := range strings.Split(rights, "+") {
			i := slices.IndexFunc(rightsOfFolders, func(known string) bool { return strings.EqualFold(known, strings.TrimSpace(right)) })
			if i < 0 {
				return nil, entryFailure(text, "its role is none of "+strings.Join(rightsOfFolders, ", "))
			}
			entry.rights = append(entry.rights, rightsOfFolders[i])
		}
		if slices.ContainsFunc(entries, func(e folderEntry) bool { return strings.EqualFold(e.user, entry.user) }) {
			return nil, entryFailure(text, "the user has two entries")
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func entryFailure(text, what string) error {
	return &catalog.Failure{Type: catalog.FailureParameters, Message: fmt.Sprintf("Permissions has the entry %q: %s", text, what)}
}

// users are the single users of entries.
func users(entries []folderEntry) []string {
	var all []string
	for _, e := range entries {
		if !e.everybody() {
			all = append(all, e.user)
		}
	}
	return all
}

// calendarOf is the identity of a mailbox's calendar, whose name depends on the mailbox's language.
func (c *functions) calendarOf(ctx context.Context, mailbox string) (string, error) {
	var folders []struct{ Name, FolderType string }
	if err := c.Invoke(ctx, "Get-MailboxFolderStatistics", map[string]any{"Identity": mailbox, "FolderScope": "Calendar"}, &folders); err != nil {
		return "", err
	}
	for _, f := range folders {
		if strings.EqualFold(f.FolderType, "Calendar") {
			return mailbox + `:\` + f.Name, nil
		}
	}
	return "", &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: "the mailbox has no folder of type Calendar"}
}

// printedEntry is an entry as Exchange prints it. It is not known whether User is a text over REST.
type printedEntry struct {
	User         json.RawMessage
	AccessRights []string
}

// names are the texts by which an entry names its user.
func (e printedEntry) names() []string {
	var text string
	if json.Unmarshal(e.User, &text) == nil {
		return []string{text}
	}
	var object struct {
		DisplayName        string
		RecipientPrincipal struct{ PrimarySmtpAddress string }
	}
	if json.Unmarshal(e.User, &object) != nil {
		return nil
	}
	var all []string
	for _, name := range []string{object.RecipientPrincipal.PrimarySmtpAddress, object.DisplayName} {
		if name != "" {
			all = append(all, name)
		}
	}
	return all
}

func (c *functions) getCalendar(ctx context.Context, p catalog.Params) (any, error) {
	folder, err := c.calendarOf(ctx, p.String("Identity"))
	if err != nil {
		return nil, err
	}
	var printed []printedEntry
	if err := c.Invoke(ctx, "Get-MailboxFolderPermission", map[string]any{"Identity": folder}, &printed); err != nil {
		return nil, err
	}
	result := CalendarPermissions{Permissions: []string{}, Unresolved: []string{}}
	for _, e := range printed {
		names := e.names()
		if len(names) == 0 {
			return nil, &catalog.Failure{Type: catalog.FailureInvalidResult, Attempts: 1, Message: "Get-MailboxFolderPermission: an entry names no user"}
		}
		entry := folderEntry{user: names[0], rights: e.AccessRights}
		switch {
		case strings.EqualFold(entry.user, "Anonymous") && slices.Equal(entry.rights, []string{"None"}):
			continue
		case !entry.everybody():
			address, err := c.holderOf(ctx, folder, names, entry.rights)
			if err != nil {
				return nil, err
			}
			if address == "" || slices.ContainsFunc(result.Permissions, func(p string) bool { return strings.HasPrefix(p, address+"=") }) {
				result.Unresolved = append(result.Unresolved, entry.user)
				continue
			}
			entry.user = address
		}
		result.Permissions = append(result.Permissions, entry.String())
	}
	return result, nil
}

// holderOf is the primary address of the one recipient with an entry; empty if it is not known. A display name can be
// the name of another recipient, who then has no such entry.
func (c *functions) holderOf(ctx context.Context, folder string, names, rights []string) (string, error) {
	for _, name := range names {
		address, err := c.addressOf(ctx, name)
		switch {
		case err != nil:
			return "", err
		case address == "":
			continue
		case strings.Contains(name, "@"):
			return address, nil
		}
		own, err := c.entriesOf(ctx, folder, address)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(own, func(e printedEntry) bool { return session.Has(e.names(), name) && sameRights(e.AccessRights, rights) }) {
			return address, nil
		}
	}
	return "", nil
}

// entryOf is the rights that a user has; none without an entry. The cmdlet finds the user, since the
// names that it prints can be those of several.
func (c *functions) entryOf(ctx context.Context, folder, user string) ([]string, error) {
	printed, err := c.entriesOf(ctx, folder, user)
	var rights []string
	for _, e := range printed {
		rights = append(rights, e.AccessRights...)
	}
	return rights, err
}

func (c *functions) entriesOf(ctx context.Context, folder, user string) (printed []printedEntry, err error) {
	err = c.Invoke(ctx, "Get-MailboxFolderPermission", map[string]any{"Identity": folder, "User": user}, &printed)
	if session.Says(err, noEntry) {
		err = nil
	}
	return printed, err
}

// noEntry is a part of the text of the refusal of a user without entry.
const noEntry = "no existing permission entry"

func sameRights(a, b []string) bool {
	fold := func(rights []string) []string {
		folded := make([]string, 0, len(rights))
		for _, r := range rights {
			folded = append(folded, strings.ToLower(r))
		}
		slices.Sort(folded)
		return folded
	}
	return slices.Equal(fold(a), fold(b))
}

// setCalendar changes or adds each entry, and reads until it shows.
func (c *functions) setCalendar(ctx context.Context, p catalog.Params) (any, error) {
	entries, err := folderEntries(p.List("Permissions"))
	if err != nil {
		return nil, err
	}
	return c.changeCalendar(ctx, p, entries, p.Bool("SkipMissing", false), func(folder, user string, e folderEntry) error {
		change := map[string]any{"Identity": folder, "User": user, "AccessRights": e.rights}
		err := c.Invoke(ctx, "Set-MailboxFolderPermission", change, nil)
		if session.Says(err, noEntry) && !e.everybody() {
			if err = c.Invoke(ctx, "Add-MailboxFolderPermission", change, nil); session.Says(err, "existing permission entry was found") {
				err = c.Invoke(ctx, "Set-MailboxFolderPermission", change, nil) // another delivery added it
			}
		}
		return err
	})
}

// removeCalendar removes entries of single users.
func (c *functions) removeCalendar(ctx context.Context, p catalog.Params) (any, error) {
	var entries []folderEntry
	for _, user := range p.List("Trustees") {
		e := folderEntry{user: user}
		if e.everybody() {
			return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: fmt.Sprintf("Trustees has %s, whose entry cannot be removed: set its role with Set-ExchangeCalendarPermissions", user)}
		}
		entries = append(entries, e)
	}
	return c.changeCalendar(ctx, p, entries, true, func(folder, user string, _ folderEntry) error {
		err := c.Invoke(ctx, "Remove-MailboxFolderPermission", map[string]any{"Identity": folder, "User": user, "Confirm": false}, nil)
		if session.Says(err, noEntry) {
			return nil
		}
		return err
	})
}

func (c *functions) changeCalendar(ctx context.Context, p catalog.Params, entries []folderEntry, skip bool, change func(folder, user string, e folderEntry) error) (any, error) {
	folder, err := c.calendarOf(ctx, p.String("Identity"))
	if err != nil {
		return nil, err
	}
	who, err := c.trustees(ctx, p, users(entries), skip)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		user := e.user
		if !e.everybody() {
			r, found := who.of(user)
			if !found {
				continue
			}
			user = r.PrimarySmtpAddress
		}
		if err := change(folder, user, e); err != nil {
			return nil, err
		}
		_, err := session.Until(ctx, c.Session, "the permissions of "+user+" are others", func(have []string) bool { return sameRights(have, e.rights) },
			func(ctx context.Context) ([]string, error) { return c.entryOf(ctx, folder, user) })
		if err != nil {
			return nil, err
		}
	}
	return GrantResult{Missing: who.missing}, nil
}

func (c *functions) testCalendar(ctx context.Context, p catalog.Params) (any, error) {
	entries, err := folderEntries(p.List("Permissions"))
	if err != nil {
		return nil, err
	}
	folder, err := c.calendarOf(ctx, p.String("Identity"))
	if err != nil {
		return nil, err
	}
	var checks []session.Check
	var reasons []string
	for _, e := range entries {
		user, have, err := c.roleOf(ctx, folder, e, p.String("TrusteeDomain"))
		if err != nil {
			return nil, err
		}
		reason := catalog.Mismatch("the role of "+user, []string{strings.Join(e.rights, "+")}, strings.Join(have, "+"))
		if sameRights(have, e.rights) {
			reason = ""
		}
		checks = append(checks, session.Check{Name: user, Match: reason == "", ExpectedValue: e.rights, ActualValue: append([]string{}, have...)})
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return session.NewCheckResult(p.String("Identity"), checks, reasons), nil
}

// roleOf is the rights of an entry's user, by the address in this tenant. A user that is no recipient has none.
func (c *functions) roleOf(ctx context.Context, folder string, e folderEntry, domain string) (string, []string, error) {
	if e.everybody() {
		rights, err := c.entryOf(ctx, folder, e.user)
		return e.user, rights, err
	}
	user := mapped(e.user, domain)
	r, found, err := c.Find(ctx, user)
	if err != nil || !found {
		return user, nil, err
	}
	rights, err := c.entryOf(ctx, folder, r.PrimarySmtpAddress)
	return user, rights, err
}
