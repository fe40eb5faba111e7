package catalog

var mailboxIdentity = Param{Name: "Identity", Type: String, Required: true, Description: "Object id, sign-in name or address of the mailbox."}

// GetExchangeMailbox is carried out by package exchange, like the functions after it.
var GetExchangeMailbox = Function{
	Name: "Get-ExchangeMailbox",
	Description: "Reads what a mailbox has that its mail user in another tenant needs for the move: keep the fields with output_params, and give them to New-ExchangeMailUser there, or to Add-ExchangeSecondaryEmail for a mail user that exists. " +
		"Run it in the source tenant, before the move. Afterwards there is no mailbox.",
	Params: []Param{mailboxIdentity},
	Result: []Field{
		{"UserId", "Object id of the user."},
		{"PrimaryEmail", "Primary SMTP address."},
		{"RoutingEmail", "Address in an onmicrosoft.com domain, which stays when other domains leave the tenant: the ExternalEmail of the mail user. Null if there is none."},
		{"ExchangeGuid", "ExchangeGuid of the mailbox."},
		{"ArchiveGuid", "ArchiveGuid of the mailbox. Null without an archive."},
		{"SecondaryEmails", "All other SMTP addresses, also those in onmicrosoft.com domains: for Add-ExchangeSecondaryEmail with a Domain, once the target accepts it."},
		{"LegacyExchangeDN", "LegacyExchangeDN of the mailbox."},
		{"X500Addresses", "X500 addresses of the mailbox, which are those that older moves left."},
		{"Type", "Type of the mailbox, such as UserMailbox or SharedMailbox."},
	},
	Errors:      []Error{noMailbox},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only.",
}

// TestExchangeMailbox tells whether a recipient is a mailbox.
var TestExchangeMailbox = Function{
	Name: "Test-ExchangeMailbox",
	Description: "Checks that a recipient is a mailbox, such as once its licence is assigned, or that it is none any more, such as once the licence is removed. " +
		"Not complete until it is as expected, so that a step can poll.",
	Params: []Param{
		{Name: "Identity", Type: String, Required: true, Description: "Object id, sign-in name or address of the recipient, who may not exist."},
		{Name: "ExpectedMailbox", Type: Boolean, Description: "Whether the recipient should be a mailbox. Default: true."},
	},
	Result: []Field{
		{"complete", "Whether it is as expected."},
		{"reason", "If not: the actual and the expected type of the recipient."},
		{"data", "Identity, ExpectedMailbox, IsMailbox, and RecipientType, which is empty without a recipient."},
	},
	Errors: []Error{
		{exchangeAmbiguous, "Several recipients have the name.", "Give an object id or an address."},
	},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only. Exchange Online may show a change some minutes later.",
}

// SetExchangeHidden hides a recipient from address lists.
var SetExchangeHidden = Function{
	Name:        "Set-ExchangeHidden",
	Description: "Hides a mail user, mailbox or group from address lists, or shows it: also a Microsoft 365 group, which its members still see in Outlook.",
	Params: []Param{
		identity,
		{Name: "Hidden", Type: Boolean, Required: true, Description: "Whether address lists leave the recipient out."},
	},
	Errors:      []Error{unknownRecipient},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back.",
}

// SetExchangeForwarding forwards the mail of a mailbox.
var SetExchangeForwarding = Function{
	Name: "Set-ExchangeForwarding",
	Description: "Forwards the mail of a mailbox to an address, which can be outside of the tenant. Clears a forwarding to a recipient of the tenant, which would take precedence. " +
		"The outbound spam policy of the tenant can block forwarding to other organisations without an error here.",
	Params: []Param{
		mailboxIdentity,
		{Name: "ForwardTo", Type: Email, Required: true, Description: "SMTP address that mail is forwarded to."},
		{Name: "KeepCopy", Type: Boolean, Description: "Whether the mailbox keeps a copy. Default: true."},
	},
	Errors: []Error{
		noMailbox,
		{FailureParameters, "The address is not valid.", "Correct the parameter."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back.",
}

// RemoveExchangeForwarding ends the forwarding of a mailbox.
var RemoveExchangeForwarding = Function{
	Name:        "Remove-ExchangeForwarding",
	Description: "Ends the forwarding of a mailbox's mail, to an address or a recipient. Succeeds if there is none.",
	Params:      []Param{mailboxIdentity},
	Errors:      []Error{noMailbox},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back.",
}
