package signin

import "slices"

// Scope is the permission of the admin API that a program asks for in the name of a user.
const Scope = "access_as_user"

// The app roles of the admin API. A user needs none to read; an application needs one of them.
const (
	RoleReader   = "Reader"   // may read
	RoleOperator = "Operator" // may drive batches, too: advance, pause, retry, correct
	RoleApprover = "Approver" // may approve phases and decide on what is held, too
	RoleAdmin    = "Admin"    // may do everything
)

// Roles are the app roles, in the order of the text that names them.
var Roles = []string{RoleReader, RoleOperator, RoleApprover, RoleAdmin}

// Permission is the right that a route requires of its caller.
type Permission string

// The permissions. Operator and Approver do not include each other: the person who drives a batch does
// not decide on its gates.
const (
	Read       Permission = "read"
	Operate    Permission = "operate"
	Approve    Permission = "approve"
	Administer Permission = "administer" // all other changes, and what can hold anything: rows, messages, all audit records
)

// Permissions are all permissions.
var Permissions = []Permission{Read, Operate, Approve, Administer}

var granted = map[string][]Permission{
	RoleReader:   {Read},
	RoleOperator: {Read, Operate},
	RoleApprover: {Read, Approve},
	RoleAdmin:    Permissions,
}

// May reports whether a role of the caller grants the permission.
func (i Identity) May(p Permission) bool {
	return p == Read || slices.ContainsFunc(i.Roles, func(role string) bool { return slices.Contains(granted[role], p) })
}

// Permissions are those of the caller.
func (i Identity) Permissions() (all []Permission) {
	for _, p := range Permissions {
		if i.May(p) {
			all = append(all, p)
		}
	}
	return all
}

// Granting returns the roles that grant a permission.
func Granting(p Permission) (roles []string) {
	for _, role := range Roles {
		if slices.Contains(granted[role], p) {
			roles = append(roles, role)
		}
	}
	return roles
}
