package catalog

var mailboxIdentity = Param{Name: "Identity", Type: String, Required: true, Description: "Object id, sign-in name or address of the mailbox."}

// SetExchangeHidden is carried out by package exchange, like the functions after it.
var SetExchangeHidden = Function{
	Name:        "Set-ExchangeHidden",
	Description: "Hides a mail user, mailbox, distribution list or mail-enabled security group from address lists, or shows it.",
	Params: []Param{
		identity,
		{Name: "Hidden", Type: Boolean, Required: true, Description: "Whether address lists leave the recipient out."},
	},
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
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back.",
}

// RemoveExchangeForwarding ends the forwarding of a mailbox.
var RemoveExchangeForwarding = Function{
	Name:        "Remove-ExchangeForwarding",
	Description: "Ends the forwarding of a mailbox's mail, to an address or a recipient. Succeeds if there is none.",
	Params:      []Param{mailboxIdentity},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back.",
}
