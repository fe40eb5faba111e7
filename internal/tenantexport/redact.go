package tenantexport

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/snapshot"
)

// redactor replaces names, addresses and ids. Equal values, without regard to case, stay equal, in all properties; parts that addresses share stay shared. A value that it does not know is replaced.
type redactor struct{ key []byte }

func newRedactor(key []byte) *redactor { return &redactor{key} }

// kept are the properties whose values identify no one, in lower case. One with a dot is kept in the property before the dot only.
var kept = set(
	"accountEnabled", "userType", "usageLocation", "showInAddressList", "ageGroup", "consentProvidedForMinor", "passwordPolicies", "preferredDataLocation",
	"preferredLanguage", "assignedLicenses", "assignedPlans", "provisionedPlans", "createdDateTime", "creationType", "externalUserState",
	"externalUserStateChangeDateTime", "lastPasswordChangeDateTime", "signInSessionsValidFromDateTime", "deletedDateTime", "onPremisesSyncEnabled", "employeeHireDate",
	"mailEnabled", "securityEnabled", "visibility", "isAssignableToRole", "groupTypes", "resourceProvisioningOptions",
	"RecipientTypeDetails", "MailboxType", "AccessRights", "AutoReplyState", "ExternalAudience", "StartTime", "EndTime",
	"licenseAssignmentStates.skuId", "licenseAssignmentStates.disabledPlans", "licenseAssignmentStates.state", "licenseAssignmentStates.error",
	"licenseAssignmentStates.lastUpdatedDateTime",
)

func set(names ...string) map[string]bool {
	s := map[string]bool{}
	for _, name := range names {
		s[strings.ToLower(name)] = true
	}
	return s
}

// addressKinds are the prefixes of addresses.
var addressKinds = []string{"smtp", "sip", "x500", "x400", "eum", "spo", "notes", "msmail", "ccmail", "gwise"}

// directoryKeys and directoryNames are the keys and values in distinguished names of Exchange that all tenants have.
var (
	directoryKeys  = []string{"o", "ou", "cn"}
	directoryNames = []string{"exchangelabs", "exchange administrative group (fydibohf23spdlt)", "first administrative group", "recipients", "configuration", "servers"}
)

var (
	guidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	holdForm = regexp.MustCompile(`^(-?[a-zA-Z]*?)([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(:\d+)?$`)
	hostForm = regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$`)
)

// object redacts an object of a snapshot.
func (r *redactor) object(kind snapshot.Kind, object any) (any, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	switch kind {
	case snapshot.Licenses: // of products, not of people
		return value, nil
	case snapshot.Domains:
		name, _ := value.(string)
		return r.domain(name), nil
	case snapshot.OrganizationHolds:
		name, _ := value.(string)
		return r.hold(name), nil
	case snapshot.DeletedUsers:
		u, _ := value.(map[string]any)
		return r.deletedUser(u), nil
	}
	return r.walk("", value, kind == snapshot.Policies), nil
}

// deletedUser redacts a user in the deleted items, whose sign-in name begins with the id without dashes. Both parts are redacted as
// elsewhere, so that another user's name is still the same.
func (r *redactor) deletedUser(u map[string]any) any {
	id, _ := u["id"].(string)
	name, _ := u["userPrincipalName"].(string)
	prefix := strings.ReplaceAll(id, "-", "")
	if prefix == "" || len(name) < len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
		return r.walk("", u, false)
	}
	delete(u, "userPrincipalName")
	r.walk("", u, false)
	u["userPrincipalName"] = strings.ReplaceAll(r.text(id), "-", "") + r.text(name[len(prefix):])
	return u
}

// walk redacts a value of a property. In policies, only names and ids are redacted: other texts are keywords, such as All or
// Office365.
func (r *redactor) walk(name string, value any, policy bool) any {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if folded := strings.ToLower(key); !kept[folded] && !kept[strings.ToLower(name)+"."+folded] {
				v[key] = r.walk(key, member, policy)
			}
		}
	case []any:
		for i, item := range v {
			v[i] = r.walk(name, item, policy)
		}
	case string:
		switch folded := strings.ToLower(name); {
		case policy && !guidForm.MatchString(v) && !slices.Contains([]string{"displayname", "description", "rule"}, folded):
			return v
		case folded == "inplaceholds":
			return r.hold(v)
		case folded == "onpremisesdomainname":
			return r.domain(v)
		case folded == "user" && (v == "Default" || v == "Anonymous"):
			return v
		}
		return r.text(v)
	}
	return value
}

// text redacts a text by its form.
func (r *redactor) text(s string) string {
	trimmed := strings.TrimSpace(s)
	kind, rest, hasKind := strings.Cut(trimmed, ":")
	local, domain, hasDomain := cutLast(trimmed, "@")
	switch {
	case trimmed == "", trimmed == zeroGUID:
		return trimmed
	case guidForm.MatchString(trimmed):
		return r.id(trimmed)
	case hasKind && slices.Contains(addressKinds, strings.ToLower(kind)):
		return kind + ":" + r.text(rest)
	case strings.HasPrefix(strings.ToLower(trimmed), "/o="):
		return r.directoryName(trimmed)
	case hasDomain && hostForm.MatchString(domain):
		return r.local(local) + "@" + r.domain(domain)
	}
	return r.local(trimmed)
}

// local redacts a word, or the local part of an address. That of a guest has the guest's own address.
func (r *redactor) local(s string) string {
	if own, guest := strings.CutSuffix(strings.ToLower(s), "#ext#"); guest {
		if name, domain, found := cutLast(own, "_"); found && hostForm.MatchString(domain) {
			return r.local(name) + "_" + r.domain(domain) + "#EXT#"
		}
	}
	return "w" + r.digest("word", s)[:12]
}

func (r *redactor) domain(s string) string {
	folded := strings.ToLower(strings.TrimSpace(s))
	for _, suffix := range []string{".mail.onmicrosoft.com", ".onmicrosoft.com"} {
		if name, initial := strings.CutSuffix(folded, suffix); initial {
			return "d" + r.digest("domain", name)[:12] + suffix
		}
	}
	return "d" + r.digest("domain", folded)[:12] + ".example"
}

func (r *redactor) id(s string) string {
	id := uuid.UUID(r.sum("id", s)[:16])
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id.String()
}

// hold redacts the id of a retention policy, and keeps its prefix and action.
func (r *redactor) hold(s string) string {
	parts := holdForm.FindStringSubmatch(s)
	if parts == nil {
		return r.text(s)
	}
	return parts[1] + strings.ReplaceAll(r.id(parts[2]), "-", "") + parts[3]
}

// directoryName redacts the parts of a name such as /o=Contoso/cn=Recipients/cn=ada. A part without a key is the rest of a
// value with a slash.
func (r *redactor) directoryName(s string) string {
	parts := strings.Split(s, "/")
	for i, part := range parts {
		key, value, _ := strings.Cut(part, "=")
		switch {
		case part == "":
		case !slices.Contains(directoryKeys, strings.ToLower(key)):
			parts[i] = r.local(part)
		case !slices.Contains(directoryNames, strings.ToLower(value)):
			parts[i] = key + "=" + r.local(value)
		}
	}
	return strings.Join(parts, "/")
}

func (r *redactor) digest(what, s string) string { return hex.EncodeToString(r.sum(what, s)) }

func (r *redactor) sum(what, s string) []byte {
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(what + "\x00" + strings.ToLower(strings.TrimSpace(s))))
	return mac.Sum(nil)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
