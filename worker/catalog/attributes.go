package catalog

import (
	"fmt"
	"strings"
)

// UserAttribute is an attribute of a user that Set-EntraUserAttributes writes.
type UserAttribute struct {
	Param string // of the function
	Graph string // name in Graph; one of onPremisesExtensionAttributes with a dot before it
	Type  Type   // String or StringList
	Text  string // its description
}

// UserAttributes are the attributes that Set-EntraUserAttributes writes.
func UserAttributes() []UserAttribute {
	all := []UserAttribute{
		{"DisplayName", "displayName", String, "Name shown in the address book."},
		{"GivenName", "givenName", String, "First name."},
		{"Surname", "surname", String, "Last name."},
		{"Department", "department", String, "Department."},
		{"JobTitle", "jobTitle", String, "Job title."},
		{"CompanyName", "companyName", String, "Company."},
		{"OfficeLocation", "officeLocation", String, "Office."},
		{"EmployeeId", "employeeId", String, "Employee id."},
		{"EmployeeType", "employeeType", String, "Kind of employment, such as Contractor."},
		{"UsageLocation", "usageLocation", String, "Two-letter country code, required before a licence is assigned."},
		{"PreferredLanguage", "preferredLanguage", String, "Language, such as de-CH."},
		{"StreetAddress", "streetAddress", String, "Street."},
		{"PostalCode", "postalCode", String, "Postal code."},
		{"City", "city", String, "City."},
		{"State", "state", String, "State or province."},
		{"Country", "country", String, "Country or region."},
		{"MobilePhone", "mobilePhone", String, "Mobile number. Graph lets an application change it for an administrator only with a directory role."},
		{"BusinessPhones", "businessPhones", StringList, "Business number. Graph accepts one."},
		{"FaxNumber", "faxNumber", String, "Fax number."},
		{"OtherMails", "otherMails", StringList, "Additional addresses, which replace those that the user has. They are no addresses of a mailbox. Graph lets an application change them for an administrator only with a directory role."},
	}
	for n := 1; n <= 15; n++ {
		all = append(all, UserAttribute{
			Param: fmt.Sprintf("ExtensionAttribute%d", n), Graph: fmt.Sprintf(".extensionAttribute%d", n), Type: String,
			Text: fmt.Sprintf("extensionAttribute%d, at most 1,024 characters.", n),
		})
	}
	return all
}

// FindUserAttribute finds an attribute by the name of its parameter, in any case.
func FindUserAttribute(name string) (UserAttribute, bool) {
	for _, a := range UserAttributes() {
		if strings.EqualFold(a.Param, name) {
			return a, true
		}
	}
	return UserAttribute{}, false
}

// SetEntraUserAttributes is carried out by package graph.
var SetEntraUserAttributes = Function{
	Name: "Set-EntraUserAttributes",
	Description: "Sets attributes of a user. Attributes that you do not give stay. Graph refuses users that are synchronised from on-premises, and, for users that once were, " +
		"extension attributes: set those with Set-ExchangeCustomAttributes. Others, such as employeeHireDate and employeeOrgData, are written with Invoke-GraphRequest, once GRAPH_REQUESTS of the worker describes them.",
	Params: userAttributeParams(),
	Errors: []Error{
		unknownUser,
		{graphBadRequest, "The user is synchronised from on-premises, or Graph refuses a value, such as an unknown country.", "Change the user on-premises, or correct the value."},
		{FailureParameters, "No attribute is given, one is both given and cleared, cannot be cleared, or a value is too long.", "Correct the parameter."},
	},
	Permissions: []string{"User.ReadWrite.All"},
	Repeated:    "Written again, which changes nothing. The function does not read them first, since a read may be out of date.",
}

func userAttributeParams() []Param {
	params := []Param{userID}
	for _, a := range UserAttributes() {
		params = append(params, Param{Name: a.Param, Type: a.Type, Description: a.Text})
	}
	return append(params, Param{
		Name: "ClearAttributes", Type: StringList,
		Description: "Names of parameters, such as Department, whose attributes become empty. An empty parameter changes nothing.",
	})
}

// SetEntraUserManager sets the manager of a user.
var SetEntraUserManager = Function{
	Name:        "Set-EntraUserManager",
	Description: "Sets the manager of a user.",
	Params: []Param{
		userID,
		{Name: "ManagerId", Type: GUID, Required: true, Description: "Object id of the manager."},
	},
	Errors: []Error{
		{graphNotFound, "The user or the manager does not exist.", "Correct the id, or wait until the user exists."},
	},
	Permissions: []string{"User.ReadWrite.All"},
	Repeated:    "Written again, which changes nothing.",
}

// RevokeEntraUserSessions ends the sessions of a user.
var RevokeEntraUserSessions = Function{
	Name: "Revoke-EntraUserSessions",
	Description: "Ends the sessions of a user, who signs in again within some minutes. Disable the sign-in first if the user must stay out. " +
		"It has no effect on users of another organisation, who sign in there.",
	Params:      []Param{userID},
	Errors:      []Error{unknownUser},
	Permissions: []string{"User.RevokeSessions.All"},
	Repeated:    "Sessions that began since the first time end too.",
}
