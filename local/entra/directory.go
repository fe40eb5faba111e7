package entra

import (
	"net/url"
	"strings"
)

// tenant finds a tenant by its ID or domain, as it appears in a URL.
func (c Config) tenant(name string) (Tenant, bool) {
	for _, t := range c.Tenants {
		if strings.EqualFold(t.ID, name) || t.Domain != "" && strings.EqualFold(t.Domain, name) {
			return t, true
		}
	}
	return Tenant{}, false
}

func (c Config) userByUPN(upn string) (Tenant, User, bool) {
	for _, t := range c.Tenants {
		if u, ok := t.user(upn); ok {
			return t, u, true
		}
	}
	return Tenant{}, User{}, false
}

func (t Tenant) user(upn string) (User, bool) {
	for _, u := range t.Users {
		if strings.EqualFold(u.UPN, upn) {
			return u, true
		}
	}
	return User{}, false
}

func (t Tenant) application(clientID string) (Application, bool) {
	for _, a := range t.Applications {
		if strings.EqualFold(a.ClientID, clientID) {
			return a, true
		}
	}
	return Application{}, false
}

// resource finds the application that answers to identifier.
func (t Tenant) resource(identifier string) (Application, bool) {
	for _, a := range t.Applications {
		if a.isResource() && a.answersTo(identifier) {
			return a, true
		}
	}
	return Application{}, false
}

func (a Application) isResource() bool {
	return len(a.IdentifierURIs)+len(a.Scopes)+len(a.AppRoles) > 0
}

// answersTo reports whether identifier addresses the application: its client
// ID or an identifier URI. A trailing slash makes no difference, because the
// Service Bus SDK asks for "https://servicebus.azure.net//.default".
func (a Application) answersTo(identifier string) bool {
	identifier = strings.TrimSuffix(identifier, "/")
	if strings.EqualFold(identifier, a.ClientID) {
		return true
	}
	for _, uri := range a.IdentifierURIs {
		if strings.EqualFold(identifier, strings.TrimSuffix(uri, "/")) || underWildcard(uri, identifier) {
			return true
		}
	}
	return false
}

// underWildcard matches https://*.domain against https://one-label.domain.
func underWildcard(pattern, identifier string) bool {
	domain, ok := strings.CutPrefix(pattern, "https://*.")
	if !ok {
		return false
	}
	u, err := url.Parse(identifier)
	if err != nil || u.Scheme != "https" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return false
	}
	label, rest, ok := strings.Cut(u.Host, ".")
	return ok && label != "" && label != "*" && strings.EqualFold(rest, domain)
}
