package graph

import (
	"net/http"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// permission is the application permission that an operation of Graph requires:
// all roles of any one set. A write role includes its read role. From the tables of
// Graph's reference, without the Directory roles, which include almost every other role.
type permission [][]string

// readsSites reads all sites, or those that the site itself grants.
var readsSites = permission{{"Sites.Read.All"}, {"Sites.Selected"}}

var permissions = map[string]permission{
	"POST /users":          {{"User.ReadWrite.All"}},
	"GET /users":           {{"User.Read.All"}},
	"GET /users/{user}":    {{"User.Read.All"}},
	"PATCH /users/{user}":  {{"User.ReadWrite.All"}},
	"DELETE /users/{user}": {{"User.ReadWrite.All"}},
	"GET /directory/deletedItems/microsoft.graph.user": {{"User.Read.All"}},
	"GET /directory/deletedItems/{item}":               {{"User.Read.All"}},
	"PUT /users/{user}/manager/$ref":                   {{"User.ReadWrite.All"}},
	"POST /users/{user}/revokeSignInSessions":          {{"User.RevokeSessions.All"}},
	"POST /users/{user}/assignLicense":                 {{"LicenseAssignment.ReadWrite.All"}, {"User.ReadWrite.All"}},
	"POST /users/{user}/sendMail":                      {{"Mail.Send"}},
	"POST /users/{user}/checkMemberGroups": {
		{"User.Read.All", "GroupMember.Read.All"}, {"User.Read.All", "Group.Read.All"},
	},
	"POST /users/{user}/convertExternalToInternalMemberUser": {{"User-ConvertToInternal.ReadWrite.All"}, {"User.ReadWrite.All"}},
	"POST /groups":                {{"Group.ReadWrite.All"}},
	"GET /groups":                 {{"GroupMember.Read.All"}, {"Group.Read.All"}},
	"GET /groups/{group}":         {{"GroupMember.Read.All"}, {"Group.Read.All"}},
	"DELETE /groups/{group}":      {{"Group.ReadWrite.All"}},
	"GET /groups/{group}/members": {{"GroupMember.Read.All"}, {"Group.Read.All"}},
	"GET /groups/{group}/members/microsoft.graph.user": {{"GroupMember.Read.All"}, {"Group.Read.All"}},
	"GET /sites/{site}":                                            readsSites,
	"GET /sites/{site}/lists/{list}/columns":                       readsSites,
	"GET /sites/{site}/lists/{list}/items":                         readsSites,
	"GET /sites/{site}/drive":                                      readsSites,
	"GET /sites/{site}/drives":                                     readsSites,
	"GET /drives/{drive}/root:/{path}":                             readsSites,
	"GET /drives/{drive}/items/{item}/content":                     readsSites,
	"POST /groups/{group}/members/$ref":                            {{"GroupMember.ReadWrite.All"}, {"Group.ReadWrite.All"}},
	"DELETE /groups/{group}/members/{member}/$ref":                 {{"GroupMember.ReadWrite.All"}, {"Group.ReadWrite.All"}},
	"GET /groups/{group}/owners":                                   {{"GroupMember.Read.All"}, {"Group.Read.All"}},
	"POST /groups/{group}/owners/$ref":                             {{"Group.ReadWrite.All"}},
	"DELETE /groups/{group}/owners/{owner}/$ref":                   {{"Group.ReadWrite.All"}},
	"DELETE /groups/{group}/members/{member}":                      {{"User.ReadWrite.All"}},
	"GET /domains":                                                 {{"Domain.Read.All"}},
	"GET /domains/{domain}":                                        {{"Domain.Read.All"}},
	"GET /subscribedSkus":                                          {{"LicenseAssignment.Read.All"}, {"Organization.Read.All"}},
	"POST /invitations":                                            {{"User.Invite.All"}, {"User.ReadWrite.All"}},
	"GET /users/{user}/drive":                                      {{"Files.Read.All"}, {"Sites.Read.All"}},
	"POST /" + contentTasks:                                        {{"SharePointCrossTenantMigration.Manage.All"}},
	"GET /" + contentTasks + "/{function}":                         {{"SharePointCrossTenantMigration.Read.All"}},
	"POST /" + contentTasks + "/{task}/cancel":                     {{"SharePointCrossTenantMigration.Manage.All"}},
	"GET /teams/{team}/members":                                    {{"TeamMember.Read.All"}},
	"POST /teams/{team}/members":                                   {{"TeamMember.ReadWrite.All"}},
	"PATCH /teams/{team}/members/{membership}":                     {{"TeamMember.ReadWrite.All"}},
	"DELETE /teams/{team}/members/{membership}":                    {{"TeamMember.ReadWrite.All"}},
	"GET /identity/conditionalAccess/policies":                     {{"Policy.Read.All"}},
	"POST /" + migrationJobs:                                       {{"CrossTenantContentMigration.ReadWrite.All"}},
	"GET /" + migrationJobs + "/{job}":                             {{"CrossTenantContentMigration.Read.All"}},
	"PATCH /" + migrationJobs + "/{job}":                           {{"CrossTenantContentMigration.ReadWrite.All"}},
	"DELETE /" + migrationJobs + "/{job}":                          {{"CrossTenantContentMigration.ReadWrite.All"}},
	"POST /" + migrationJobs + "/{job}/validate":                   {{"CrossTenantContentMigration.ReadWrite.All"}},
	"POST /" + migrationJobs + "/{job}/migrate":                    {{"CrossTenantContentMigration.ReadWrite.All"}},
	"POST /" + migrationJobs + "/{job}/cancel":                     {{"CrossTenantContentMigration.ReadWrite.All"}},
	"GET /" + migrationJobs + "/{job}/users/{member}":              {{"CrossTenantContentMigration.Read.All"}},
	"POST /" + migrationJobs + "/{job}/users/{member}/cancel":      {{"CrossTenantContentMigration.ReadWrite.All"}},
	"POST /$batch":                                                 {{}}, // each step asks for its own
	"GET /users/{user}/authentication/methods":                     {{"UserAuthenticationMethod.Read.All"}},
	"POST /users/{user}/authentication/temporaryAccessPassMethods": {{"UserAuthMethod-TAP.ReadWrite.All"}, {"UserAuthenticationMethod.ReadWrite.All"}},
	"DELETE /users/{user}/authentication/{kind}/{method}":          {{"UserAuthenticationMethod.ReadWrite.All"}},
}

// permitted refuses an application that lacks the roles for a routed call. Without
// Roles it refuses no application.
func (s *Service) permitted(c *call) *reply {
	if s.Roles == nil {
		return nil
	}
	sets := permissions[c.Op]
	if c.Op == "PATCH /users/{user}" && resetsPassword(c) {
		sets = permission{{"User-PasswordProfile.ReadWrite.All"}}
	}
	if c.Op == "PATCH /users/{user}" && onlyEnables(c) {
		sets = append(slices.Clone(sets), []string{"User.EnableDisableAccount.All", "User.Read.All"})
	}
	roles := s.Roles(c.Token)
	for _, set := range sets {
		if !slices.ContainsFunc(set, func(role string) bool { return !holds(roles, role) }) {
			return nil
		}
	}
	return odata.Error(http.StatusForbidden, "Authorization_RequestDenied", "Insufficient privileges to complete the operation.")
}

func holds(roles []string, role string) bool {
	return slices.Contains(roles, role) ||
		strings.HasSuffix(role, ".Read.All") && slices.Contains(roles, strings.TrimSuffix(role, ".Read.All")+".ReadWrite.All")
}

// resetsPassword tells whether a change is of a password. User.ReadWrite.All is not enough for one; the directory role
// that Graph also asks for is not simulated.
func resetsPassword(c *call) bool {
	body, refusal := c.object()
	return refusal == nil && body["passwordProfile"] != nil
}

// onlyEnables tells whether a change is of accountEnabled alone.
func onlyEnables(c *call) bool {
	body, refusal := c.object()
	if refusal != nil {
		return false
	}
	for name := range body {
		if name != "accountEnabled" && !strings.HasPrefix(name, "@odata.") {
			return false
		}
	}
	return true
}
