package graph

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// route is one Graph operation; a segment in braces matches anything.
type route struct {
	method, pattern string
	betaOnly        bool
	serve           func(*Service, *call) *reply
}

var routes = []route{
	{"POST", "users", false, (*Service).createUser},
	{"GET", "users", false, (*Service).listUsers},
	{"GET", "users/{user}", false, (*Service).getUser},
	{"PATCH", "users/{user}", false, (*Service).patchUser},
	{"DELETE", "users/{user}", false, (*Service).deleteUser},
	{"PUT", "users/{user}/manager/$ref", false, (*Service).setManager},
	{"POST", "users/{user}/revokeSignInSessions", false, (*Service).revokeSessions},
	{"POST", "users/{user}/assignLicense", false, (*Service).assignLicense},
	{"POST", "users/{user}/checkMemberGroups", false, (*Service).checkMemberGroups},
	{"POST", "users/{user}/convertExternalToInternalMemberUser", true, (*Service).convertUser},
	{"POST", "users/{user}/sendMail", false, (*Service).sendMail},
	{"GET", "directory/deletedItems/microsoft.graph.user", false, (*Service).listDeleted},
	{"GET", "directory/deletedItems/{item}", false, (*Service).getDeleted},
	{"POST", "groups", false, (*Service).createGroup},
	{"GET", "groups", false, (*Service).listGroups},
	{"GET", "groups/{group}", false, (*Service).getGroup},
	{"DELETE", "groups/{group}", false, (*Service).deleteGroup},
	{"GET", "groups/{group}/members", false, (*Service).listMembers},
	{"GET", "groups/{group}/members/microsoft.graph.user", false, (*Service).listUserMembers},
	{"GET", "sites/{site}", false, (*Service).getSite},
	{"GET", "sites/{site}/lists/{list}/columns", false, (*Service).listColumns},
	{"GET", "sites/{site}/lists/{list}/items", false, (*Service).listItems},
	{"GET", "sites/{site}/drive", false, (*Service).getLibrary},
	{"GET", "sites/{site}/drives", false, (*Service).listDrives},
	{"GET", "drives/{drive}/root:/{path}", false, (*Service).getFile},
	{"GET", "drives/{drive}/items/{item}/content", false, (*Service).getContent},
	{"POST", "groups/{group}/members/$ref", false, (*Service).addMember},
	{"DELETE", "groups/{group}/members/{member}/$ref", false, (*Service).removeMember},
	{"DELETE", "groups/{group}/members/{member}", false, (*Service).deleteMember},
	{"GET", "groups/{group}/owners", false, (*Service).listOwners},
	{"POST", "groups/{group}/owners/$ref", false, (*Service).addOwner},
	{"DELETE", "groups/{group}/owners/{owner}/$ref", false, (*Service).removeOwner},
	{"GET", "domains", false, (*Service).listDomains},
	{"GET", "domains/{domain}", false, (*Service).getDomain},
	{"GET", "subscribedSkus", false, (*Service).listSkus},
	{"POST", "invitations", false, (*Service).invite},
	{"GET", "users/{user}/drive", false, (*Service).getDrive},
	{"GET", "users/{user}/authentication/methods", false, (*Service).listAuthenticationMethods},
	{"POST", "users/{user}/authentication/temporaryAccessPassMethods", false, (*Service).createPass},
	{"DELETE", "users/{user}/authentication/{kind}/{method}", false, (*Service).deleteAuthenticationMethod},
	{"POST", migrationJobs, false, (*Service).createMigrationJob},
	{"GET", migrationJobs + "/{job}", false, (*Service).getMigrationJob},
	{"PATCH", migrationJobs + "/{job}", false, (*Service).patchMigrationJob},
	{"DELETE", migrationJobs + "/{job}", false, (*Service).deleteMigrationJob},
	{"POST", migrationJobs + "/{job}/validate", false, (*Service).validateMigrationJob},
	{"POST", migrationJobs + "/{job}/migrate", false, (*Service).startMigrationJob},
	{"POST", migrationJobs + "/{job}/cancel", false, (*Service).cancelMigrationJob},
	{"GET", migrationJobs + "/{job}/users/{member}", false, (*Service).getMigrationUser},
	{"POST", migrationJobs + "/{job}/users/{member}/cancel", false, (*Service).cancelMigrationUser},
	{"POST", contentTasks, true, (*Service).createContentTask},
	{"GET", contentTasks + "/{function}", true, (*Service).findContentTask},
	{"POST", contentTasks + "/{task}/cancel", true, (*Service).cancelContentTask},
	{"GET", "teams/{team}/members", false, (*Service).listTeamMembers},
	{"POST", "teams/{team}/members", false, (*Service).addTeamMember},
	{"PATCH", "teams/{team}/members/{membership}", false, (*Service).patchTeamMember},
	{"DELETE", "teams/{team}/members/{membership}", false, (*Service).deleteTeamMember},
	{"GET", "identity/conditionalAccess/policies", false, (*Service).listPolicies},
	{"POST", "$batch", false, (*Service).batch},
}

// init breaks the cycle batch → route → routes → batch.
var graphRoutes []route

func init() { graphRoutes = routes }

// Route finds the operation of a request, or gives the answer Graph has for a path
// or method it does not know.
func (s *Service) Route(c *odata.Call) *odata.Reply { return s.route(&call{c}) }

func (s *Service) route(c *call) *reply {
	c.Path = addressed(c.Path)
	known := 0 // leading segments that some operation has
	anyMethod := false
	for _, r := range graphRoutes {
		if r.betaOnly && !c.Beta {
			continue
		}
		arg, matched, complete := matchPath(r.pattern, c.Path)
		known = max(known, matched)
		if !complete {
			continue
		}
		anyMethod = true
		if r.method != c.Method {
			continue
		}
		c.Op, c.Arg = r.method+" /"+r.pattern, arg
		serve := r.serve
		c.Serve = func() *reply { return serve(s, c) }
		return s.permitted(c)
	}
	if anyMethod {
		return odata.Error(http.StatusMethodNotAllowed, "Request_BadRequest", "Specified HTTP method is not allowed for the request target.")
	}
	if known >= len(c.Path) { // a prefix of a path, such as "users/{id}/"
		return odata.Error(http.StatusBadRequest, "BadRequest", "Resource not found for the segment '%s'.", c.Path[len(c.Path)-1])
	}
	return odata.Error(http.StatusBadRequest, "BadRequest", "Resource not found for the segment '%s'.", c.Path[known])
}

func matchPath(pattern string, path []string) (arg map[string]string, matched int, complete bool) {
	parts := strings.Split(pattern, "/")
	arg = map[string]string{}
	for i, part := range parts {
		if i >= len(path) || path[i] == "" {
			return arg, i, false
		}
		if name, ok := strings.CutPrefix(part, "{"); ok {
			arg[strings.TrimSuffix(name, "}")] = path[i]
		} else if part != path[i] {
			return arg, i, false
		}
	}
	return arg, len(parts), len(path) == len(parts)
}

// object decodes a JSON object body.
func (c *call) object() (map[string]any, *reply) {
	if len(c.Body) == 0 {
		return nil, odata.Error(http.StatusBadRequest, "BadRequest", "Empty Payload. JSON content expected.")
	}
	if mediaType, _, _ := strings.Cut(c.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(mediaType), "application/json") {
		return nil, odata.Error(http.StatusBadRequest, "BadRequest", "Write requests (excluding DELETE) must contain the Content-Type header declaration.")
	}
	var body map[string]any
	if err := json.Unmarshal(c.Body, &body); err != nil || body == nil {
		return nil, odata.Error(http.StatusBadRequest, "BadRequest", "Unable to read JSON request payload. Please ensure Content-Type header is set and payload is of valid JSON format.")
	}
	return body, nil
}

func (c *call) version() string {
	if c.Beta {
		return "beta"
	}
	return "v1.0"
}

// context is the @odata.context of an answer.
func (c *call) context(what string) string {
	return c.Base + "/" + c.version() + "/$metadata#" + what
}
