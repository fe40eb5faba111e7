package catalog

var userID = Param{Name: "UserId", Type: GUID, Required: true, Description: "Object id of the user."}

// NewEntraUser is carried out by package graph, like the functions after it.
var NewEntraUser = Function{
	Name: "New-EntraUser",
	Description: "Creates a user. If a user with this sign-in name exists and has all the given properties, the function assumes that " +
		"an earlier attempt created the user, and succeeds; otherwise it fails. Give an EmployeeId, so that it does not mistake " +
		"another person for the user.",
	Params: []Param{
		{Name: "DisplayName", Type: String, Required: true, Description: "Name shown in the address book."},
		{Name: "UserPrincipalName", Type: Email, Required: true, Description: "Sign-in name, in a verified domain of the tenant."},
		{Name: "MailNickname", Type: String, Description: "Mail alias. Default: the part of UserPrincipalName before the @."},
		{Name: "Password", Type: String, Description: "First password, which the user changes at the first sign-in. Default: a strong random one, which is not stored.", Secret: true},
		{Name: "AccountEnabled", Type: Boolean, Description: "Whether the user can sign in. Default: true."},
		{Name: "Mail", Type: Email, Description: "SMTP address."},
		{Name: "OtherMails", Type: StringList, Description: "Additional addresses."},
		{Name: "UsageLocation", Type: String, Description: "Two-letter country code, required before a licence is assigned."},
		{Name: "Department", Type: String, Description: "Department."},
		{Name: "JobTitle", Type: String, Description: "Job title."},
		{Name: "GivenName", Type: String, Description: "First name."},
		{Name: "Surname", Type: String, Description: "Last name."},
		{Name: "EmployeeId", Type: String, Description: "Employee id."},
	},
	Result: []Field{
		{"UserId", "Object id of the user."},
		{"Id", "The same id, under Graph's name."},
		{"UserPrincipalName", "Sign-in name as the tenant has it."},
	},
	Errors: []Error{
		{FailureConflict, "A user with this sign-in name exists and differs.", "Give another name, or correct the properties."},
		{FailureParameters, "A name or address is not valid.", "Correct the parameter."},
		{graphBadRequest, "Another user has the address or the nickname, the domain is not verified, or the country is unknown.", "Correct what the message names."},
	},
	Permissions: []string{"User.ReadWrite.All"},
	Repeated:    "The function accepts the existing user if it has all the given properties. If the user was renamed since, it fails and creates no second user; it recognises the user by mailNickname and creation time.",
}

// SetEntraUserUPN changes a user's sign-in name.
var SetEntraUserUPN = Function{
	Name:        "Set-EntraUserUPN",
	Description: "Changes a user's sign-in name.",
	Params: []Param{
		userID,
		{Name: "NewUserPrincipalName", Type: Email, Required: true, Description: "The new sign-in name, in a verified domain of the tenant."},
	},
	Errors: []Error{
		unknownUser,
		{graphBadRequest, "Another user has the name, or the domain is not verified.", "Free the name, or give one in a verified domain."},
	},
	Permissions: []string{"User.ReadWrite.All"},
	Repeated:    "The name is written again, which changes nothing. The function does not read it first, since a read may be out of date.",
}

// SetEntraUserEnabled lets a user sign in, or not.
var SetEntraUserEnabled = Function{
	Name:        "Set-EntraUserEnabled",
	Description: "Enables or disables the sign-in of a user. Open sessions end with their tokens, within about an hour.",
	Params: []Param{
		userID,
		{Name: "Enabled", Type: Boolean, Required: true, Description: "Whether the user can sign in."},
	},
	Errors:      []Error{unknownUser},
	Permissions: []string{"User.EnableDisableAccount.All", "User.Read.All"},
	Repeated:    "Written again, which changes nothing.",
}

// RemoveEntraUser deletes a user.
var RemoveEntraUser = Function{
	Name: "Remove-EntraUser",
	Description: "Deletes a user, whom an administrator can restore for 30 days. Succeeds if the user does not exist or is already deleted, " +
		"since a rollback may undo a step that did nothing. Give UserId; with Upn as well, only a user who still has this sign-in name is deleted. " +
		"With Upn alone, the user who has the name is deleted, also one whom the runbook did not create: do not use it so in the rollback of the step that creates the user, " +
		"which fails if the name is another person's. A user who was created after the job was sent is not deleted by the name.",
	Params: []Param{
		{Name: "UserId", Type: GUID, Description: "Object id of the user."},
		{Name: "Upn", Type: Email, Description: "Sign-in name that the user must have."},
	},
	Errors: []Error{
		{FailureParameters, "None of UserId and Upn is given.", "Give UserId, or both."},
	},
	Permissions: []string{"User.ReadWrite.All"},
	Repeated:    "With UserId, a deleted user is enough; the function looks for a missing user, or for one who has another name than Upn, until replication lag cannot be the reason. With Upn alone, it does not delete a user who got the name after the job was sent.",
}

// SendAdminAlert tells administrators something by mail.
var SendAdminAlert = Function{
	Name: "Send-AdminAlert",
	Description: "Sends a mail to administrators, from the mailbox in the worker's setting ALERT_FROM. Succeeds when Exchange Online has accepted the mail. " +
		"A retry, a lost response or a crash of the worker can send the mail twice. Copies have the same x-matoolkit-effect header and the same last line.",
	Params: []Param{
		{Name: "Subject", Type: String, Required: true, Description: "Subject of the mail."},
		{Name: "Body", Type: String, Description: "Text of the mail. Default: the subject."},
		{Name: "To", Type: StringList, Description: "Recipients: addresses of the worker's setting ALERT_TO, or in a domain of its setting MAIL_DOMAINS. Default: all of ALERT_TO."},
	},
	Errors: []Error{
		{FailureParameters, "A recipient is not an address, or none is given and ALERT_TO is empty.", "Correct the parameter."},
		{FailureNotConfigured, "ALERT_FROM is not set, or a recipient is neither in ALERT_TO nor in a domain of MAIL_DOMAINS.", "Set it at the worker, or give another recipient."},
	},
	Permissions: []string{"Mail.Send"},
	Repeated:    "A worker that still knows the job sends no second mail. A worker that was restarted, or received no response, sends a copy, which has the same x-matoolkit-effect header and last line.",
}

// AddEntraGroupMember adds a user to a group.
var AddEntraGroupMember = Function{
	Name:        "Add-EntraGroupMember",
	Description: "Adds a user to a security or Microsoft 365 group. Succeeds if the user is already a member. Graph refuses distribution lists and mail-enabled security groups, which belong to Exchange.",
	Params: []Param{
		{Name: "GroupId", Type: GUID, Required: true, Description: "Object id of the group."},
		userID,
	},
	Errors: []Error{
		{graphNotFound, "The user or the group does not exist.", "Correct the id, or wait until it exists."},
		mailEnabled,
	},
	Permissions: []string{"GroupMember.ReadWrite.All"},
	Repeated:    "Graph reports that the user is a member, and the function succeeds.",
}

// RemoveEntraGroupMember takes a user out of a group.
var RemoveEntraGroupMember = Function{
	Name:        "Remove-EntraGroupMember",
	Description: "Removes a user from a group. Succeeds if the user is not a member.",
	Params: []Param{
		{Name: "GroupId", Type: GUID, Required: true, Description: "Object id of the group."},
		userID,
	},
	Errors: []Error{
		{graphNotFound, "The user or the group does not exist.", "Correct the id."},
		mailEnabled,
	},
	Permissions: []string{"GroupMember.ReadWrite.All", "User.Read.All"},
	Repeated:    "Graph reports that the user is no member. The function succeeds once it has read the user, the group and its members; it repeats the reads until all three are visible.",
}

// TestEntraAttributeMatch compares an attribute of a user.
var TestEntraAttributeMatch = Function{
	Name:        "Test-EntraAttributeMatch",
	Description: "Compares an attribute of a user with the expected value, ignoring case; lists are compared as sets. Not complete until they match, so that a step can poll.",
	Params: []Param{
		{Name: "UserId", Type: String, Required: true, Description: "Object id or sign-in name of the user."},
		{Name: "AttributeName", Type: String, Required: true, Description: "Graph's name of the attribute, with dots for nested ones: onPremisesExtensionAttributes.extensionAttribute1."},
		{Name: "ExpectedValue", Type: StringList, Description: "The expected value or values. Default: the attribute is empty."},
	},
	Result: []Field{
		{"complete", "Whether they match."},
		{"reason", "If not: the actual and the expected value."},
		{"data", "UserId, AttributeName, Match, ExpectedValue, and ActualValue as the tenant has it."},
	},
	Errors: []Error{
		unknownUser,
		{graphBadQuery, "Users do not have the attribute.", "Give Graph's name of the attribute."},
	},
	Permissions: []string{"User.Read.All"},
	ReadOnly:    true,
	Repeated:    "Reads only.",
}

// TestEntraGroupMembership tells whether a user is in a group.
var TestEntraGroupMembership = Function{
	Name:        "Test-EntraGroupMembership",
	Description: "Checks whether a user is a member of a group, directly or through other groups. Not complete until the membership is as expected, so that a step can poll.",
	Params: []Param{
		{Name: "GroupId", Type: GUID, Required: true, Description: "Object id of the group."},
		userID,
		{Name: "ExpectedMember", Type: Boolean, Description: "Whether the user should be a member. Default: true."},
	},
	Result: []Field{
		{"complete", "Whether the membership is as expected."},
		{"reason", "If not: the actual and the expected membership."},
		{"data", "UserId, GroupId, ExpectedMember, and IsMember."},
	},
	Errors:      []Error{unknownUser},
	Permissions: []string{"GroupMember.Read.All", "User.Read.All"},
	ReadOnly:    true,
	Repeated:    "Reads only. Graph may show a change later.",
}

// NewEntraB2BInvitation lets an internal user sign in with an account of another
// organisation.
var NewEntraB2BInvitation = Function{
	Name: "New-EntraB2BInvitation",
	Description: "Invites an internal user to sign in with an account of another organisation. No mail is sent. The external address " +
		"becomes the user's mail first, as Graph requires. Succeeds if the user is already invited; fails for a user synchronised from on-premises.",
	Params: []Param{
		userID,
		{Name: "InvitedUserEmail", Type: Email, Required: true, Description: "Address of the account of the other organisation."},
		{Name: "InviteRedirectUrl", Type: String, Description: "Page that the user sees after accepting. Default: https://myapplications.microsoft.com."},
	},
	Errors: []Error{
		unknownUser,
		{FailureConflict, "The user is synchronised from on-premises, is invited under another address, or another user has the address.", "Give another address."},
		{FailureParameters, "The address is not valid.", "Correct the parameter."},
		{graphBadRequest, "Another user has the address.", "Give another address, or free it."},
	},
	Permissions: []string{"User.Invite.All", "User.ReadWrite.All"},
	Repeated:    "Succeeds if the user is already invited with this address. A job that ended between the change of the mail and the invitation continues there.",
}

// ConvertEntraB2BToInternal makes an external user an internal member.
var ConvertEntraB2BToInternal = Function{
	Name:        "Convert-EntraB2BToInternal",
	Description: "Converts a user who signs in with an account of another organisation to an internal member. Succeeds if the user is already internal, with this sign-in name.",
	Params: []Param{
		userID,
		{Name: "UserPrincipalName", Type: Email, Description: "The new sign-in name. Required for a user who is not synchronised from on-premises."},
		{Name: "Password", Type: String, Description: "First password, which the user changes at the first sign-in. Default with UserPrincipalName: a strong random one, which is not stored.", Secret: true},
		{Name: "Mail", Type: Email, Description: "The new SMTP address."},
	},
	Errors: []Error{
		unknownUser,
		{FailureConflict, "The user is already internal, with another name or address.", "Change them with Set-EntraUserUPN."},
		{graphBadAction, "UserPrincipalName is missing, or is not in a verified domain.", "Give a sign-in name in a verified domain."},
	},
	Permissions: []string{"User-ConvertToInternal.ReadWrite.All", "User.Read.All"},
	Repeated:    "Succeeds if the user is already internal, with this sign-in name and address. The first password stays.",
}

// TestEntraAddressAvailable tells whether an address is free.
var TestEntraAddressAvailable = Function{
	Name:        "Test-EntraAddressAvailable",
	Description: "Checks that no user has an address as sign-in name, and no user or group as one of its addresses. Not complete while one has it, so that a step can poll.",
	Params: []Param{
		{Name: "Address", Type: Email, Required: true, Description: "The address or sign-in name."},
		{Name: "UserId", Type: GUID, Description: "Object id of a user who may have the address. Default: no user may."},
	},
	Result: []Field{
		{"complete", "Whether the address is available."},
		{"reason", "If not: who has it."},
		{"data", "Address, ExpectedAvailable, Available, and Holder: the Id, Name and Kind (user or group) of the one who has it."},
	},
	Errors: []Error{
		{FailureParameters, "The address is not valid.", "Correct the parameter."},
	},
	Permissions: []string{"User.Read.All", "GroupMember.Read.All"},
	ReadOnly:    true,
	Repeated:    "Reads only. Graph may show a change later.",
}

// TestEntraDomainVerified tells whether the tenant can use the domain of an address.
var TestEntraDomainVerified = Function{
	Name:        "Test-EntraDomainVerified",
	Description: "Checks that the domain of an address is a verified domain of the tenant. Not complete until it is, so that a step can poll.",
	Params: []Param{
		{Name: "Address", Type: Email, Required: true, Description: "The address or sign-in name."},
	},
	Result: []Field{
		{"complete", "Whether the domain is verified."},
		{"reason", "If not: whether the tenant has the domain."},
		{"data", "Domain, ExpectedVerified, and Verified."},
	},
	Errors: []Error{
		{FailureParameters, "The address is not valid.", "Correct the parameter."},
	},
	Permissions: []string{"Domain.Read.All"},
	ReadOnly:    true,
	Repeated:    "Reads only.",
}

// TestEntraLicenseAvailable tells whether the tenant has unassigned licences.
var TestEntraLicenseAvailable = Function{
	Name:        "Test-EntraLicenseAvailable",
	Description: "Checks that the tenant has unassigned licences of a product. Not complete until it has enough, so that a step can poll. The function reserves none: each member of a batch sees the same licences.",
	Params: []Param{
		{Name: "SkuPartNumber", Type: String, Required: true, Description: "Part number of the product, such as SPE_E3."},
		{Name: "Units", Type: String, Description: "How many licences must be unassigned, such as the number of members of the batch. Default: 1."},
	},
	Result: []Field{
		{"complete", "Whether there are enough."},
		{"reason", "If not: how many the tenant has, and how many are assigned."},
		{"data", "SkuPartNumber, ExpectedAvailable, Enabled, Consumed, and Available."},
	},
	Errors: []Error{
		{FailureParameters, "Units is no whole number above 0.", "Correct the parameter."},
	},
	Permissions: []string{"LicenseAssignment.Read.All"},
	ReadOnly:    true,
	Repeated:    "Reads only. Graph may show a change later.",
}
