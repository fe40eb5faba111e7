package catalog

var groupID = Param{Name: "GroupId", Type: GUID, Required: true, Description: "Object id of the security or Microsoft 365 group."}

// NewEntraGroup is carried out by package groups, like the functions after it.
var NewEntraGroup = Function{
	Name: "New-EntraGroup",
	Description: "Creates a Microsoft 365 group or a security group. If one group with this mailNickname exists and has all the given properties, the function assumes that an earlier " +
		"attempt created it, and succeeds; otherwise it fails. Exchange shows a Microsoft 365 group some time after Entra ID, with an address of its mailNickname, which Set-ExchangePrimaryEmail changes. " +
		"A distribution list or mail-enabled security group is created with New-ExchangeDistributionList.",
	Params: []Param{
		{Name: "DisplayName", Type: String, Required: true, Description: "Name shown in the address book."},
		{Name: "MailNickname", Type: String, Required: true, Description: "Mail alias, which no other group of the tenant has, at most 64 characters of ASCII, without @ ( ) \\ [ ] \" ; : < > , and spaces."},
		{Name: "Type", Type: OneOf("Microsoft365", "Security"), Description: "Microsoft 365 group, or security group without mail. Default: Microsoft365."},
		{Name: "Description", Type: String, Description: "Description."},
		{Name: "Visibility", Type: OneOf("Private", "Public", "HiddenMembership"), Description: "Who may join and see the content of a Microsoft 365 group. HiddenMembership also hides the members, and cannot be set later. Default: Private."},
		{Name: "Owners", Type: StringList, Description: "Object ids of users who own the group. Teams expects owners to be members, too: give them in Members as well. The last owner of a group cannot be removed."},
		{Name: "Members", Type: StringList, Description: "Object ids of users who are members. Graph takes 20 owners and members at the creation; add others with Add-EntraGroupMember."},
	},
	Result: []Field{
		{"GroupId", "Object id of the group."},
		{"Id", "The same id, under Graph's name."},
		{"MailNickname", "Mail alias as the tenant has it."},
	},
	Errors: []Error{
		{FailureConflict, "A group with this mailNickname exists and differs, or several have it.", "Give another MailNickname, or delete the group."},
		{FailureParameters, "MailNickname cannot be one, Owners or Members has something other than object ids, or Visibility is given for a security group.", "Correct the parameter."},
		{graphNotFound, "An owner or a member does not exist.", "Correct the id, or wait until the user exists."},
	},
	Permissions: []string{"Group.ReadWrite.All"},
	Repeated: "The function looks for a group with this mailNickname first, and accepts it if it has all the given properties. It does not compare or set owners and members of a group " +
		"that exists, who may have changed since. It creates a group only once replication lag cannot hide one that an earlier attempt created.",
}

// AddEntraGroupOwner makes a user an owner of a group.
var AddEntraGroupOwner = Function{
	Name: "Add-EntraGroupOwner",
	Description: "Makes a user an owner of a security or Microsoft 365 group, but not a member. Succeeds if the user is already an owner. Teams shows it after up to two days: use Add-TeamsMember for a team. " +
		"Graph refuses distribution lists and mail-enabled security groups: use Add-ExchangeGroupOwner.",
	Params: []Param{groupID, userID},
	Errors: []Error{
		{graphNotFound, "The user or the group does not exist.", "Correct the id, or wait until it exists."},
	},
	Permissions: []string{"Group.ReadWrite.All"},
	Repeated:    "The function reads the owners first, and succeeds if the user is one once replication lag cannot be the reason.",
}

// RemoveEntraGroupOwner takes the ownership of a group from a user.
var RemoveEntraGroupOwner = Function{
	Name: "Remove-EntraGroupOwner",
	Description: "Takes the ownership of a security or Microsoft 365 group from a user, who stays a member. Succeeds if the user is not an owner. " +
		"Graph refuses to remove the last owner: add another one first.",
	Params: []Param{groupID, userID},
	Errors: []Error{
		unknownGroup,
		{FailureConflict, "The user is the last owner.", "Add another owner with Add-EntraGroupOwner first."},
	},
	Permissions: []string{"Group.ReadWrite.All"},
	Repeated:    "The function reads the owners first, and succeeds if the user is none once replication lag cannot be the reason.",
}

// TestEntraGroupOwner tells whether a user owns a group.
var TestEntraGroupOwner = Function{
	Name:        "Test-EntraGroupOwner",
	Description: "Checks whether a user is an owner of a security or Microsoft 365 group. Not complete until the ownership is as expected, so that a step can poll.",
	Params: []Param{
		groupID, userID,
		{Name: "ExpectedOwner", Type: Boolean, Description: "Whether the user should be an owner. Default: true."},
	},
	Result: []Field{
		{"complete", "Whether the ownership is as expected."},
		{"reason", "If not: the actual and the expected ownership."},
		{"data", "GroupId, UserId, ExpectedOwner, IsOwner."},
	},
	Errors:      []Error{unknownGroup},
	Permissions: []string{"GroupMember.Read.All"},
	ReadOnly:    true,
	Repeated:    "Reads only. Graph may show a change later.",
}
