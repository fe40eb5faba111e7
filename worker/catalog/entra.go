package catalog

var userID = Param{Name: "UserId", Type: GUID, Required: true, Description: "Object id of the user."}

// NewEntraUser is carried out by package graph, like the functions after it.
var NewEntraUser = Function{
	Name: "New-EntraUser",
	Description: "Creates a user. When a user of that name exists, it is accepted if it has all the given properties, " +
		"since then an earlier delivery of the job, or an earlier attempt, is taken to have made it, and refused otherwise. " +
		"Somebody who was there before with all these properties is accepted as well: the more of them a step gives, an EmployeeId above all, the surer it is.",
	Params: []Param{
		{Name: "DisplayName", Type: String, Required: true, Description: "Name shown in the address book."},
		{Name: "UserPrincipalName", Type: String, Required: true, Description: "Sign-in name, in a verified domain of the tenant."},
		{Name: "MailNickname", Type: String, Description: "Mail alias. The part of UserPrincipalName before the @ when not given."},
		{Name: "Password", Type: String, Description: "First password, to be changed at the first sign-in. A strong random one, which is not kept anywhere, when not given.", Secret: true},
		{Name: "AccountEnabled", Type: Boolean, Description: "Whether the user can sign in. true when not given."},
		{Name: "Mail", Type: String, Description: "SMTP address."},
		{Name: "OtherMails", Type: StringList, Description: "Further addresses."},
		{Name: "UsageLocation", Type: String, Description: "Two-letter country code, needed before a licence is assigned."},
		{Name: "Department", Type: String, Description: "Department."},
		{Name: "JobTitle", Type: String, Description: "Job title."},
		{Name: "GivenName", Type: String, Description: "First name."},
		{Name: "Surname", Type: String, Description: "Last name."},
		{Name: "EmployeeId", Type: String, Description: "Employee id."},
	},
	Result: []Field{
		{"UserId", "Object id of the user."},
		{"Id", "The same, under Graph's name."},
		{"UserPrincipalName", "Sign-in name as the tenant has it."},
	},
	Permissions: []string{"User.ReadWrite.All"},
	Repeated:    "The user that is there is accepted, if it has all the given properties. Where it was renamed since, the repeated job is refused and makes no second user; this is known by the mailNickname and by when the user was made.",
}

// SetEntraUserUPN changes a user's sign-in name.
var SetEntraUserUPN = Function{
	Name:        "Set-EntraUserUPN",
	Description: "Changes a user's sign-in name.",
	Params: []Param{
		userID,
		{Name: "NewUserPrincipalName", Type: String, Required: true, Description: "The new sign-in name, in a verified domain of the tenant."},
	},
	Permissions: []string{"User.ReadWrite.All"},
	Repeated:    "The name is written again, which changes nothing. It is not read first: a read may be older than what another job has just changed.",
}

// SetEntraUserEnabled lets a user sign in, or not.
var SetEntraUserEnabled = Function{
	Name:        "Set-EntraUserEnabled",
	Description: "Lets a user sign in, or bars the user from it. Sessions that are open end with their tokens, within about an hour.",
	Params: []Param{
		userID,
		{Name: "Enabled", Type: Boolean, Required: true, Description: "Whether the user can sign in."},
	},
	Permissions: []string{"User.EnableDisableAccount.All", "User.Read.All"},
	Repeated:    "Written again, which changes nothing.",
}

// RemoveEntraUser deletes a user.
var RemoveEntraUser = Function{
	Name: "Remove-EntraUser",
	Description: "Deletes a user, whom an administrator can restore for 30 days. A user who is deleted already is left as is, and so is one who " +
		"never was: what a rollback undoes may not have been done. One of UserId and Upn is to be given. By sign-in name, a redelivered job spares a user who was made after the job.",
	Params: []Param{
		{Name: "UserId", Type: GUID, Description: "Object id of the user."},
		{Name: "Upn", Type: String, Description: "Sign-in name of the user, for rollbacks of a step that made the user and did not get to tell the id."},
	},
	Permissions: []string{"User.ReadWrite.All"},
	Repeated:    "By object id, a user among the deleted ones is enough; a user who is nowhere is looked for until replication lag can no longer be the reason. By sign-in name, somebody who got the name after the job was sent is spared.",
}

// SendAdminAlert tells administrators something by mail.
var SendAdminAlert = Function{
	Name: "Send-AdminAlert",
	Description: "Sends a mail to administrators, from the mailbox that the worker's setting ALERT_FROM names. It is true once Exchange Online has accepted the mail. " +
		"Sending cannot be made repeatable: where an answer was lost, or the worker ended between sending and answering, the mail comes twice. " +
		"The same goes for a step that is retried. All of them have the same x-matoolkit-effect header and the same last line.",
	Params: []Param{
		{Name: "Subject", Type: String, Required: true, Description: "Subject of the mail."},
		{Name: "Body", Type: String, Description: "Text of the mail. The subject when not given."},
		{Name: "To", Type: StringList, Description: "Addresses to send to. Those of the worker's setting ALERT_TO when not given."},
	},
	Permissions: []string{"Mail.Send"},
	Repeated:    "While the worker remembers the job, no second mail is sent. A worker that was restarted in between, or that got no answer, sends it again: a copy, to be known by its x-matoolkit-effect header and its last line. True says that Exchange Online accepted the mail, not that it arrived.",
}

// AddEntraGroupMember adds a user to a group.
var AddEntraGroupMember = Function{
	Name:        "Add-EntraGroupMember",
	Description: "Adds a user to a security or Microsoft 365 group. A user who is a member already is left as is. Distribution lists and mail-enabled security groups belong to Exchange and are refused by Graph.",
	Params: []Param{
		{Name: "GroupId", Type: GUID, Required: true, Description: "Object id of the group."},
		userID,
	},
	Permissions: []string{"GroupMember.ReadWrite.All"},
	Repeated:    "Graph says that the user is a member, and that is the answer.",
}

// RemoveEntraGroupMember takes a user out of a group.
var RemoveEntraGroupMember = Function{
	Name:        "Remove-EntraGroupMember",
	Description: "Takes a user out of a group. A user who is not a member is left as is.",
	Params: []Param{
		{Name: "GroupId", Type: GUID, Required: true, Description: "Object id of the group."},
		userID,
	},
	Permissions: []string{"GroupMember.ReadWrite.All", "User.Read.All"},
	Repeated:    "Graph says that there is no such member. That is believed once user, group and the list of members have been read, and asked for again while one of them is not visible.",
}

// TestEntraAttributeMatch compares an attribute of a user.
var TestEntraAttributeMatch = Function{
	Name:        "Test-EntraAttributeMatch",
	Description: "Compares an attribute of a user with what is expected, without regard to case; lists are compared as sets. Not complete until they match, so that a step can poll for it.",
	Params: []Param{
		{Name: "UserId", Type: String, Required: true, Description: "Object id or sign-in name of the user."},
		{Name: "AttributeName", Type: String, Required: true, Description: "Graph's name of the attribute, with dots for what is inside of others: onPremisesExtensionAttributes.extensionAttribute1."},
		{Name: "ExpectedValue", Type: StringList, Description: "The expected value or values. The attribute is expected to be empty when not given."},
	},
	Result: []Field{
		{"complete", "Whether they match."},
		{"data", "UserId, AttributeName, Match, and ActualValue as the tenant has it."},
	},
	Permissions: []string{"User.Read.All"},
	Repeated:    "Reads only.",
}

// TestEntraGroupMembership tells whether a user is in a group.
var TestEntraGroupMembership = Function{
	Name:        "Test-EntraGroupMembership",
	Description: "Tells whether a user is a member of a group, directly or through other groups. Not complete until it is as expected, so that a step can poll for it.",
	Params: []Param{
		{Name: "GroupId", Type: GUID, Required: true, Description: "Object id of the group."},
		userID,
		{Name: "ExpectedMember", Type: Boolean, Description: "Whether the user should be a member. true when not given."},
	},
	Result: []Field{
		{"complete", "Whether it is as expected."},
		{"data", "UserId, GroupId, IsMember."},
	},
	Permissions: []string{"GroupMember.Read.All", "User.Read.All"},
	Repeated:    "Reads only. Graph may show a change some time later.",
}

// NewEntraB2BInvitation lets an internal user sign in with an account of another
// organisation.
var NewEntraB2BInvitation = Function{
	Name: "New-EntraB2BInvitation",
	Description: "Invites an internal user to sign in with an account of another organisation. No mail is sent. The external address " +
		"becomes the user's mail first, as Graph demands. A user who is invited already is left as is; a user synchronised from on-premises is refused.",
	Params: []Param{
		userID,
		{Name: "InvitedUserEmail", Type: String, Required: true, Description: "Address of the account of the other organisation."},
		{Name: "InviteRedirectUrl", Type: String, Description: "Where the user gets to after accepting. https://myapplications.microsoft.com when not given."},
	},
	Permissions: []string{"User.Invite.All", "User.ReadWrite.All"},
	Repeated:    "A user who is invited under the address already is left as is. Between the change of the mail and the invitation the job can be taken up again.",
}

// ConvertEntraB2BToInternal makes an external user an internal member.
var ConvertEntraB2BToInternal = Function{
	Name:        "Convert-EntraB2BToInternal",
	Description: "Makes a user who signs in with an account of another organisation an internal member. A user who is internal already, under the name asked for, is left as is.",
	Params: []Param{
		userID,
		{Name: "UserPrincipalName", Type: String, Description: "The new sign-in name. To be given for every user who is not synchronised from on-premises."},
		{Name: "Password", Type: String, Description: "First password, to be changed at the first sign-in. A strong random one, which is not kept anywhere, when a UserPrincipalName is given without one.", Secret: true},
		{Name: "Mail", Type: String, Description: "The new SMTP address."},
	},
	Permissions: []string{"User-ConvertToInternal.ReadWrite.All", "User.Read.All"},
	Repeated:    "A user who is internal already, with the name and the address asked for, is left as is. The password of the first time stays.",
}
