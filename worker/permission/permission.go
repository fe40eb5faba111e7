// Package permission knows the permissions of an application: which are in a token, which include
// others, and which a function lacks.
//
// It does not verify tokens: their APIs do.
package permission

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Granted returns the application permissions in an access token.
func Granted(token string) ([]string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errors.New("the access token is no JSON Web Token")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, errors.New("the access token is no JSON Web Token")
	}
	var claims struct {
		Roles []string `json:"roles"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return nil, errors.New("the access token has no claims that can be read")
	}
	return claims.Roles, nil
}

// name is the form of a permission; other texts of a function are for people.
var name = regexp.MustCompile(`^[A-Z][A-Za-z-]*(\.[A-Za-z-]+)+$`)

// included are permissions that a wider one includes, beside reading what it writes, from the tables of
// Graph's reference.
var included = map[string][]string{
	"User.ReadWrite.All":                     {"User.EnableDisableAccount.All", "User.Invite.All", "User-ConvertToInternal.ReadWrite.All"},
	"Group.ReadWrite.All":                    {"GroupMember.ReadWrite.All", "GroupMember.Read.All"},
	"Group.Read.All":                         {"GroupMember.Read.All"},
	"UserAuthenticationMethod.ReadWrite.All": {"UserAuthMethod-TAP.ReadWrite.All"},
	"Organization.Read.All":                  {"LicenseAssignment.Read.All"},
	"Directory.Read.All":                     {"User.Read.All", "Group.Read.All", "GroupMember.Read.All", "Domain.Read.All", "LicenseAssignment.Read.All"},
	// It does not include deleting users, which User.ReadWrite.All does.
	"Directory.ReadWrite.All": {"Group.ReadWrite.All", "GroupMember.ReadWrite.All", "User.Invite.All", "Directory.Read.All"},
}

// Includes tells whether one of the granted permissions is the wanted one or includes it.
func Includes(granted []string, wanted string) bool {
	return slices.ContainsFunc(granted, func(have string) bool { return includes(have, wanted) })
}

func includes(have, wanted string) bool {
	if have == wanted {
		return true
	}
	if resource, writes := strings.CutSuffix(have, ".ReadWrite.All"); writes && wanted == resource+".Read.All" {
		return true
	}
	return slices.ContainsFunc(included[have], func(inner string) bool { return includes(inner, wanted) })
}

// Grants are the permissions in the tokens of an application, by the API that a token is for. An API knows no permissions of
// another one.
type Grants struct {
	Graph    []string
	Exchange []string // of Exchange Online, whose permissions begin with Exchange.
}

func (g Grants) include(wanted string) bool {
	if strings.HasPrefix(wanted, "Exchange.") {
		return Includes(g.Exchange, wanted)
	}
	return Includes(g.Graph, wanted)
}

// Missing returns the permissions that a function names and that are not granted. It judges no texts that are
// not the names of permissions.
func Missing(granted Grants, f catalog.Function) (missing []string) {
	for _, p := range f.Permissions {
		if name.MatchString(p) && !granted.include(p) {
			missing = append(missing, p)
		}
	}
	return missing
}
