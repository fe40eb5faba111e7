package catalog

// NewExchangeMailbox is carried out by package exchange, like the function after it.
var NewExchangeMailbox = Function{
	Name: "New-ExchangeMailbox",
	Description: "Creates a shared, room or equipment mailbox, with its user. If a mailbox with this primary address exists and has the same names and type, the function assumes that an " +
		"earlier attempt created it, adds the addresses that are missing, and succeeds; otherwise it fails. Mailboxes of people come with their licences. " +
		"Disable the sign-in of the user with Set-EntraUserEnabled.",
	Params: []Param{
		{Name: "Type", Type: OneOf("Shared", "Room", "Equipment"), Required: true, Description: "Type of the mailbox."},
		{Name: "DisplayName", Type: String, Required: true, Description: "Name shown in the address book."},
		{Name: "PrimaryEmail", Type: Email, Required: true, Description: "Primary SMTP address, in an accepted domain of the tenant."},
		{Name: "Alias", Type: String, Description: "Mail alias, unique in the tenant, which is also the recipient's name. Default: the part of PrimaryEmail before the @."},
		secondaryEmails,
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
		{FailureConflict, "A recipient with this address exists and differs.", "Correct the parameters, give another address, or delete the recipient."},
		addressTaken,
		notAccepted,
		{FailureParameters, "SecondaryEmails has an X500 address, or Type is unknown.", "Give X500 addresses in X500Addresses. Mailboxes of people come from Microsoft's move or a licence."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Exchange reports that the name or an address is taken; the function reads the mailbox of this address, compares it, and adds the addresses that are missing.",
}

// SetExchangeMailboxType converts a mailbox.
var SetExchangeMailboxType = Function{
	Name: "Set-ExchangeMailboxType",
	Description: "Converts a mailbox to one of a person, or to a shared, room or equipment mailbox. A mailbox of a person needs a licence; " +
		"one of another type needs one above 50 GB, with an archive or on hold: keep the licence then.",
	Params: []Param{
		mailboxIdentity,
		{Name: "Type", Type: OneOf("Regular", "Shared", "Room", "Equipment"), Required: true, Description: "The new type. Regular is the mailbox of a person."},
	},
	Errors:      []Error{noMailbox},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back.",
}
