package catalog

// TestExchangeMailboxHold reports the holds of a mailbox. Package exchange implements it.
var TestExchangeMailboxHold = Function{
	Name: "Test-ExchangeMailboxHold",
	Description: "Checks that no hold keeps the content of a mailbox: litigation hold, retention policies of the mailbox and of the organisation, eDiscovery holds, retention labels, " +
		"and the delay holds that follow a removed hold. Policies that only delete do not count, nor do policies that exclude the mailbox. Not complete until it is as expected, so that a step can poll.",
	Params: []Param{
		mailboxIdentity,
		{Name: "ExpectedHeld", Type: Boolean, Description: "Whether the mailbox should be on hold. Default: false."},
	},
	Result: []Field{
		{"complete", "Whether it is as expected."},
		{"reason", "If not: the actual holds and the expected state."},
		{"data", "Identity, ExpectedHeld, Held, and Holds: the Kind and Id of each."},
	},
	Errors:      []Error{noMailbox},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only. Exchange Online may show a change some minutes later.",
}
