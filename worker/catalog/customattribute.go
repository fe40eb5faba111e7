package catalog

import "fmt"

// CustomAttributes are the names of the custom attributes of a recipient, in Exchange and as parameters.
func CustomAttributes() []string {
	names := make([]string, 15)
	for i := range names {
		names[i] = fmt.Sprintf("CustomAttribute%d", i+1)
	}
	return names
}

// SetExchangeCustomAttributes is carried out by package exchange.
var SetExchangeCustomAttributes = Function{
	Name: "Set-ExchangeCustomAttributes",
	Description: "Sets custom attributes of a mail user or mailbox. Those that you do not give stay. They are the extension attributes of Entra ID: use this function for users that once were " +
		"synchronised from on-premises, whose extension attributes Graph refuses to change, and Set-EntraUserAttributes for others. " +
		"Check them with Test-ExchangeAttributeMatch and RecipientType MailUser or Mailbox.",
	Params: customAttributeParams(),
	Errors: []Error{
		unknownRecipient,
		{FailureConflict, "The recipient is neither a mail user nor a mailbox.", "Correct Identity."},
		{FailureParameters, "No attribute is given, one is both given and cleared or unknown, or a text is too long.", "Correct the parameter."},
	},
	Permissions: exchangePermissions,
	Repeated:    "Written again, which changes nothing, and read back.",
}

func customAttributeParams() []Param {
	params := []Param{identity}
	for _, name := range CustomAttributes() {
		params = append(params, Param{Name: name, Type: String, Description: name + ", at most 1,024 characters."})
	}
	return append(params, Param{
		Name: "ClearAttributes", Type: StringList,
		Description: "Names of custom attributes, such as CustomAttribute1, that become empty. An empty parameter changes nothing.",
	})
}
