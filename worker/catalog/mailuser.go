package catalog

// The parameters that a mailbox move needs on its target.
var (
	exchangeGUID     = Param{Name: "ExchangeGuid", Type: GUID, Description: "ExchangeGuid of the source mailbox."}
	archiveGUID      = Param{Name: "ArchiveGuid", Type: GUID, Description: "ArchiveGuid of the source mailbox, if it has an archive."}
	legacyExchangeDN = Param{Name: "LegacyExchangeDN", Type: String, Description: "LegacyExchangeDN of the source mailbox. It becomes an X500 address, so that replies to old mails arrive."}
	x500Addresses    = Param{Name: "X500Addresses", Type: StringList, Description: "X500 addresses of the source mailbox, with or without the prefix x500:."}
)

// NewExchangeMailUser creates the target of a mailbox move. Package exchange carries it out,
// like the function after it.
var NewExchangeMailUser = Function{
	Name: "New-ExchangeMailUser",
	Description: "Creates a user that Exchange Online knows as a mail user, with what a mailbox move needs on its target: New-MailUser, then Set-MailUser. " +
		"Assign a licence with an Exchange plan after this step, or the user gets an empty mailbox. If a mail user with this sign-in name exists and has all the given " +
		"properties, the function assumes that an earlier attempt created it, adds missing properties, and succeeds; otherwise it fails. " +
		"A user that exists without a mail user cannot become one in Exchange Online: the function fails.",
	Params: []Param{
		{Name: "DisplayName", Type: String, Required: true, Description: "Name shown in the address book."},
		{Name: "UserPrincipalName", Type: Email, Required: true, Description: "Sign-in name, in an accepted domain of the tenant."},
		{Name: "ExternalEmail", Type: Email, Required: true, Description: "Address that mail goes to until the move: the routing address of the source mailbox. It must not be one of the other addresses."},
		{Name: "PrimaryEmail", Type: Email, Description: "Primary SMTP address, in an accepted domain of the tenant. Default: UserPrincipalName."},
		{Name: "SecondaryEmails", Type: StringList, Description: "Further SMTP addresses, in accepted domains; a move needs one in its target delivery domain."},
		{Name: "Alias", Type: String, Description: "Mail alias, unique in the tenant, which is also the recipient's name. Default: the part of UserPrincipalName before the @."},
		{Name: "GivenName", Type: String, Description: "First name."},
		{Name: "Surname", Type: String, Description: "Last name."},
		{Name: "Password", Type: String, Description: "First password. Default: a strong random one, which is not stored.", Secret: true},
		exchangeGUID,
		archiveGUID,
		legacyExchangeDN,
		x500Addresses,
	},
	Result: []Field{
		{"UserId", "Object id of the user."},
		{"Id", "The same id, under Graph's name."},
		{"UserPrincipalName", "Sign-in name as the tenant has it."},
		{"PrimaryEmail", "Primary SMTP address as the tenant has it."},
	},
	Errors: []Error{
		{FailureConflict, "A recipient with this sign-in name exists and differs.", "Correct the parameters, or delete the recipient."},
		{exchangeRecipientTask, "Another object has the name or the alias.", "Give another name or alias, or free it."},
		addressTaken,
		notAccepted,
		{FailureParameters, "ExternalEmail is one of the own addresses, or SecondaryEmails has an X500 address.", "Give the routing address of the source mailbox, and X500 addresses in X500Addresses."},
	},
	Permissions: exchangePermissions,
	Repeated: "Exchange reports that the name or an address is taken; the function reads the mail user of this sign-in name, compares it, and continues at the command that was not carried out. " +
		"If the user was renamed since, it fails and creates no second user.",
}

// TestExchangeMailUser reads a mail user back.
var TestExchangeMailUser = Function{
	Name: "Test-ExchangeMailUser",
	Description: "Checks that a mail user has what a mailbox move needs on its target: the ids of the source mailbox, its LegacyExchangeDN and X500 addresses, all SMTP addresses in accepted domains, " +
		"one of them in the target delivery domain, and an external address that is none of them. It checks an id or address only if you give it. Not complete until all is as expected, so that a step can poll.",
	Params: []Param{
		identity,
		exchangeGUID,
		archiveGUID,
		legacyExchangeDN,
		x500Addresses,
		{Name: "PrimaryEmail", Type: Email, Description: "The expected primary SMTP address."},
		{Name: "ExternalEmail", Type: Email, Description: "The expected external address."},
		{Name: "TargetDeliveryDomain", Type: Domain, Description: "TargetDeliveryDomain of the move, such as fabrikam.onmicrosoft.com."},
	},
	Result: []Field{
		{"complete", "Whether all is as expected."},
		{"reason", "If not: each difference, with the actual and the expected value."},
		{"data", "Identity, Match, and Checks: Name, Match, ExpectedValue and ActualValue of each."},
	},
	Errors:      []Error{noMailUser},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only. Exchange Online may show a change some minutes later.",
}

// SetExchangeMailUserHold prepares a mail user for a mailbox with a litigation hold.
var SetExchangeMailUserHold = Function{
	Name: "Set-ExchangeMailUserHold",
	Description: "Enables litigation hold for a mail user before its mailbox moves here, which raises the quota of the Recoverable Items folder to 100 GB. " +
		"For people whose source mailbox holds more than the usual 30 GB there. Not available in hybrid tenants. The mailbox keeps the hold after the move.",
	Params:      []Param{identity},
	Errors:      []Error{noMailUser},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing. Exchange documents no property of mail users that shows the hold, so the function does not read it back.",
}

// RemoveExchangeMailUser deletes a mail user.
var RemoveExchangeMailUser = Function{
	Name: "Remove-ExchangeMailUser",
	Description: "Deletes a mail user with its account, such as one that New-ExchangeMailUser created, for rollbacks and for people who leave a batch. " +
		"Fails if the user has a mailbox, which may have moved here, or is in a migration batch: remove the batch first. Succeeds if Exchange has no recipient with this id. " +
		"A real tenant keeps the deleted account for 30 days.",
	Params: []Param{{Name: "UserId", Type: GUID, Required: true, Description: "Object id of the user."}},
	Errors: []Error{
		{FailureConflict, "The recipient has a mailbox in this tenant, or is no mail user.", "Keep it, or correct UserId."},
		{FailureParameters, "UserId is missing.", "Correct the parameter."},
	},
	Permissions: exchangePermissions,
	Repeated:    "The function reads the recipient first, and succeeds if there is none once replication lag cannot be the reason.",
}
