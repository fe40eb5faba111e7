package catalog

var identity = Param{Name: "Identity", Type: String, Required: true, Description: "Object id, sign-in name or address of the recipient."}

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
		{Name: "PrimaryEmail", Type: String, Required: true, Description: "The new primary SMTP address, in an accepted domain of the tenant."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing. No list of addresses is written, so none is lost to a read that is old; the change is read back, and the former primary address is added where it is missing.",
}

// AddExchangeSecondaryEmail adds an address to a recipient.
var AddExchangeSecondaryEmail = Function{
	Name:        "Add-ExchangeSecondaryEmail",
	Description: "Adds a secondary address to a mail user or mailbox. Nothing is done when the recipient has the address already.",
	Params: []Param{
		identity,
		{Name: "SecondaryEmail", Type: String, Required: true, Description: "The SMTP address to add."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Nothing is done when a read shows the address. What is added is read back.",
}

// SetExchangeExternalAddress sets where a mail user's mail goes.
var SetExchangeExternalAddress = Function{
	Name: "Set-ExchangeExternalAddress",
	Description: "Sets the address outside of the tenant that a mail user's mail goes to. The primary address stays as it is: where Exchange moves it along, it is set back. " +
		"Where the external address is set and also is the primary one, next to others, nobody can tell what the primary one was: that is refused unless PrimaryEmail says it.",
	Params: []Param{
		identity,
		{Name: "ExternalEmail", Type: String, Required: true, Description: "The external SMTP address."},
		{Name: "PrimaryEmail", Type: String, Description: "The address that has to be the primary one afterwards. The present one when not given."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing. Where an earlier run was cut off after Exchange had moved the primary address, the job is refused, or with PrimaryEmail sets it back.",
}

// SetExchangeMailUserGuids prepares a mail user for a mailbox move.
var SetExchangeMailUserGuids = Function{
	Name:        "Set-ExchangeMailUserGuids",
	Description: "Gives a mail user the mailbox ids of the source tenant, which a mailbox move needs to find the target.",
	Params: []Param{
		identity,
		{Name: "ExchangeGuid", Type: GUID, Required: true, Description: "ExchangeGuid of the source mailbox."},
		{Name: "ArchiveGuid", Type: GUID, Description: "ArchiveGuid of the source mailbox, when it has an archive."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back.",
}

// SetEntraProxyAddresses sets the addresses of a user. They are an attribute of
// the user in Entra, but Graph does not let them be written: they are Exchange's.
var SetEntraProxyAddresses = Function{
	Name: "Set-EntraProxyAddresses",
	Description: "Gives a user these SMTP addresses and no others. Addresses of other types, such as X500, stay unless they are given too. " +
		"proxyAddresses is read-only in Graph, so this goes through Exchange Online and needs a mail user or mailbox; Entra shows the change some minutes later.",
	Params: []Param{
		userID,
		{Name: "ProxyAddresses", Type: StringList, Required: true, Description: "The addresses. One is the primary one: that which begins with SMTP: in capitals, or else the one that is primary already. The others begin with smtp: or nothing."},
	},
	Permissions: exchangePermissions,
	Repeated:    "First the primary address is written, then the others are added and removed by what reads show, and the whole is read back. A run that was cut off is completed.",
}

// TestExchangeAttributeMatch compares an attribute of a recipient.
var TestExchangeAttributeMatch = Function{
	Name:        "Test-ExchangeAttributeMatch",
	Description: "Compares an attribute of a mail user, mailbox or other recipient with what is expected, without regard to case; lists are compared as sets. Not complete until they match, so that a step can poll for it.",
	Params: []Param{
		identity,
		{Name: "AttributeName", Type: String, Required: true, Description: "Name of the attribute as PowerShell prints it, such as EmailAddresses."},
		{Name: "ExpectedValue", Type: StringList, Description: "The expected value or values. The attribute is expected to be empty when not given."},
		{Name: "RecipientType", Type: OneOf("MailUser", "Mailbox", "Recipient"), Description: "What kind of recipient to read. Recipient, which has the fewest attributes, when not given."},
	},
	Result: []Field{
		{"complete", "Whether they match."},
		{"data", "Identity, AttributeName, Match, and ActualValue as the tenant has it."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Reads only. Exchange Online may show a change some minutes later.",
}

// TestExchangeGroupMembership tells whether a recipient is in a group.
var TestExchangeGroupMembership = Function{
	Name:        "Test-ExchangeGroupMembership",
	Description: "Tells whether a user is a direct member of a distribution list or mail-enabled security group. Not complete until it is as expected, so that a step can poll for it.",
	Params: []Param{
		{Name: "GroupIdentity", Type: String, Required: true, Description: "Object id, name or address of the group."},
		userID,
		{Name: "ExpectedMember", Type: Boolean, Description: "Whether the user should be a member. true when not given."},
	},
	Result: []Field{
		{"complete", "Whether it is as expected."},
		{"data", "UserId, GroupIdentity, IsMember."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Reads only. Exchange Online may show a change some minutes later.",
}
