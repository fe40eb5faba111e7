package catalog

var teamID = Param{Name: "TeamId", Type: GUID, Required: true, Description: "Object id of the team, which is that of its Microsoft 365 group."}

// AddTeamsMember is carried out by package teams, like the functions after it.
var AddTeamsMember = Function{
	Name: "Add-TeamsMember",
	Description: "Adds a user to a team, or makes the user an owner. Teams shows it at once; a member of the group of the team (Add-EntraGroupMember) shows after up to two days. " +
		"Succeeds if the user is already a member, or an owner where a member is asked for.",
	Params: []Param{
		teamID, userID,
		{Name: "Role", Type: OneOf("member", "owner"), Description: "Role of the user. Default: member."},
	},
	Errors: []Error{
		{graphPlainNotFound, "The group has no team, or the user does not exist.", "Create the team first, or correct the id."},
	},
	Permissions: []string{"TeamMember.ReadWrite.All"},
	Repeated:    "The function reads the membership first, and succeeds if the user has it once replication lag cannot be the reason.",
}

// RemoveTeamsMember takes a user out of a team.
var RemoveTeamsMember = Function{
	Name: "Remove-TeamsMember",
	Description: "Removes a user from a team, or takes the role of owner only. Succeeds if the user is not a member, or not an owner. " +
		"Teams refuses to remove the last owner: add another one first.",
	Params: []Param{
		teamID, userID,
		{Name: "Role", Type: OneOf("member", "owner"), Description: "member: the user leaves the team. owner: the user stays as a member. Default: member."},
	},
	Errors: []Error{
		noTeam,
		{graphBadQuery, "The user is the last owner.", "Add another owner with Add-TeamsMember first."},
	},
	Permissions: []string{"TeamMember.ReadWrite.All"},
	Repeated:    "The function reads the membership first, and succeeds if the user does not have it once replication lag cannot be the reason.",
}

// TestTeamsMembership tells whether a user is in a team.
var TestTeamsMembership = Function{
	Name:        "Test-TeamsMembership",
	Description: "Checks whether a user is a member or an owner of a team, as Teams has it. Not complete until the role is as expected, so that a step can poll.",
	Params: []Param{
		teamID, userID,
		{Name: "ExpectedRole", Type: OneOf("member", "owner", "none"), Description: "Role that the user should have; owners are members, too. none: the user should not be in the team. Default: member."},
	},
	Result: []Field{
		{"complete", "Whether the role is as expected."},
		{"reason", "If not: the actual and the expected role."},
		{"data", "TeamId, UserId, ExpectedRole, and Role: member, owner or none."},
	},
	Errors:      []Error{noTeam},
	Permissions: []string{"TeamMember.Read.All"},
	ReadOnly:    true,
	Repeated:    "Reads only.",
}
