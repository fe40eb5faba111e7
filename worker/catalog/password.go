package catalog

// SetEntraUserPassword is carried out by package graph.
var SetEntraUserPassword = Function{
	Name: "Set-EntraUserPassword",
	Description: "Sets the password of a user. Its column is stored encrypted. " +
		"For administrators Graph asks for a higher directory role.",
	Params: []Param{
		userID,
		{Name: "Password", Type: String, Required: true, Description: "The password, which meets the policy of the tenant.", Secret: true},
		{Name: "ForceChange", Type: Boolean, Description: "Whether the user changes it at the next sign-in. Default: true."},
	},
	Errors: []Error{
		unknownUser,
		{graphBadRequest, "The password does not meet the policy, or the user is synchronised from on-premises.", "Give another password, or set it on-premises."},
	},
	Permissions: []string{"User-PasswordProfile.ReadWrite.All", "User.Read.All", "directory role User Administrator"},
	Repeated:    "If the password was changed after the job was sent, an earlier delivery set it, or the user has changed it since: the function succeeds and leaves it. Otherwise it is written again.",
}
