package signin

import (
	"slices"
	"strings"
)

// Scope is the permission of the admin API that a program asks for in the name of a user.
const Scope = "access_as_user"

// The app roles of the admin API. A user needs none to read; an application needs one of them.
const (
	RoleReader          = "Reader"          // may read
	RoleRequester       = "Requester"       // may start batches of pipelines for themselves; without another role, may read no others
	RoleRequesterForAll = "RequesterForAll" // may start batches of pipelines for every owner, and read these; for services
	RoleOperator        = "Operator"        // may read and drive batches: advance, pause, retry, correct; request them for every owner
	RoleApprover        = "Approver"        // may read, approve phases and decide on what is held
	RoleAdmin           = "Admin"           // may do everything
)

// Roles are the app roles, in the order of the text that names them.
var Roles = []string{RoleReader, RoleRequester, RoleRequesterForAll, RoleOperator, RoleApprover, RoleAdmin}

// Permission is the right that a route requires of its caller.
type Permission string

// The permissions. Operator and Approver do not include each other: the person who drives a batch does
// not decide on its gates.
const (
	Read          Permission = "read"
	Request       Permission = "request"         // batches of pipelines with the caller as their owner
	RequestForAll Permission = "request_for_all" // and with any owner
	Operate       Permission = "operate"
	Approve       Permission = "approve"
	Administer    Permission = "administer" // all other changes, and what can hold anything: rows, messages, all audit records
)

// Permissions are all permissions.
var Permissions = []Permission{Read, Request, RequestForAll, Operate, Approve, Administer}

var granted = map[string][]Permission{
	RoleReader:          {Read},
	RoleRequester:       {Request},
	RoleRequesterForAll: {Request, RequestForAll},
	RoleOperator:        {Read, Request, RequestForAll, Operate},
	RoleApprover:        {Read, Approve},
	RoleAdmin:           Permissions,
}

// May reports whether a role of the caller grants the permission. A user without a role of this API may read.
func (i Identity) May(p Permission) bool {
	none := !slices.ContainsFunc(i.Roles, func(role string) bool { return granted[role] != nil })
	return p == Read && none || slices.ContainsFunc(i.Roles, func(role string) bool { return slices.Contains(granted[role], p) })
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

// MayForAll reports whether the caller may do with the requested batches of every owner what the permission allows.
func (i Identity) MayForAll(p Permission) bool { return i.May(p) || i.May(RequestForAll) }

// MayFor reports whether the caller may do with the requested batches of an owner what the permission allows:
// with Request they may do so with their own.
func (i Identity) MayFor(p Permission, owner string) bool {
	return i.MayForAll(p) || i.May(Request) && i.Owner != "" && strings.EqualFold(owner, i.Owner)
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
