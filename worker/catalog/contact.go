package catalog

var (
	contactEmail = Param{Name: "ExternalEmail", Type: Email, Required: true, Description: "Address outside of the tenant that the contact stands for."}
	contactName  = Param{Name: "Name", Type: String, Description: "Name of the contact, unique in the tenant, at most 64 characters. Default: ExternalEmail."}
)

// NewExchangeMailContact is carried out by package exchange, like the functions after it.
var NewExchangeMailContact = Function{
	Name: "New-ExchangeMailContact",
	Description: "Creates a mail contact, so that an address outside of the tenant is in its address lists: of a person who left for the other tenant and has no account here any more. " +
		"If a contact with this address exists and has the same names, the function takes it for its own, sets the hidden flag, and succeeds. " +
		"If another recipient has one of the addresses, it fails. A mailbox becomes a contact in steps, of which this is the last: check that no hold keeps it (Test-ExchangeMailboxHold), " +
		"take the sign-in name and the old addresses from it (Set-EntraUserUPN, Remove-ExchangeAddresses), then the licence (Remove-EntraUserLicense), and wait until it is gone (Test-ExchangeMailbox). " +
		"A licence within 30 days gives the mailbox back. Where the account stays in use, forward its mail with Set-ExchangeForwarding or, of a mail user, Set-ExchangeExternalAddress.",
	Params: []Param{
		{Name: "DisplayName", Type: String, Required: true, Description: "Name shown in the address book."},
		contactEmail,
		contactName,
		{Name: "Alias", Type: String, Description: "Mail alias, unique in the tenant. Default: ExternalEmail with a full stop instead of the @."},
		{Name: "Hidden", Type: Boolean, Description: "Whether the contact is missing from address lists. Default: false."},
		{Name: "SecondaryEmails", Type: StringList, Description: "Further SMTP addresses in accepted domains of the tenant, such as those of the mailbox before: mail to them goes to ExternalEmail."},
		legacyExchangeDN,
		x500Addresses,
	},
	Result: []Field{
		{"Id", "Exchange's GUID of the contact."},
		{"PrimaryEmail", "Primary SMTP address as the tenant has it, which is the external address."},
	},
	Errors: []Error{
		{FailureConflict, "Another recipient has an address, or the contact that has it differs.", "Free the address, or correct the names."},
		{exchangeRecipientTask, "Another recipient has the name or the alias.", "Give another one."},
		{FailureParameters, "A name is too long, an address is not valid, or SecondaryEmails has an X500 address.", "Correct the parameter."},
	},
	Permissions: exchangePermissions,
	Repeated: "The function looks for a recipient with this address first, compares it, and adds the addresses that are missing. Of two jobs that create the contact at once, Exchange refuses one, " +
		"which then reads the contact of the other.",
}

// RemoveExchangeMailContact deletes a contact.
var RemoveExchangeMailContact = Function{
	Name: "Remove-ExchangeMailContact",
	Description: "Deletes the mail contact with an address, such as before a mail user gets that address. Succeeds if no recipient has the address. " +
		"If another recipient has it, or a contact of another name, the function fails.",
	Params: []Param{contactEmail, contactName},
	Errors: []Error{
		{FailureConflict, "Another recipient, or a contact of another name, has the address.", "Correct ExternalEmail or Name."},
	},
	Permissions: exchangePermissions,
	Repeated:    "The function reads the contact first, and succeeds if there is none, once replication lag cannot be the reason.",
}

// TestExchangeMailContact reads a contact back.
var TestExchangeMailContact = Function{
	Name:        "Test-ExchangeMailContact",
	Description: "Checks a mail contact: its external address, and its names and hidden flag if you give them. Not complete until all is as expected, so that a step can poll.",
	Params: []Param{
		contactEmail,
		{Name: "DisplayName", Type: String, Description: "The expected name in the address book."},
		{Name: "Name", Type: String, Description: "The expected name of the contact."},
		{Name: "Hidden", Type: Boolean, Description: "Whether the contact should be missing from address lists."},
	},
	Result: []Field{
		{"complete", "Whether all is as expected."},
		{"reason", "If not: each difference, with the actual and the expected value."},
		{"data", "Identity, Match, and Checks: Name, Match, ExpectedValue and ActualValue of each."},
	},
	Errors: []Error{
		{exchangeNotFound, "No recipient has the address.", "Create the contact with New-ExchangeMailContact."},
		{FailureConflict, "The recipient with this address is no contact.", "Free the address."},
	},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only. Exchange Online may show a change some minutes later.",
}
