package graph

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// methodTypes are the types of authentication methods that can be deleted, by the segment of their paths.
var methodTypes = map[string]string{
	"emailMethods": "email", "fido2Methods": "fido2", "microsoftAuthenticatorMethods": "microsoftAuthenticator", "phoneMethods": "phone",
	"platformCredentialMethods": "platformCredential", "softwareOathMethods": "softwareOath",
	"temporaryAccessPassMethods": "temporaryAccessPass", "windowsHelloForBusinessMethods": "windowsHelloForBusiness",
}

func methodType(name string) string { return "#microsoft.graph." + name + "AuthenticationMethod" }

// passwordMethod is the method that every user has and no application deletes.
const passwordMethod = "28c10230-6103-485e-b985-444c60001490"

// methodsOf are the methods of a user, without the password. isDefault, of the seed, marks the default one.
func methodsOf(u directory.User) []map[string]any {
	list, _ := u["authenticationMethods"].([]any)
	methods := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if method, ok := item.(map[string]any); ok {
			methods = append(methods, method)
		}
	}
	return methods
}

func withMethods(u directory.User, methods []map[string]any) directory.User {
	list := make([]any, 0, len(methods))
	for _, method := range methods {
		list = append(list, method)
	}
	return u.With(map[string]any{"authenticationMethods": list})
}

func (s *Service) listAuthenticationMethods(c *call) *reply {
	if refusal := c.onlyOptions(); refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	u, found := s.findUser(c.Arg["user"], asOf)
	if !found {
		return notFound(c.Arg["user"])
	}
	list := []any{map[string]any{"@odata.type": methodType("password"), "id": passwordMethod, "password": nil}}
	for _, method := range methodsOf(u) {
		shown := directory.User(method).With(nil)
		delete(shown, "isDefault")
		list = append(list, map[string]any(shown))
	}
	return odata.OK(map[string]any{"@odata.context": c.context("users('" + u.ID() + "')/authentication/methods"), "value": list})
}

// createPass replaces a pass that the user has. The pass itself is in the answer only.
func (s *Service) createPass(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	at := now.UTC().Format(time.RFC3339)
	pass := map[string]any{"@odata.type": methodType("temporaryAccessPass"), "id": uuid.NewString(), "createdDateTime": at, "startDateTime": at, "isUsableOnce": false, "lifetimeInMinutes": 60.0}
	for name, value := range body {
		switch v := value.(type) {
		case bool:
			refusal = refuseUnless(name == "isUsableOnce", name)
		case float64:
			refusal = refuseUnless(name == "lifetimeInMinutes" && v >= 10 && v <= 43200 && v == float64(int(v)), name)
		case string:
			_, err := time.Parse(time.RFC3339, v)
			refusal = refuseUnless(name == "startDateTime" && err == nil, name)
		default:
			refusal = refuseUnless(false, name)
		}
		if refusal != nil {
			return refusal
		}
		pass[name] = value
	}
	u, refusal := s.userToChange(c, asOf)
	switch {
	case refusal != nil:
		return refusal
	case s.NoAccessPass:
		return odata.Error(http.StatusBadRequest, "badRequest", "Converged UserCredentialPolicy does not allow creating or updating TemporaryAccessPass.")
	case u.Text("userType") == "Guest":
		return odata.Error(http.StatusBadRequest, "badRequest", "Temporary Access Pass cannot be added to an external guest user.")
	}
	methods := slices.DeleteFunc(methodsOf(u), func(m map[string]any) bool { return m["@odata.type"] == methodType("temporaryAccessPass") })
	if err := s.Directory.Commit(asOf, directory.PutUser(withMethods(u, append(methods, pass)), now)); err != nil {
		return s.storageFailed(err)
	}
	answer := directory.User(pass).With(map[string]any{"temporaryAccessPass": rand.Text()[:10], "isUsable": true, "methodUsabilityReason": "EnabledByPolicy"})
	return &reply{Status: http.StatusCreated, Body: map[string]any(answer)}
}

func refuseUnless(good bool, name string) *reply {
	if good {
		return nil
	}
	return badRequest("Invalid value specified for property '%s' of resource.", name)
}

// userToChange is the latest version of a user whom readers see.
func (s *Service) userToChange(c *call, asOf time.Time) (directory.User, *reply) {
	seen, found := s.findUser(c.Arg["user"], asOf)
	if !found {
		return nil, notFound(c.Arg["user"])
	}
	u, exists := s.Directory.Users.Latest(seen.ID())
	if !exists {
		return nil, notFound(c.Arg["user"])
	}
	return u, nil
}

func (s *Service) deleteAuthenticationMethod(c *call) *reply {
	name, known := methodTypes[c.Arg["kind"]]
	if !known {
		return odata.Error(http.StatusBadRequest, "BadRequest", "Resource not found for the segment '%s'.", c.Arg["kind"])
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	u, refusal := s.userToChange(c, asOf)
	if refusal != nil {
		return refusal
	}
	methods := methodsOf(u)
	i := slices.IndexFunc(methods, func(m map[string]any) bool {
		return strings.EqualFold(directory.Text(m["id"]), c.Arg["method"]) && m["@odata.type"] == methodType(name)
	})
	switch {
	case i < 0:
		return odata.Error(http.StatusNotFound, "resourceNotFound", "The requested authentication method %s was not found.", c.Arg["method"])
	case methods[i]["isDefault"] == true && len(methods) > 1:
		return odata.Error(http.StatusBadRequest, "badRequest", "Cannot delete default method with other methods configured. Please change default method before deletion.")
	case methods[i]["phoneType"] == "mobile" && slices.ContainsFunc(methods, func(m map[string]any) bool { return m["phoneType"] == "alternateMobile" }):
		return odata.Error(http.StatusBadRequest, "badRequest", "A user can't have an alternate mobile number without a mobile number.")
	}
	if err := s.Directory.Commit(asOf, directory.PutUser(withMethods(u, slices.Delete(methods, i, i+1)), now)); err != nil {
		return s.storageFailed(err)
	}
	return odata.NoContent()
}
