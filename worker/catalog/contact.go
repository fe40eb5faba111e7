package catalog

var (
	contactEmail = Param{Name: "ExternalEmail", Type: Email, Required: true, Description: "Address outside of the tenant that the contact stands for."}
	contactName  = Param{Name: "Name", Type: String, Description: "Name of the contact, unique in the tenant, at most 64 characters. Default: ExternalEmail."}
)

// NewExchangeMailContact is carried out by package exchange, like the functions after it.
var NewExchangeMailContact = Function{
	Name: "New-ExchangeMailContact",
	Description: "Creates a mail contact, so that an address outside of the tenant is in its address lists: of a person who has left for the other tenant and has no account here any more. " +
		"If a contact with this address exists and has the same names, the function takes it for its own, sets the hidden flag, and succeeds. " +
		"If another recipient has the address, it fails. A mailbox or mail user with an account cannot become a contact: forward the mail of a mailbox with Set-ExchangeForwarding, " +
		"and say where the mail of a mail user goes with Set-ExchangeExternalAddress.",
	Params: []Param{
		{Name: "DisplayName", Type: String, Required: true, Description: "Name shown in the address book."},
		contactEmail,
		contactName,
		{Name: "Alias", Type: String, Description: "Mail alias, unique in the tenant. Default: ExternalEmail with a full stop instead of the @."},
		{Name: "Hidden", Type: Boolean, Description: "Whether the contact is missing from address lists. Default: false."},
	},
	Result: []Field{
		{"Id", "Exchange's GUID of the contact."},
		{"PrimaryEmail", "Primary SMTP address as the tenant has it, which is the external address."},
	},
	Permissions: exchangePermissions,
	Repeated: "The function looks for a recipient with this address first, and compares it. Of two jobs that create the contact at once, Exchange refuses one, " +
		"which then reads the contact of the other.",
}

// RemoveExchangeMailContact deletes a contact.
var RemoveExchangeMailContact = Function{
	Name: "Remove-ExchangeMailContact",
	Description: "Deletes the mail contact with an address, such as before a mail user gets that address. Succeeds if no recipient has the address. " +
		"If another recipient has it, or a contact of another name, the function fails.",
	Params:      []Param{contactEmail, contactName},
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
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only. Exchange Online may show a change some minutes later.",
}
