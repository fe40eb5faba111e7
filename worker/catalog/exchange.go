package catalog

var identity = Param{Name: "Identity", Type: String, Required: true, Description: "Object id, sign-in name or address of the recipient."}

// exchangePermissions: the permission without the directory role is answered
// with 403, neither of them with 401.
var exchangePermissions = []string{"Exchange.ManageAsApp", "directory role Exchange Recipient Administrator"}

// SetExchangePrimaryEmail is carried out by package exchange, like the functions
// after it.
var SetExchangePrimaryEmail = Function{
	Name:        "Set-ExchangePrimaryEmail",
	Description: "Makes an address the primary one of a mail user, mailbox or group: a distribution list, mail-enabled security group or Microsoft 365 group. The old primary address stays as a secondary one.",
	Params: []Param{
		identity,
		{Name: "PrimaryEmail", Type: Email, Required: true, Description: "The new primary SMTP address, in an accepted domain of the tenant."},
	},
	Errors: []Error{
		unknownRecipient,
		addressTaken,
		notAccepted,
		{FailureParameters, "The address is not valid.", "Correct the parameter."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing. The function writes no list of addresses, so an outdated read loses none; it reads the change back and adds the former primary address if it is missing.",
}

// SetExchangeExternalAddress sets where a mail user's mail goes.
var SetExchangeExternalAddress = Function{
	Name: "Set-ExchangeExternalAddress",
	Description: "Sets the address outside of the tenant that a mail user's mail goes to. If Exchange changes the primary address with it, the function restores it. " +
		"If the external address is already set and is also the primary one, beside others, the former primary address is unknown: the function fails unless you give PrimaryEmail.",
	Params: []Param{
		identity,
		{Name: "ExternalEmail", Type: Email, Required: true, Description: "The external SMTP address."},
		{Name: "PrimaryEmail", Type: Email, Description: "The primary address afterwards. Default: the present one."},
	},
	Errors: []Error{
		noMailUser,
		{FailureParameters, "The address is not valid.", "Correct the parameter."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing. If an earlier run was interrupted after Exchange had changed the primary address, the function fails or, with PrimaryEmail, restores it.",
}

// SetExchangeMailUserGuids prepares a mail user for a mailbox move.
var SetExchangeMailUserGuids = Function{
	Name:        "Set-ExchangeMailUserGuids",
	Description: "Sets the mailbox ids of the source tenant on a mail user. A mailbox move needs them to find the target.",
	Params: []Param{
		identity,
		{Name: "ExchangeGuid", Type: GUID, Required: true, Description: "ExchangeGuid of the source mailbox."},
		{Name: "ArchiveGuid", Type: GUID, Description: "ArchiveGuid of the source mailbox, when it has an archive."},
	},
	Errors: []Error{
		noMailUser,
		{exchangeRecipientTask, "Another recipient has the id.", "Find that recipient, and correct the id or delete the recipient."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back.",
}

// SetEntraProxyAddresses sets the addresses of a user or group. They are an attribute of
// the object in Entra, but Graph does not let them be written: they are Exchange's.
var SetEntraProxyAddresses = Function{
	Name: "Set-EntraProxyAddresses",
	Description: "Replaces all SMTP addresses of a user or group. Addresses of other types, such as X500, stay unless you give some. " +
		"proxyAddresses is read-only in Graph, so this goes through Exchange Online and needs a mail user, mailbox, or group of Exchange; Entra shows the change some minutes later.",
	Params: []Param{
		{Name: "UserId", Type: GUID, Required: true, Description: "Object id of the user or group."},
		{Name: "ProxyAddresses", Type: StringList, Required: true, Description: "The addresses. The one with the prefix SMTP: in capitals is the primary address; without one, the present primary address stays. The others have the prefix smtp: or none."},
	},
	Errors: []Error{
		unknownRecipient,
		addressTaken,
		{exchangeInvalid, "Exchange takes an address for no SMTP address.", "Correct the address."},
		{FailureParameters, "ProxyAddresses has two primary addresses, or none.", "Write exactly one address with SMTP: in capitals."},
	},
	Permissions: exchangePermissions,
	Repeated:    "The function writes the primary address, adds and removes the others by comparing them with a read, and reads the result back. It completes an interrupted run.",
}

// TestExchangeAttributeMatch compares an attribute of a recipient.
var TestExchangeAttributeMatch = Function{
	Name:        "Test-ExchangeAttributeMatch",
	Description: "Compares an attribute of a mail user, mailbox or other recipient with the expected value, ignoring case; lists are compared as sets. Not complete until they match, so that a step can poll.",
	Params: []Param{
		identity,
		{Name: "AttributeName", Type: String, Required: true, Description: "Name of the attribute as PowerShell prints it, such as EmailAddresses."},
		{Name: "ExpectedValue", Type: StringList, Description: "The expected value or values. Default: the attribute is empty."},
		{Name: "RecipientType", Type: OneOf("MailUser", "Mailbox", "Recipient"), Description: "The kind of recipient to read. Default: Recipient, which has the fewest attributes."},
	},
	Result: []Field{
		{"complete", "Whether they match."},
		{"reason", "If not: the actual and the expected value."},
		{"data", "Identity, AttributeName, Match, ExpectedValue, and ActualValue as the tenant has it."},
	},
	Errors: []Error{
		unknownRecipient,
		{FailureParameters, "The recipient does not have the attribute, or the kind is unknown.", "Give the name as PowerShell prints it."},
	},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only. Exchange Online may show a change some minutes later.",
}

// TestExchangeGroupMembership tells whether a recipient is in a group.
var TestExchangeGroupMembership = Function{
	Name:        "Test-ExchangeGroupMembership",
	Description: "Checks whether a user is a direct member of a distribution list or mail-enabled security group. Not complete until the membership is as expected, so that a step can poll.",
	Params: []Param{
		{Name: "GroupIdentity", Type: String, Required: true, Description: "Object id, name or address of the group."},
		userID,
		{Name: "ExpectedMember", Type: Boolean, Description: "Whether the user should be a member. Default: true."},
	},
	Result: []Field{
		{"complete", "Whether the membership is as expected."},
		{"reason", "If not: the actual and the expected membership."},
		{"data", "UserId, GroupIdentity, ExpectedMember, and IsMember."},
	},
	Errors:      []Error{unknownList},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only. Exchange Online may show a change some minutes later.",
}
