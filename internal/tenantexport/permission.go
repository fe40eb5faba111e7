package tenantexport

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Permission is a permission that an export uses.
type Permission struct {
	API      string // Microsoft Graph or Office 365 Exchange Online
	Name     string // application permission; delegated ones have the same name, apart from that of Exchange
	For      string
	Optional string // the part that is left out without it; empty: required
	instead  []string
}

const (
	graphAPI    = "Microsoft Graph"
	exchangeAPI = "Office 365 Exchange Online"

	policyPermission = "Policy.Read.All"
)

// Permissions are all permissions that an export uses. None of them can write, apart from that of Exchange, which the
// directory role limits.
func Permissions() []Permission {
	return []Permission{
		{graphAPI, "User.Read.All", "users, deleted users and managers", "", []string{"User.ReadWrite.All", "Directory.Read.All", "Directory.ReadWrite.All"}},
		{graphAPI, "GroupMember.Read.All", "groups, members and owners", "", []string{"GroupMember.ReadWrite.All", "Group.Read.All", "Group.ReadWrite.All", "Directory.Read.All", "Directory.ReadWrite.All"}},
		{graphAPI, "Domain.Read.All", "verified domains", "", []string{"Domain.ReadWrite.All", "Directory.Read.All", "Directory.ReadWrite.All"}},
		{graphAPI, "LicenseAssignment.Read.All", "products and free licences", "", []string{"LicenseAssignment.ReadWrite.All", "Organization.Read.All", "Organization.ReadWrite.All", "Directory.Read.All", "Directory.ReadWrite.All"}},
		{graphAPI, policyPermission, "policies of Conditional Access", "policies of Conditional Access", nil},
		{exchangeAPI, exchangePermission, "recipients, with the directory role Global Reader, which cannot write", "", []string{"Exchange.Manage"}},
	}
}

const exchangePermission = "Exchange.ManageAsApp"

// checkPermissions lists the permissions, and compares them with those of the tokens. It fails if one is missing that is
// required, and returns the parts that are left out for want of the others.
func (e *export) checkPermissions(ctx context.Context) (missing map[string]string, err error) {
	granted := map[string][]string{}
	for api, scope := range map[string]string{graphAPI: e.GraphScope, exchangeAPI: e.ExchangeScope} {
		token, err := e.Token(ctx, scope, false)
		if err != nil {
			return nil, err
		}
		granted[api] = permissionsOf(token)
	}
	missing = map[string]string{}
	var required []string
	for _, p := range Permissions() {
		has, known := granted[p.API], granted[p.API] != nil
		mark := "granted"
		switch {
		case !known:
			mark = "unknown: the token is not readable"
		case slices.Contains(has, p.Name) || slices.ContainsFunc(p.instead, func(name string) bool { return slices.Contains(has, name) }):
		case p.Optional != "":
			mark = "missing: left out"
			missing[p.Name] = p.Optional
		default:
			mark = "MISSING"
			required = append(required, p.Name+" of "+p.API)
		}
		e.Notice("  %-27s %-42s %s", p.Name, p.For, mark)
	}
	if len(required) > 0 {
		return nil, &MissingPermissionsError{required}
	}
	if err := e.tryExchange(ctx); err != nil {
		return nil, err
	}
	return missing, nil
}

// MissingPermissionsError reports permissions that are required and that the token does not have.
type MissingPermissionsError struct{ Permissions []string }

func (e *MissingPermissionsError) Error() string {
	return "the token does not have the permissions " + strings.Join(e.Permissions, " and ") +
		": add them to the app registration, and have an administrator of the tenant consent to them"
}

// permissionsOf are the application or delegated permissions in a token, nil where it is not a JSON Web Token. They are
// not verified: only the tenant decides.
func permissionsOf(token string) []string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return nil
	}
	var claims struct {
		Roles  []string `json:"roles"`
		Scopes string   `json:"scp"`
	}
	if err := json.Unmarshal(text, &claims); err != nil {
		return nil
	}
	return append(append([]string{}, strings.Fields(claims.Scopes)...), claims.Roles...)
}

// tryExchange reads one recipient, because a token does not show the role of an application in Exchange.
func (e *export) tryExchange(ctx context.Context) error {
	_, _, err := e.command(ctx, "Get-Recipient", map[string]any{"ResultSize": 1}, "", 1)
	switch {
	case refused(err, http.StatusUnauthorized):
		return fmt.Errorf("%w. Give the app registration the permission %s of %s", err, exchangePermission, exchangeAPI)
	case refused(err, http.StatusForbidden):
		return fmt.Errorf("%w. Assign the directory role Global Reader to the application, or to the user who signs in", err)
	}
	return err
}
