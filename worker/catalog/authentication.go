package catalog

var handOverTo = Param{
	Name: "To", Type: Email, Required: true,
	Description: "Address of the person who hands it over, such as the manager or the help desk, in a domain of the worker's setting MAIL_DOMAINS. Not an address of the user.",
}

// NewEntraUserTemporaryAccessPass is carried out by package authentication, like the functions after it.
var NewEntraUserTemporaryAccessPass = Function{
	Name: "New-EntraUserTemporaryAccessPass",
	Description: "Creates a Temporary Access Pass, with which a user signs in and registers methods of multifactor authentication, and mails it to the person who hands it over, from the mailbox in the worker's setting ALERT_FROM. " +
		"The pass is in the mail only: not in results, logs or the store, and the mailbox keeps no copy. A new pass replaces the last one; of several mails the one with the latest time of creation is valid. Each has its own x-matoolkit-effect header. " +
		"The policy of authentication methods must allow passes for the user. Graph refuses external guests.",
	Params: []Param{
		userID,
		handOverTo,
		{Name: "LifetimeInMinutes", Type: String, Description: "How long the pass is valid, from 10 to 43200 minutes. Default: that of the policy."},
		{Name: "StartTime", Type: String, Description: "Time from which the pass is valid, such as 2026-03-01T18:00:00Z. Default: at once."},
		{Name: "UsableOnce", Type: Boolean, Description: "Whether the pass ends with the first sign-in. Default: true."},
	},
	Errors: []Error{
		unknownUser,
		{graphBadAction, "The user is an external guest, or the policy allows no such pass.", "Convert the guest with Convert-EntraB2BToInternal, or change the policy of authentication methods."},
		noMailDomain,
		{FailureParameters, "To is not an address or is one of the user, or the lifetime or time is not valid.", "Correct the parameter; To is the person who hands it over."},
	},
	Permissions: []string{"UserAuthMethod-TAP.ReadWrite.All", "User.Read.All", "Mail.Send"},
	Repeated:    "A new pass is created and mailed: the value of the last one cannot be read, and Graph chooses it. The last mail has the valid pass.",
}

// ResetEntraUserPassword gives a user a password that no person has seen.
var ResetEntraUserPassword = Function{
	Name: "Reset-EntraUserPassword",
	Description: "Gives a user a strong random password, which the user changes at the next sign-in, and mails it to the person who hands it over, from the mailbox in the worker's setting ALERT_FROM. " +
		"The password is in the mail only: not in results, logs or the store, and the mailbox keeps no copy. The mail is sent before the password is set, so that each password that is set was handed over; " +
		"With the worker's setting PASSWORD_KEY all deliveries of a job have the same password, and each mail of a step that has succeeded without a retry is valid. Otherwise, and after a retry, of several mails one is valid: try the one with the latest time of creation first. Each has its own x-matoolkit-effect header. Fails for users who are synchronised from on-premises, and for external guests.",
	Params: []Param{userID, handOverTo},
	Errors: []Error{
		unknownUser,
		{FailureConflict, "The user is synchronised from on-premises, or is an external guest.", "Reset it on-premises, or convert the guest with Convert-EntraB2BToInternal first."},
		noMailDomain,
		{FailureParameters, "To is not an address, or is one of the user.", "Give the address of the person who hands it over."},
	},
	Permissions: []string{"User-PasswordProfile.ReadWrite.All", "User.Read.All", "directory role User Administrator", "Mail.Send"},
	Repeated:    "If the password was changed after the job was sent, an earlier delivery mailed and set it, or the user has changed it since: the function succeeds and leaves it. Otherwise the same password is mailed and set with PASSWORD_KEY, and another one without. If the password changes between the mail and that, the function succeeds and leaves it.",
}

// RemoveEntraUserAuthenticationMethods clears the methods of a user.
var RemoveEntraUserAuthenticationMethods = Function{
	Name: "Remove-EntraUserAuthenticationMethods",
	Description: "Deletes all authentication methods of a user except the password: phones, apps, keys, Windows Hello, passes; the default one last. The user registers again at the next sign-in that asks for a second factor. " +
		"Fails, and deletes none, if the user has a method of a kind that the function does not know. Create a Temporary Access Pass after it, not before.",
	Params: []Param{userID},
	Errors: []Error{
		unknownUser,
		{FailureConflict, "The user has a method that the function cannot delete.", "Delete it in the Entra admin center, and retry."},
	},
	Permissions: []string{"UserAuthenticationMethod.ReadWrite.All"},
	Repeated:    "The function reads the methods first. It keeps methods that were registered after the job was sent, where Graph says when.",
}

// TestEntraUserAuthenticationMethods tells whether a user has methods.
var TestEntraUserAuthenticationMethods = Function{
	Name:        "Test-EntraUserAuthenticationMethods",
	Description: "Checks whether a user has authentication methods beside the password: none after they were cleared, or some once the user has registered. Not complete until it is as expected, so that a step can poll.",
	Params: []Param{
		userID,
		{Name: "ExpectedMethods", Type: Boolean, Description: "Whether the user should have methods. A Temporary Access Pass and an address of mail do not count then: they are no registration. Default: false."},
	},
	Result: []Field{
		{"complete", "Whether it is as expected."},
		{"reason", "If not: the methods that the user has, and the expected ones."},
		{"data", "UserId, ExpectedMethods, and Methods, the kinds of methods that the user has."},
	},
	Errors:      []Error{unknownUser},
	Permissions: []string{"UserAuthenticationMethod.Read.All"},
	ReadOnly:    true,
	Repeated:    "Reads only. Graph may show a change later.",
}
