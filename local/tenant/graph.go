package tenant

import (
	"encoding/json"
	"net/http"
	"strings"
)

// route is one Graph operation; a segment in braces matches anything.
type route struct {
	method, pattern string
	betaOnly        bool
	serve           func(*Server, *call) *reply
}

var routes = []route{
	{"POST", "users", false, (*Server).createUser},
	{"GET", "users", false, (*Server).listUsers},
	{"GET", "users/{user}", false, (*Server).getUser},
	{"PATCH", "users/{user}", false, (*Server).patchUser},
	{"DELETE", "users/{user}", false, (*Server).deleteUser},
	{"PUT", "users/{user}/manager/$ref", false, (*Server).setManager},
	{"POST", "users/{user}/revokeSignInSessions", false, (*Server).revokeSessions},
	{"POST", "users/{user}/assignLicense", false, (*Server).assignLicense},
	{"POST", "users/{user}/checkMemberGroups", false, (*Server).checkMemberGroups},
	{"POST", "users/{user}/convertExternalToInternalMemberUser", true, (*Server).convertUser},
	{"POST", "users/{user}/sendMail", false, (*Server).sendMail},
	{"GET", "directory/deletedItems/{item}", false, (*Server).getDeleted},
	{"POST", "groups", false, (*Server).createGroup},
	{"GET", "groups", false, (*Server).listGroups},
	{"GET", "groups/{group}", false, (*Server).getGroup},
	{"DELETE", "groups/{group}", false, (*Server).deleteGroup},
	{"GET", "groups/{group}/members", false, (*Server).listMembers},
	{"POST", "groups/{group}/members/$ref", false, (*Server).addMember},
	{"DELETE", "groups/{group}/members/{member}/$ref", false, (*Server).removeMember},
	{"DELETE", "groups/{group}/members/{member}", false, (*Server).deleteMember},
	{"GET", "domains/{domain}", false, (*Server).getDomain},
	{"GET", "subscribedSkus", false, (*Server).listSkus},
	{"POST", "invitations", false, (*Server).invite},
	{"POST", "$batch", false, (*Server).batch},
}

// init breaks the cycle batch → routeGraph → routes → batch.
var graphRoutes []route

func init() { graphRoutes = routes }

// routeGraph finds the operation of c, or gives the answer Graph has for a path
// or method it does not know.
func (s *Server) routeGraph(c *call) *reply {
	known := 0 // leading segments that some operation has
	anyMethod := false
	for _, r := range graphRoutes {
		if r.betaOnly && !c.beta {
			continue
		}
		arg, matched, complete := matchPath(r.pattern, c.path)
		known = max(known, matched)
		if !complete {
			continue
		}
		anyMethod = true
		if r.method != c.method {
			continue
		}
		c.op, c.arg = r.method+" /"+r.pattern, arg
		serve := r.serve
		c.serve = func(c *call) *reply { return serve(s, c) }
		return s.permitted(c)
	}
	if anyMethod {
		return graphError(http.StatusMethodNotAllowed, "Request_BadRequest", "Specified HTTP method is not allowed for the request target.")
	}
	if known >= len(c.path) { // a prefix of a path, such as "users/{id}/"
		return graphError(http.StatusBadRequest, "BadRequest", "Resource not found for the segment '%s'.", c.path[len(c.path)-1])
	}
	return graphError(http.StatusBadRequest, "BadRequest", "Resource not found for the segment '%s'.", c.path[known])
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
	if len(c.body) == 0 {
		return nil, graphError(http.StatusBadRequest, "BadRequest", "Empty Payload. JSON content expected.")
	}
	if mediaType, _, _ := strings.Cut(c.header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(mediaType), "application/json") {
		return nil, graphError(http.StatusBadRequest, "BadRequest", "Write requests (excluding DELETE) must contain the Content-Type header declaration.")
	}
	var body map[string]any
	if err := json.Unmarshal(c.body, &body); err != nil || body == nil {
		return nil, graphError(http.StatusBadRequest, "BadRequest", "Unable to read JSON request payload. Please ensure Content-Type header is set and payload is of valid JSON format.")
	}
	return body, nil
}

func (c *call) version() string {
	if c.beta {
		return "beta"
	}
	return "v1.0"
}

// context is the @odata.context of an answer.
func (c *call) context(what string) string {
	return c.base + "/" + c.version() + "/$metadata#" + what
}
