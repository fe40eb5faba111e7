package exchange

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

func init() { // not a literal: run reaches back into cmdlets
	cmdlets["Get-MailboxFolderStatistics"] = cmdlet{names("Identity", "FolderScope", "ResultSize"), (*Service).folders}
	cmdlets["Get-MailboxFolderPermission"] = cmdlet{names("Identity", "User", "ResultSize"), (*Service).folderPermissions}
	change := names("Identity", "User", "AccessRights", "SendNotificationToUser", "Confirm")
	cmdlets["Add-MailboxFolderPermission"] = cmdlet{change, (*Service).addFolderPermission}
	cmdlets["Set-MailboxFolderPermission"] = cmdlet{change, (*Service).setFolderPermission}
	cmdlets["Remove-MailboxFolderPermission"] = cmdlet{names("Identity", "User", "Confirm"), (*Service).removeFolderPermission}
}

// builtIn are the users that every folder has an entry for.
var builtIn = []directory.FolderPermission{{User: "Default", AccessRights: []string{"AvailabilityOnly"}}, {User: "Anonymous", AccessRights: []string{"None"}}}

// folderRights are the roles and rights of a folder.
var folderRights = []string{
	"None", "Owner", "PublishingEditor", "Editor", "PublishingAuthor", "Author", "NonEditingAuthor", "Reviewer", "Contributor", "AvailabilityOnly", "LimitedDetails",
	"CreateItems", "CreateSubfolders", "DeleteAllItems", "DeleteOwnedItems", "EditAllItems", "EditOwnedItems", "FolderContact", "FolderOwner", "FolderVisible", "ReadItems",
}

func calendarName(r directory.Recipient) string { return cmp.Or(r.CalendarFolder, "Calendar") }

// folders lists the folders of a calendar, of which one is below the calendar itself.
func (s *Service) folders(c *call) *reply {
	_, asOf := s.Times()
	r, _, refusal := s.mailbox(c, asOf)
	if refusal != nil {
		return refusal
	}
	scope := ""
	if refusal := c.exchange.choice("folderscope", &scope, "Calendar"); refusal != nil {
		return refusal
	}
	if scope == "" {
		return cmdletFailure(parameterBinding, "Folders of all kinds aren't supported here: specify FolderScope Calendar.")
	}
	name := calendarName(r)
	return c.results([]map[string]any{
		{"Identity": r.Name + `\` + name + `\Birthdays`, "Name": "Birthdays", "FolderPath": "/" + name + "/Birthdays", "FolderType": "User Created"},
		{"Identity": r.Name + `\` + name, "Name": name, "FolderPath": "/" + name, "FolderType": "Calendar"},
	})
}

// calendar is the mailbox whose calendar a command names, such as ada@contoso.com:\Calendar.
func (s *Service) calendar(c *call, asOf time.Time) (seen, latest directory.Recipient, refusal *reply) {
	identity, refusal := c.identity()
	if refusal != nil {
		return seen, latest, refusal
	}
	mailbox, folder, found := strings.Cut(identity, `:\`)
	if !found {
		return seen, latest, cmdletFailure(invalidData, "The mailbox folder \"%s\" isn't of the form user:\\folder.", identity)
	}
	if seen, latest, refusal = s.mailboxNamed(mailbox, asOf); refusal != nil {
		return seen, latest, refusal
	}
	if !strings.EqualFold(folder, calendarName(seen)) {
		return seen, latest, recipientNotFound(identity)
	}
	return seen, latest, nil
}

// folderUser is the id of a command's User.
func (s *Service) folderUser(c *call, asOf time.Time) (string, *reply) {
	identity := directory.Text(c.exchange.parameters["user"])
	for _, p := range builtIn {
		if strings.EqualFold(p.User, identity) {
			return p.User, nil
		}
	}
	r, found := s.findRecipient(identity, asOf, recipientKinds)
	if !found {
		return "", exchangeFailure(400, "BadRequest", invalidUser, "The user \"%s\" is either not valid SMTP address, or there is no matching information.", identity)
	}
	return r.ExternalDirectoryObjectID, nil
}

func entryOf(r directory.Recipient, user string) (directory.FolderPermission, int) {
	i := slices.IndexFunc(r.Calendar, func(p directory.FolderPermission) bool { return p.User == user })
	if i >= 0 {
		return r.Calendar[i], i
	}
	for _, p := range builtIn {
		if p.User == user {
			return p, i
		}
	}
	return directory.FolderPermission{}, i
}

func noEntry(c *call) *reply {
	return cmdletFailure(entryNotFound, "There is no existing permission entry found for user: %v.", c.exchange.parameters["user"])
}

func (s *Service) folderPermissions(c *call) *reply {
	_, asOf := s.Times()
	r, _, refusal := s.calendar(c, asOf)
	if refusal != nil {
		return refusal
	}
	only := ""
	if _, given := c.exchange.parameters["user"]; given {
		if only, refusal = s.folderUser(c, asOf); refusal != nil {
			return refusal
		}
	}
	var found []map[string]any
	users := []string{"Default", "Anonymous"}
	for _, p := range r.Calendar {
		if !slices.Contains(users, p.User) {
			users = append(users, p.User)
		}
	}
	for _, user := range users {
		if only != "" && user != only {
			continue
		}
		entry, _ := entryOf(r, user)
		found = append(found, map[string]any{
			"Identity": c.exchange.parameters["identity"], "FolderName": calendarName(r), "User": s.displayName(user), "AccessRights": entry.AccessRights,
			"SharingPermissionFlags": nil,
		})
	}
	if only != "" && len(found) == 0 {
		return noEntry(c)
	}
	return c.results(found)
}

// displayName is how a folder prints a user.
func (s *Service) displayName(user string) string {
	if r, exists := s.Directory.Recipients.Latest(user); exists {
		return r.DisplayName
	}
	return user
}

// entry reads a command that changes the entry of a user.
func (s *Service) entry(c *call, asOf time.Time) (r directory.Recipient, wanted directory.FolderPermission, refusal *reply) {
	if _, r, refusal = s.calendar(c, asOf); refusal != nil {
		return r, wanted, refusal
	}
	if wanted.User, refusal = s.folderUser(c, asOf); refusal != nil {
		return r, wanted, refusal
	}
	given, refusal := c.exchange.texts("accessrights")
	if refusal != nil {
		return r, wanted, refusal
	}
	for _, right := range given {
		i := slices.IndexFunc(folderRights, func(known string) bool { return strings.EqualFold(known, right) })
		if i < 0 {
			return r, wanted, cmdletFailure(parameterBinding, "Cannot process argument transformation on parameter 'AccessRights'. Cannot convert value \"%s\".", right)
		}
		wanted.AccessRights = append(wanted.AccessRights, folderRights[i])
	}
	return r, wanted, nil
}

func (s *Service) addFolderPermission(c *call) *reply {
	now, asOf := s.Times()
	if refusal := c.exchange.missing("User", "AccessRights"); refusal != nil {
		return refusal
	}
	r, wanted, refusal := s.entry(c, asOf)
	if refusal != nil {
		return refusal
	}
	if have, _ := entryOf(r, wanted.User); have.User != "" {
		return cmdletFailure(entryExists, "An existing permission entry was found for user: %v.", c.exchange.parameters["user"])
	}
	r.Calendar = append(slices.Clone(r.Calendar), wanted)
	return s.saveRecipient(c, r, now, asOf)
}

func (s *Service) setFolderPermission(c *call) *reply {
	now, asOf := s.Times()
	if refusal := c.exchange.missing("User", "AccessRights"); refusal != nil {
		return refusal
	}
	r, wanted, refusal := s.entry(c, asOf)
	if refusal != nil {
		return refusal
	}
	have, at := entryOf(r, wanted.User)
	switch {
	case have.User == "":
		return noEntry(c)
	case slices.Equal(have.AccessRights, wanted.AccessRights):
		return c.nothing()
	}
	r.Calendar = slices.Clone(r.Calendar)
	if at < 0 {
		r.Calendar = append(r.Calendar, wanted)
	} else {
		r.Calendar[at] = wanted
	}
	return s.saveRecipient(c, r, now, asOf)
}

func (s *Service) removeFolderPermission(c *call) *reply {
	now, asOf := s.Times()
	if refusal := c.exchange.missing("User"); refusal != nil {
		return refusal
	}
	r, wanted, refusal := s.entry(c, asOf)
	if refusal != nil {
		return refusal
	}
	_, at := entryOf(r, wanted.User)
	if at < 0 {
		return noEntry(c)
	}
	r.Calendar = slices.Delete(slices.Clone(r.Calendar), at, at+1)
	if len(r.Calendar) == 0 {
		r.Calendar = nil
	}
	return s.saveRecipient(c, r, now, asOf)
}
