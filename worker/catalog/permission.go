package catalog

// The parameters of permissions. Lists come from the outputs of the functions that read them.
var (
	delegator     = Param{Name: "Identity", Type: String, Required: true, Description: "Object id, sign-in name or address of the mailbox or group."}
	fullAccess    = Param{Name: "FullAccess", Type: StringList, Description: "Addresses of those who can open the mailbox. Groups have no such permission."}
	sendAsParam   = Param{Name: "SendAs", Type: StringList, Description: "Addresses of those who can send as the mailbox or group."}
	sendOnBehalf  = Param{Name: "SendOnBehalf", Type: StringList, Description: "Addresses of those who can send on behalf of the mailbox or group."}
	trusteeDomain = Param{Name: "TrusteeDomain", Type: Domain, Description: "Domain of these people in this tenant, which replaces that of each address. Default: the addresses as they are."}
	skipMissing   = Param{Name: "SkipMissing", Type: Boolean, Description: "Whether to leave out people who are no recipients of this tenant, instead of failing. Default: false."}
	missingField  = Field{"Missing", "Addresses of those who are no recipients of this tenant, as the job named them."}
)

// GetExchangeMailboxPermissions is carried out by package exchange, like the functions after it.
var GetExchangeMailboxPermissions = Function{
	Name: "Get-ExchangeMailboxPermissions",
	Description: "Reads who can open a mailbox, and send as a mailbox or group or on its behalf, for Add-ExchangeMailboxPermissions in another tenant: keep the lists with output_params. " +
		"Permissions that are inherited, denied or of the system are left out.",
	Params: []Param{delegator},
	Result: []Field{
		{"FullAccess", "Addresses of those who can open the mailbox. Empty for a group."},
		{"SendAs", "Addresses of those who can send as the mailbox or group."},
		{"SendOnBehalf", "Addresses of those who can send on behalf of the mailbox or group."},
		{"Unresolved", "Names of those for whom the tenant has no recipient, or several."},
	},
	Errors:      []Error{unknownRecipient, noMailboxOrGroup},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only.",
}

// AddExchangeMailboxPermissions gives permissions on a mailbox or group.
var AddExchangeMailboxPermissions = Function{
	Name: "Add-ExchangeMailboxPermissions",
	Description: "Lets people open a mailbox, and send as a mailbox or group or on its behalf. Permissions of others stay. Succeeds if all lists are empty, and for people who have the permission. " +
		"Groups are distribution lists, mail-enabled security groups and Microsoft 365 groups, which people cannot open in this way. Exchange gives the first two to mailboxes, mail users and mail-enabled security groups only.",
	Params: []Param{
		delegator,
		fullAccess,
		sendAsParam,
		sendOnBehalf,
		trusteeDomain,
		skipMissing,
		{Name: "AutoMapping", Type: Boolean, Description: "Whether Outlook of those with full access opens the mailbox by itself. Default: true."},
	},
	Result: []Field{missingField},
	Errors: []Error{
		{exchangeNotFound, "The recipient does not exist, or a trustee is a group that gets no such permission.", "Correct the identity; give permissions to people and mail-enabled security groups only."},
		{FailureConflict, "The tenant does not have a trustee, the recipient is neither a mailbox nor a group, or full access is given on a group.", "Map the trustees to recipients of this tenant, or leave FullAccess out."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Given again, which changes nothing, and read back.",
}

// RemoveExchangeMailboxPermissions takes permissions on a mailbox or group.
var RemoveExchangeMailboxPermissions = Function{
	Name:        "Remove-ExchangeMailboxPermissions",
	Description: "Takes permissions to open a mailbox, and to send as a mailbox or group or on its behalf. Succeeds for those who do not have them, and leaves out people who are no recipients of this tenant.",
	Params:      []Param{delegator, fullAccess, sendAsParam, sendOnBehalf, trusteeDomain},
	Result:      []Field{missingField},
	Errors: []Error{
		unknownRecipient,
		{FailureConflict, "The recipient is neither a mailbox nor a group, or full access is taken on a group.", "Correct Identity, or leave FullAccess out."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Taken again, which changes nothing, and read back.",
}

// TestExchangeMailboxPermissions compares permissions on a mailbox or group.
var TestExchangeMailboxPermissions = Function{
	Name: "Test-ExchangeMailboxPermissions",
	Description: "Checks that people can open a mailbox, and send as a mailbox or group or on its behalf. Others may, too. It checks a permission only if you name people for it. " +
		"Not complete until all can, so that a step can poll.",
	Params: []Param{delegator, fullAccess, sendAsParam, sendOnBehalf, trusteeDomain},
	Result: []Field{
		{"complete", "Whether all can."},
		{"reason", "If not: for each permission the people who have it, and those who lack it."},
		{"data", "Identity, Match, and Checks: Name, Match, ExpectedValue and ActualValue of each permission."},
	},
	Errors: []Error{
		unknownRecipient,
		{FailureConflict, "The recipient is neither a mailbox nor a group, or full access is expected on a group.", "Correct Identity, or leave FullAccess out."},
	},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only. Exchange Online may show a change some minutes later.",
}

var calendarEntries = Param{
	Name: "Permissions", Type: StringList,
	Description: "Entries of address and role, such as ada@contoso.com=Reviewer. Several rights are joined with +. Default and Anonymous stand for everybody of the organisation, and for others.",
}

// GetExchangeCalendarPermissions reads the permissions of a calendar.
var GetExchangeCalendarPermissions = Function{
	Name: "Get-ExchangeCalendarPermissions",
	Description: "Reads who can see or change the calendar of a mailbox, for Set-ExchangeCalendarPermissions in another tenant: keep the list with output_params. " +
		"It finds the calendar in every language. Flags of delegates are not read.",
	Params: []Param{mailboxIdentity},
	Result: []Field{
		{"Permissions", "Entries such as ada@contoso.com=Reviewer. The entry of Default is always there, that of Anonymous if it has a right."},
		{"Unresolved", "Names of those for whom the tenant has no recipient, or several."},
	},
	Errors: []Error{
		noMailbox,
		{FailureConflict, "The mailbox has no folder of type Calendar.", "Look at the folders of the mailbox."},
	},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only.",
}

// SetExchangeCalendarPermissions sets entries of a calendar.
var SetExchangeCalendarPermissions = Function{
	Name:        "Set-ExchangeCalendarPermissions",
	Description: "Gives people roles for the calendar of a mailbox. A role replaces the one that a person has; entries of others stay. No mail is sent.",
	Params:      []Param{mailboxIdentity, calendarEntries, trusteeDomain, skipMissing},
	Result:      []Field{missingField},
	Errors: []Error{
		noMailbox,
		{FailureConflict, "The tenant does not have a trustee, or the mailbox has no folder of type Calendar.", "Map the trustees to recipients of this tenant."},
		{FailureParameters, "An entry of Permissions lacks a user or a role, has an unknown role, or a user has two entries.", "Correct the parameter."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back.",
}

// RemoveExchangeCalendarPermissions removes entries of a calendar.
var RemoveExchangeCalendarPermissions = Function{
	Name:        "Remove-ExchangeCalendarPermissions",
	Description: "Removes the entries of people from the calendar of a mailbox. Succeeds for those who have none, and leaves out people who are no recipients of this tenant.",
	Params: []Param{
		mailboxIdentity,
		{Name: "Trustees", Type: StringList, Description: "Addresses of the people."},
		trusteeDomain,
	},
	Result: []Field{missingField},
	Errors: []Error{
		noMailbox,
		{FailureParameters, "Trustees has the entry of everyone (Default or Anonymous).", "Set its role with Set-ExchangeCalendarPermissions instead."},
		{FailureConflict, "The mailbox has no folder of type Calendar.", "Look at the folders of the mailbox."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Exchange reports that there is no entry, and the function succeeds.",
}

// TestExchangeCalendarPermissions compares entries of a calendar.
var TestExchangeCalendarPermissions = Function{
	Name:        "Test-ExchangeCalendarPermissions",
	Description: "Checks that people have roles for the calendar of a mailbox. Others may have some, too. Not complete until all have, so that a step can poll.",
	Params:      []Param{mailboxIdentity, calendarEntries, trusteeDomain},
	Result: []Field{
		{"complete", "Whether all have."},
		{"reason", "If not: the actual and the expected role of each."},
		{"data", "Identity, Match, and Checks: Name, Match, ExpectedValue and ActualValue of each."},
	},
	Errors: []Error{
		noMailbox,
		{FailureParameters, "An entry of Permissions lacks a user or a role, or has an unknown role.", "Correct the parameter."},
		{FailureConflict, "The mailbox has no folder of type Calendar.", "Look at the folders of the mailbox."},
	},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only. Exchange Online may show a change some minutes later.",
}
