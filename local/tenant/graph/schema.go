package graph

import (
	"fmt"
	"strings"
)

// property is one property of a Graph resource.
type property struct {
	kind     valueKind
	readOnly bool
	standard bool // returned when no $select is given
	hidden   bool // may be written, never read (passwordProfile)
}

type valueKind int

const (
	stringValue valueKind = iota
	boolValue
	listValue
	objectValue
)

// userProperties are the properties of a user simulated here, from the user
// resource type of Graph v1.0.
var userProperties = map[string]property{
	"id": {readOnly: true, standard: true}, "userPrincipalName": {standard: true}, "displayName": {standard: true},
	"givenName": {standard: true}, "surname": {standard: true}, "mail": {standard: true}, "jobTitle": {standard: true},
	"mobilePhone": {standard: true}, "officeLocation": {standard: true}, "preferredLanguage": {standard: true},
	"businessPhones": {kind: listValue, standard: true},
	"accountEnabled": {kind: boolValue}, "showInAddressList": {kind: boolValue},
	"mySite":       {readOnly: true},
	"mailNickname": {}, "userType": {}, "usageLocation": {}, "department": {}, "companyName": {}, "employeeId": {},
	"employeeType": {}, "city": {}, "state": {}, "country": {}, "postalCode": {}, "streetAddress": {}, "faxNumber": {},
	"ageGroup": {}, "consentProvidedForMinor": {}, "passwordPolicies": {}, "preferredDataLocation": {},
	"employeeHireDate": {}, "onPremisesImmutableId": {},
	"otherMails":                    {kind: listValue},
	"onPremisesExtensionAttributes": {kind: objectValue},
	"employeeOrgData":               {kind: objectValue},
	"passwordProfile":               {kind: objectValue, hidden: true},
	"authenticationMethods":         {kind: objectValue, readOnly: true, hidden: true}, // a list, which has paths of its own in Graph
	"assignedLicenses":              {kind: listValue, readOnly: true}, "licenseAssignmentStates": {kind: listValue, readOnly: true},
	"assignedPlans": {kind: listValue, readOnly: true}, "provisionedPlans": {kind: listValue, readOnly: true},
	"proxyAddresses": {kind: listValue, readOnly: true}, "imAddresses": {kind: listValue, readOnly: true},
	"createdDateTime": {readOnly: true}, "creationType": {readOnly: true}, "signInSessionsValidFromDateTime": {readOnly: true}, "lastPasswordChangeDateTime": {readOnly: true},
	"externalUserState": {readOnly: true}, "externalUserStateChangeDateTime": {readOnly: true},
	"onPremisesUserPrincipalName": {readOnly: true}, "onPremisesSyncEnabled": {kind: boolValue, readOnly: true},
	"onPremisesDistinguishedName": {readOnly: true}, "onPremisesDomainName": {readOnly: true},
	"onPremisesSamAccountName": {readOnly: true}, "onPremisesSecurityIdentifier": {readOnly: true},
	"securityIdentifier": {readOnly: true}, "deletedDateTime": {readOnly: true},
	"managerId": {readOnly: true, hidden: true}, // a relationship in Graph
}

// groupProperties are the properties of a group simulated here.
var groupProperties = map[string]property{
	"id": {readOnly: true, standard: true}, "displayName": {standard: true}, "description": {standard: true},
	"mailNickname": {standard: true}, "mail": {readOnly: true, standard: true}, "visibility": {standard: true},
	"mailEnabled": {kind: boolValue, standard: true}, "securityEnabled": {kind: boolValue, standard: true},
	"isAssignableToRole": {kind: boolValue, standard: true},
	"groupTypes":         {kind: listValue, standard: true},
	"proxyAddresses":     {kind: listValue, readOnly: true, standard: true},
	"assignedLicenses":   {kind: listValue, readOnly: true}, "resourceProvisioningOptions": {kind: listValue, readOnly: true, standard: true},
	"createdDateTime": {readOnly: true, standard: true}, "onPremisesSyncEnabled": {kind: boolValue, readOnly: true, standard: true},
}

// extensionAttributes are the members of onPremisesExtensionAttributes.
func isExtensionAttribute(name string) bool {
	var n int
	if _, err := fmt.Sscanf(name, "extensionAttribute%d", &n); err != nil {
		return false
	}
	return n >= 1 && n <= 15 && name == fmt.Sprintf("extensionAttribute%d", n)
}

// KnownUserProperty tells whether a user has a property of this name.
func KnownUserProperty(name string) bool { _, known := userProperties[name]; return known }

// userNames has the names of properties of users, each in one place of memory.
var userNames = func() map[string]string {
	names := map[string]string{}
	for name := range userProperties {
		names[name] = name
	}
	return names
}()

// UserProperty is the name of a property of users, which takes no memory of its own, and whether there is such a property.
func UserProperty(name string) (string, bool) {
	if known, has := userNames[name]; has {
		return known, true
	}
	return name, false
}

// KnownGroupProperty tells whether a group has a property of this name.
func KnownGroupProperty(name string) bool { _, known := groupProperties[name]; return known }

// checkWrite refuses a body that sets a property that is unknown, read-only or
// of another type. Control information (@odata.…) is accepted and ignored.
func checkWrite(properties map[string]property, body map[string]any) (map[string]any, *reply) {
	accepted := map[string]any{}
	for name, value := range body {
		if strings.HasPrefix(name, "@odata.") {
			continue
		}
		p, known := properties[name]
		if !known {
			return nil, badRequest("Invalid property '%s'.", name)
		}
		if p.readOnly {
			return nil, badRequest("Property '%s' is read-only and cannot be set.", name)
		}
		if !p.kind.accepts(value) {
			return nil, badRequest("Invalid value specified for property '%s' of resource.", name)
		}
		if attributes, ok := value.(map[string]any); ok && name == "onPremisesExtensionAttributes" {
			for attribute := range attributes {
				if !isExtensionAttribute(attribute) {
					return nil, badRequest("Invalid property '%s'.", attribute)
				}
			}
		}
		accepted[name] = value
	}
	return accepted, nil
}

func (k valueKind) accepts(value any) bool {
	switch v := value.(type) {
	case nil:
		return k != boolValue
	case string:
		return k == stringValue
	case bool:
		return k == boolValue
	case map[string]any:
		return k == objectValue
	case []any:
		for _, item := range v {
			if _, ok := item.(string); !ok {
				return false
			}
		}
		return k == listValue
	}
	return false
}

// project is the object as a reader sees it: the selected properties, or the
// standard ones; absent collections are empty, other absent properties null.
func project(properties map[string]property, object map[string]any, selected []string) map[string]any {
	out := map[string]any{}
	show := func(name string) {
		value := object[name]
		if value == nil && properties[name].kind == listValue {
			value = []string{}
		}
		out[name] = value
	}
	for _, name := range selected {
		if !properties[name].hidden {
			show(name)
		}
	}
	if selected == nil {
		for name, p := range properties {
			if p.standard {
				show(name)
			}
		}
	}
	return out
}
