package entra

import (
	"slices"
	"strings"
)

// scopeRequest is the scope parameter, understood.
type scopeRequest struct {
	text     string
	resource Application
	audience string // the identifier that the request addressed the resource by
	// permissions are the requested permissions of the resource, ".default" among them.
	permissions []string
	openID      bool // an ID token
	offline     bool // a refresh token
}

// parseScope splits the parameter into the OpenID scopes and those of the one
// resource that a token can be for.
func (t Tenant) parseScope(text string) (scopeRequest, *refusal) {
	request := scopeRequest{text: text}
	for _, scope := range strings.Fields(text) {
		switch scope {
		case "openid":
			request.openID = true
			continue
		case "offline_access":
			request.offline = true
			continue
		case "profile", "email":
			continue
		}
		// The last slash separates: Service Bus asks for
		// "https://servicebus.azure.net//.default", whose audience ends in one.
		identifier, permission := GraphAudience, scope
		if i := strings.LastIndexByte(scope, '/'); i >= 0 {
			identifier, permission = scope[:i], scope[i+1:]
		}
		if permission == "" || identifier == "" {
			return request, badRequest("invalid_scope", 70011,
				"The provided value for the input parameter 'scope' is not valid. The scope %s is not valid.", text)
		}
		if request.audience != "" && request.audience != identifier {
			return request, badRequest("invalid_request", 28000,
				"Provided value for the input parameter scope is not valid because it contains more than one resource. Scope %s is not valid.", text)
		}
		request.audience = identifier
		request.permissions = append(request.permissions, permission)
	}
	if request.audience == "" {
		return request, badRequest("invalid_scope", 70011,
			"The provided value for the input parameter 'scope' is not valid. The scope %q names no resource.", text)
	}
	resource, ok := t.resource(request.audience)
	if !ok {
		return request, badRequest("invalid_resource", 500011,
			"The resource principal named %s was not found in the tenant named %s.", request.audience, t.ID)
	}
	request.resource = resource
	return request, nil
}

// forApplication holds the request to what client credentials may ask for.
func (r scopeRequest) forApplication() *refusal {
	if len(r.permissions) != 1 || r.permissions[0] != ".default" {
		return badRequest("invalid_scope", 1002012,
			"The provided value for scope %s is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier.", r.text)
	}
	return nil
}

// delegated returns the permissions a user's token gets. All that a resource
// defines are consented to; what it does not define is refused.
func (r scopeRequest) delegated() ([]string, *refusal) {
	if slices.Contains(r.permissions, ".default") {
		if len(r.permissions) > 1 {
			return nil, badRequest("invalid_scope", 70011,
				"The provided value for the input parameter 'scope' is not valid. .default can't be combined with resource-specific scopes.")
		}
		if len(r.resource.Scopes) == 0 {
			return nil, badRequest("invalid_grant", 65001,
				"Resource %s has no delegated permission that was consented to.", r.audience)
		}
		return r.resource.Scopes, nil
	}
	for _, permission := range r.permissions {
		if !slices.Contains(r.resource.Scopes, permission) {
			return nil, badRequest("invalid_client", 650053,
				"The application asked for scope '%s' that doesn't exist on the resource '%s'.", permission, r.resource.ClientID)
		}
	}
	return r.permissions, nil
}

// granted is the scope member of the answer: the requested permissions and
// those that .default stands for. MSAL fails when a requested one is missing.
func (r scopeRequest) granted(permissions []string) string {
	var scopes []string
	for _, permission := range append(slices.Clone(permissions), r.permissions...) {
		if scope := r.audience + "/" + permission; !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
		// A bare Graph permission was asked for without its resource.
		if !strings.Contains(r.text, r.audience) && !slices.Contains(scopes, permission) {
			scopes = append(scopes, permission)
		}
	}
	return strings.Join(scopes, " ")
}
