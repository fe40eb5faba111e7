package catalog

// SetExchangeAutomaticReplies is carried out by package exchange, like the functions after it.
var SetExchangeAutomaticReplies = Function{
	Name:        "Set-ExchangeAutomaticReplies",
	Description: "Turns on the automatic replies of a mailbox, at once or for a period, such as those that name the new address.",
	Params: []Param{
		mailboxIdentity,
		{Name: "InternalMessage", Type: String, Required: true, Description: "Reply to senders of the tenant, as text or HTML."},
		{Name: "ExternalMessage", Type: String, Description: "Reply to other senders. Default: InternalMessage."},
		{Name: "ExternalAudience", Type: OneOf("All", "Known", "None"), Description: "The other senders who get a reply: all, the contacts of the mailbox, or none. Default: All."},
		{Name: "StartTime", Type: String, Description: "Beginning of the period, such as 2026-03-01T18:00:00Z. Default: at once, until the replies are turned off."},
		{Name: "EndTime", Type: String, Description: "End of the period. Give it with StartTime."},
	},
	Errors: []Error{
		noMailbox,
		{FailureParameters, "One of StartTime and EndTime is missing, has no zone, or the end is not after the start; or ExternalAudience is unknown.", "Correct the parameter."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back. Messages are compared as text, since Exchange makes pages of them.",
}

// RemoveExchangeAutomaticReplies turns automatic replies off.
var RemoveExchangeAutomaticReplies = Function{
	Name:        "Remove-ExchangeAutomaticReplies",
	Description: "Turns off the automatic replies of a mailbox. Succeeds if they are off. The messages stay.",
	Params:      []Param{mailboxIdentity},
	Errors:      []Error{noMailbox},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back.",
}
