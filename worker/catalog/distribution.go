package catalog

var (
	groupIdentity   = Param{Name: "GroupIdentity", Type: String, Required: true, Description: "Object id, name or address of the distribution list or mail-enabled security group."}
	secondaryEmails = Param{Name: "SecondaryEmails", Type: StringList, Description: "Further SMTP addresses, in accepted domains of the tenant."}
)

// NewExchangeDistributionList is carried out by package exchange, like the functions after it.
var NewExchangeDistributionList = Function{
	Name: "New-ExchangeDistributionList",
	Description: "Creates a distribution list or mail-enabled security group. If one with this primary address exists and has the same names and type, the function assumes that an earlier " +
		"attempt created it, adds the addresses that are missing, and succeeds; otherwise it fails.",
	Params: []Param{
		{Name: "DisplayName", Type: String, Required: true, Description: "Name shown in the address book."},
		{Name: "PrimaryEmail", Type: Email, Required: true, Description: "Primary SMTP address, in an accepted domain of the tenant."},
		{Name: "Alias", Type: String, Description: "Mail alias, unique in the tenant, which is also the recipient's name. Default: the part of PrimaryEmail before the @."},
		{Name: "Type", Type: OneOf("Distribution", "Security"), Description: "Distribution list, or mail-enabled security group. Default: Distribution."},
		{Name: "Owners", Type: StringList, Description: "Object ids, sign-in names or addresses of the owners, who exist in the tenant."},
		{Name: "AllowExternalSenders", Type: Boolean, Description: "Whether senders of other organisations reach the group. Default: false."},
		secondaryEmails,
		legacyExchangeDN,
		x500Addresses,
	},
	Result: []Field{
		{"GroupId", "Object id of the group."},
		{"Id", "The same id, under Graph's name."},
		{"PrimaryEmail", "Primary SMTP address as the tenant has it."},
	},
	Errors: []Error{
		{FailureConflict, "A recipient with this address exists and differs.", "Correct the parameters, give another address, or delete the recipient."},
		addressTaken,
		{exchangeRecipientTask, "Another recipient has the name or the alias.", "Give another Alias."},
		{exchangeNotFound, "An owner does not exist.", "Correct Owners, or wait until Exchange shows the recipient."},
		notAccepted,
		{FailureParameters, "SecondaryEmails has an X500 address, or Type is unknown.", "Give X500 addresses in X500Addresses."},
	},
	Permissions: exchangePermissions,
	Repeated: "Exchange reports that the name or an address is taken; the function reads the group of this address, compares it, and adds the addresses that are missing. " +
		"It does not set the owners again.",
}

// GetExchangeGroup reads a group in the source.
var GetExchangeGroup = Function{
	Name: "Get-ExchangeGroup",
	Description: "Reads the names and addresses of a distribution list, mail-enabled security group or Microsoft 365 group. Run it in the source tenant; its outputs are parameters of New-ExchangeDistributionList, " +
		"or of Add-ExchangeSecondaryEmail for a group that exists in the target, where Domain leaves out addresses in other domains. Mail to the group's LegacyExchangeDN comes from replies to old mails.",
	Params: []Param{{Name: "Identity", Type: String, Required: true, Description: "Object id, name or address of the group."}},
	Result: []Field{
		{"GroupId", "Object id of the group."},
		{"DisplayName", "Name shown in the address book."},
		{"Alias", "Mail alias."},
		{"Type", "Distribution, Security or Microsoft365."},
		{"PrimaryEmail", "Primary SMTP address."},
		{"SecondaryEmails", "The other SMTP addresses."},
		{"LegacyExchangeDN", "Exchange's name of the group, which becomes an X500 address in the target."},
		{"X500Addresses", "X500 addresses of the group, which are those that older moves left."},
	},
	Errors: []Error{
		unknownRecipient,
		{FailureConflict, "The recipient is no group.", "Correct Identity, or read a mailbox with Get-ExchangeMailbox."},
	},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only.",
}

// AddExchangeGroupMember adds a recipient to a group.
var AddExchangeGroupMember = Function{
	Name:        "Add-ExchangeGroupMember",
	Description: "Adds a recipient to a distribution list or mail-enabled security group. Succeeds if it is already a member.",
	Params: []Param{
		groupIdentity,
		{Name: "Member", Type: String, Required: true, Description: "Object id, sign-in name or address of the recipient."},
	},
	Errors: []Error{
		{exchangeNotFound, "The group does not exist, or the member is no recipient.", "Correct the identity, or wait until Exchange shows the recipient."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Exchange reports that the recipient is a member, and the function succeeds.",
}

// RemoveExchangeGroupMember takes a recipient out of a group.
var RemoveExchangeGroupMember = Function{
	Name:        "Remove-ExchangeGroupMember",
	Description: "Removes a recipient from a distribution list or mail-enabled security group. Succeeds if it is not a member.",
	Params: []Param{
		groupIdentity,
		{Name: "Member", Type: String, Required: true, Description: "Object id, sign-in name or address of the recipient."},
	},
	Errors: []Error{
		{exchangeNotFound, "The group does not exist, or the member is no recipient.", "Correct the identity."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Exchange reports that the recipient is no member, and the function succeeds.",
}

// AddExchangeGroupOwner makes a recipient an owner of a group.
var AddExchangeGroupOwner = Function{
	Name:        "Add-ExchangeGroupOwner",
	Description: "Makes a recipient an owner of a distribution list or mail-enabled security group. Other owners stay.",
	Params: []Param{
		groupIdentity,
		{Name: "Owner", Type: String, Required: true, Description: "Object id, sign-in name or address of the owner."},
	},
	Errors: []Error{
		{exchangeNotFound, "The group does not exist, or the owner is no recipient.", "Correct the identity, or wait until Exchange shows the recipient."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back.",
}

// RemoveExchangeGroupOwner takes an owner from a group.
var RemoveExchangeGroupOwner = Function{
	Name:        "Remove-ExchangeGroupOwner",
	Description: "Removes an owner of a distribution list or mail-enabled security group. Succeeds if the recipient is no owner.",
	Params: []Param{
		groupIdentity,
		{Name: "Owner", Type: String, Required: true, Description: "Object id, sign-in name or address of the owner."},
	},
	Errors:      []Error{unknownList},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back.",
}

// TestExchangeGroupOwner tells whether a recipient owns a group.
var TestExchangeGroupOwner = Function{
	Name:        "Test-ExchangeGroupOwner",
	Description: "Checks whether a recipient is an owner of a distribution list or mail-enabled security group. Not complete until it is as expected, so that a step can poll.",
	Params: []Param{
		groupIdentity,
		{Name: "Owner", Type: String, Required: true, Description: "Object id, sign-in name or address of the recipient, who exists."},
		{Name: "ExpectedOwner", Type: Boolean, Description: "Whether the recipient should be an owner. Default: true."},
	},
	Result: []Field{
		{"complete", "Whether it is as expected."},
		{"reason", "If not: the actual and the expected ownership."},
		{"data", "GroupIdentity, Owner, ExpectedOwner, and IsOwner."},
	},
	Errors: []Error{
		{exchangeNotFound, "The group does not exist, or the owner is no recipient.", "Correct the identity, or wait until Exchange shows the recipient."},
		{FailureConflict, "Exchange prints an owner by a name that several recipients have.", "Give them different names."},
	},
	Permissions: exchangePermissions,
	ReadOnly:    true,
	Repeated:    "Reads only. Exchange Online may show a change some minutes later.",
}
