package catalog

var skuPartNumber = Param{Name: "SkuPartNumber", Type: String, Required: true, Description: "Part number of the product, such as SPE_E3."}

// AddEntraUserLicense is carried out by package graph, like the functions after it.
var AddEntraUserLicense = Function{
	Name: "Add-EntraUserLicense",
	Description: "Assigns a licence to a user. Succeeds if the user has it; plans that another list had disabled change. A licence with an Exchange plan gives the user a mailbox, " +
		"unless the user is a mail user with an ExchangeGuid, which waits for its mailbox: create that first. Fails if no licence is left.",
	Params: []Param{
		userID,
		skuPartNumber,
		{Name: "DisabledPlans", Type: StringList, Description: "Names of service plans to leave out, such as YAMMER_ENTERPRISE. Default: none."},
		{Name: "UsageLocation", Type: String, Description: "Two-letter country code for a user without one, without which Entra ID assigns no licence."},
	},
	Result: []Field{
		{"SkuPartNumber", "Part number as the tenant has it."},
		{"SkuId", "Id of the product."},
	},
	Errors: []Error{
		unknownUser,
		{FailureConflict, "The tenant has no subscription of the product, or no licence is left.", "Correct SkuPartNumber, buy licences, or take one from another user."},
		{FailureParameters, "DisabledPlans names a plan that the product does not have.", "Correct DisabledPlans."},
		{graphBadRequest, "Graph refuses the licence, such as without a usage location.", "Give UsageLocation, or resolve the conflict that the message names."},
	},
	Permissions: []string{"User.ReadWrite.All", "LicenseAssignment.Read.All"},
	Repeated:    "Written again, which changes nothing and takes no second licence.",
}

// RemoveEntraUserLicense takes a licence from a user.
var RemoveEntraUserLicense = Function{
	Name: "Remove-EntraUserLicense",
	Description: "Removes a licence that is assigned to a user directly. Succeeds if the user does not have it. Fails if the user has it from a group, too, and names the group. " +
		"Exchange keeps the mailbox of a user without licence for 30 days.",
	Params: []Param{userID, skuPartNumber},
	Errors: []Error{
		unknownUser,
		{FailureConflict, "A group assigns the licence, or the tenant has no subscription of the product.", "Remove the user from the group, or correct SkuPartNumber."},
	},
	Permissions: []string{"User.ReadWrite.All", "LicenseAssignment.Read.All"},
	Repeated:    "Graph reports that the user does not have the licence, and the function succeeds, or fails as before for the licence of a group.",
}

// TestEntraUserLicense tells whether a user's licence works.
var TestEntraUserLicense = Function{
	Name: "Test-EntraUserLicense",
	Description: "Checks that a user has a licence, directly or from a group, without errors, and that services are provisioned. The errors of licences from groups, such as CountViolation, " +
		"appear nowhere else. Not complete until all is as expected, so that a step can poll.",
	Params: []Param{
		userID,
		skuPartNumber,
		{Name: "ExpectedAssigned", Type: Boolean, Description: "Whether the user should have the licence. Default: true."},
		{Name: "Services", Type: StringList, Description: "Services that must be provisioned, by Graph's names, such as exchange. Default: none; some plans of a product are never provisioned by themselves."},
	},
	Result: []Field{
		{"complete", "Whether all is as expected."},
		{"reason", "If not: the actual and the expected state."},
		{"data", "UserId, SkuPartNumber, ExpectedAssigned, Assigned, Assignments (AssignedByGroup, State, Error), ExpectedServices, and Services with the Status of each."},
	},
	Errors: []Error{
		unknownUser,
		noSubscription,
		{FailureParameters, "Services are given for a licence that is not expected.", "Give one of Services and ExpectedAssigned: false."},
	},
	Permissions: []string{"User.Read.All", "LicenseAssignment.Read.All"},
	ReadOnly:    true,
	Repeated:    "Reads only. Graph shows an assignment after some minutes.",
}
