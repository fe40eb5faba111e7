package catalog

// TestEntraConditionalAccessExclusion tells whether policies exclude a user or a group. Package access carries it out.
var TestEntraConditionalAccessExclusion = Function{
	Name: "Test-EntraConditionalAccessExclusion",
	Description: "Checks that Conditional Access policies exclude a user, by the user's id or through a group, or that they exclude a group. " +
		"To exclude a person for the time of the move, an administrator excludes a group in the policies, and the runbook adds people with Add-EntraGroupMember. " +
		"Not complete until all policies are as expected, so that a step can poll. Exclusions by role and of guests do not count.",
	Params: []Param{
		{Name: "UserId", Type: GUID, Description: "Object id of the user. Give one of UserId and GroupId."},
		{Name: "GroupId", Type: GUID, Description: "Object id of the group, which the policies must name themselves."},
		{Name: "Policies", Type: StringList, Description: "Names or ids of policies, in any state. Default: all enabled ones; with UserId, those that may apply to the user."},
		{Name: "ExpectedExcluded", Type: Boolean, Description: "Whether the policies should exclude the user or the group. Default: true."},
	},
	Result: []Field{
		{"complete", "Whether all policies are as expected."},
		{"reason", "If not: the actual and the expected state of the policies that differ."},
		{"data", "UserId or GroupId, ExpectedExcluded, and Policies: Id, Name, State, Excluded, and By, the group that excludes a user."},
	},
	Errors: []Error{
		unknownUser,
		{FailureConflict, "The tenant has no policy of this name.", "Correct the name."},
		{FailureParameters, "None or both of UserId and GroupId are given.", "Give one of them."},
	},
	Permissions: []string{"Policy.Read.All", "GroupMember.Read.All", "User.Read.All"},
	ReadOnly:    true,
	Repeated:    "Reads only. Entra ID may apply a change of a group some minutes later.",
}
