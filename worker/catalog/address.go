package catalog

// addressDomain keeps addresses out that the tenant does not accept.
var addressDomain = Param{
	Name: "Domain", Type: Domain,
	Description: "Domain of the SMTP addresses that count: those in other domains, such as onmicrosoft.com addresses of the source tenant, are left out. Default: all count.",
}

// AddExchangeSecondaryEmail adds addresses to a recipient. Package exchange carries it out, like the functions after it.
var AddExchangeSecondaryEmail = Function{
	Name: "Add-ExchangeSecondaryEmail",
	Description: "Adds secondary addresses to a mail user, mailbox or group: a distribution list, mail-enabled security group or Microsoft 365 group. " +
		"They can be X500 addresses, such as those that Get-ExchangeMailbox read in the source, so that replies to old mails arrive. Succeeds if the recipient already has the addresses, and if there are none to add.",
	Params: []Param{
		identity,
		{Name: "SecondaryEmail", Type: Email, Description: "The SMTP address to add."},
		secondaryEmails,
		addressDomain,
		legacyExchangeDN,
		x500Addresses,
	},
	Errors: []Error{
		unknownRecipient,
		addressTaken,
		notAccepted,
		{FailureParameters, "An address is not valid, or SecondaryEmails has an X500 address.", "Correct it, or give X500 addresses in X500Addresses."},
	},
	Permissions: exchangePermissions,
	Repeated:    "The function adds only addresses that a read does not show, and reads them back.",
}

// RemoveExchangeAddresses takes addresses from a recipient.
var RemoveExchangeAddresses = Function{
	Name: "Remove-ExchangeAddresses",
	Description: "Removes single addresses, or all SMTP addresses in a domain so that the domain can leave the tenant, from a mail user, mailbox or group. Succeeds if the recipient has none of them. " +
		"The primary address cannot be removed: another one becomes the primary address first, which is PrimaryEmail or, for a domain, the address in an onmicrosoft.com domain. " +
		"Fails while the sign-in name is one of the addresses or in the domain: change it with Set-EntraUserUPN. " +
		"Addresses of other types, such as SIP, follow the sign-in name. A Microsoft 365 group keeps an address in onmicrosoft.com.",
	Params: []Param{
		{Name: "Identity", Type: String, Required: true, Description: "Object id of the recipient, or an address that stays."},
		{Name: "Domain", Type: Domain, Description: "The domain whose addresses are removed."},
		{Name: "Addresses", Type: StringList, Description: "The addresses to remove: SMTP addresses, and others with their type, such as x500:/o=old/cn=ada. Give them or Domain, or both."},
		{Name: "PrimaryEmail", Type: Email, Description: "The primary address afterwards. Default: the present one or, if that is in the domain, the address in an onmicrosoft.com domain."},
	},
	Errors: []Error{
		unknownRecipient,
		{FailureConflict, "A primary address, a sign-in name or the address in the initial domain would be removed.", "Give PrimaryEmail, change the sign-in name with Set-EntraUserUPN, or leave the onmicrosoft.com domain alone."},
		{FailureParameters, "An address is not valid, or Identity or PrimaryEmail is one of those that are removed.", "Give an object id, or another address."},
	},
	Permissions: exchangePermissions,
	Repeated:    "The function removes the addresses that are still there, and reads until there are none. It completes an interrupted run.",
}

// TestExchangeAddresses compares the addresses of a recipient.
var TestExchangeAddresses = Function{
	Name: "Test-ExchangeAddresses",
	Description: "Checks the addresses of a mail user, mailbox, group or contact: the primary one, those that it must have beside others, and those that it must not have any more. " +
		"It takes the parameters of Add-ExchangeSecondaryEmail, and, with the prefix Removed, those of Remove-ExchangeAddresses, and checks what you give. Not complete until all is as expected, so that a step can poll.",
	Params: []Param{
		identity,
		{Name: "PrimaryEmail", Type: Email, Description: "The expected primary SMTP address."},
		{Name: "SecondaryEmails", Type: StringList, Description: "SMTP addresses that the recipient must have. One of them may be the primary address."},
		addressDomain,
		legacyExchangeDN,
		x500Addresses,
		{Name: "RemovedAddresses", Type: StringList, Description: "Addresses that the recipient must not have, with their types unless they are SMTP addresses."},
		{Name: "RemovedDomain", Type: Domain, Description: "Domain in which the recipient must have no SMTP address."},
	},
	Result: []Field{
		{"complete", "Whether all is as expected."},
		{"reason", "If not: each difference, with the actual and the expected addresses."},
		{"data", "Identity, Match, and Checks: Name, Match, ExpectedValue and ActualValue of each."},
	},
	Errors: []Error{
		unknownRecipient,
		{FailureParameters, "An address is not valid, or SecondaryEmails has an X500 address.", "Correct it, or give X500 addresses in X500Addresses."},
	},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only. Exchange Online may show a change some minutes later.",
}
