package catalog

var identity = Param{"Identity", String, true, "Object id, sign-in name or address of the recipient."}

// exchangePermissions: the permission without the directory role is answered
// with 403, neither of them with 401.
var exchangePermissions = []string{"Exchange.ManageAsApp", "directory role Exchange Recipient Administrator"}

// SetExchangePrimaryEmail is carried out by package exchange, like the functions
// after it.
var SetExchangePrimaryEmail = Function{
	Name:        "Set-ExchangePrimaryEmail",
	Description: "Makes an address the primary one of a mail user or mailbox. The old primary address stays as a secondary one.",
	Params: []Param{
		identity,
		{"PrimaryEmail", String, true, "The new primary SMTP address, in an accepted domain of the tenant."},
	},
	Permissions: exchangePermissions,
}

// AddExchangeSecondaryEmail adds an address to a recipient.
var AddExchangeSecondaryEmail = Function{
	Name:        "Add-ExchangeSecondaryEmail",
	Description: "Adds a secondary address to a mail user or mailbox. Nothing is done when the recipient has the address already.",
	Params: []Param{
		identity,
		{"SecondaryEmail", String, true, "The SMTP address to add."},
	},
	Permissions: exchangePermissions,
}

// SetExchangeExternalAddress sets where a mail user's mail goes.
var SetExchangeExternalAddress = Function{
	Name:        "Set-ExchangeExternalAddress",
	Description: "Sets the address outside of the tenant that a mail user's mail goes to. The primary address stays as it is.",
	Params: []Param{
		identity,
		{"ExternalEmail", String, true, "The external SMTP address."},
	},
	Permissions: exchangePermissions,
}

// SetExchangeMailUserGuids prepares a mail user for a mailbox move.
var SetExchangeMailUserGuids = Function{
	Name:        "Set-ExchangeMailUserGuids",
	Description: "Gives a mail user the mailbox ids of the source tenant, which a mailbox move needs to find the target.",
	Params: []Param{
		identity,
		{"ExchangeGuid", GUID, true, "ExchangeGuid of the source mailbox."},
		{"ArchiveGuid", GUID, false, "ArchiveGuid of the source mailbox, when it has an archive."},
	},
	Permissions: exchangePermissions,
}

// TestExchangeAttributeMatch compares an attribute of a recipient.
var TestExchangeAttributeMatch = Function{
	Name:        "Test-ExchangeAttributeMatch",
	Description: "Compares an attribute of a mail user, mailbox or other recipient with what is expected, without regard to case; lists are compared as sets. Not complete until they match, so that a step can poll for it.",
	Params: []Param{
		identity,
		{"AttributeName", String, true, "Name of the attribute as PowerShell prints it, such as EmailAddresses."},
		{"ExpectedValue", StringList, false, "The expected value or values. The attribute is expected to be empty when not given."},
		{"RecipientType", String, false, "MailUser, Mailbox or Recipient, which is what is asked for when not given and has the fewest attributes."},
	},
	Result: []Field{
		{"complete", "Whether they match."},
		{"data", "Identity, AttributeName, Match, and ActualValue as the tenant has it."},
	},
	Permissions: exchangePermissions,
}

// TestExchangeGroupMembership tells whether a recipient is in a group.
var TestExchangeGroupMembership = Function{
	Name:        "Test-ExchangeGroupMembership",
	Description: "Tells whether a user is a direct member of a distribution list or mail-enabled security group. Not complete until it is as expected, so that a step can poll for it.",
	Params: []Param{
		{"GroupIdentity", String, true, "Object id, name or address of the group."},
		userID,
		{"ExpectedMember", Boolean, false, "Whether the user should be a member. true when not given."},
	},
	Result: []Field{
		{"complete", "Whether it is as expected."},
		{"data", "UserId, GroupIdentity, IsMember."},
	},
	Permissions: exchangePermissions,
}
