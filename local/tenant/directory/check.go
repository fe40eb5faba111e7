package directory

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	upnPattern     = regexp.MustCompile(`^[A-Za-z0-9'._\-+!#$^~]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$`)
	addressPattern = regexp.MustCompile(`^[^@\s<>(),;:"\\]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$`)
)

// ValidUPN tells whether s has the form of a user principal name.
func ValidUPN(s string) bool { return upnPattern.MatchString(s) }

// ValidAddress tells whether s has the form of an SMTP address without prefix.
func ValidAddress(s string) bool { return addressPattern.MatchString(s) }

// Accepts tells whether an address is in a domain of the tenant.
func (d *Directory) Accepts(address string) bool {
	return len(d.Domains) == 0 || d.Domains[Fold(address[strings.LastIndexByte(address, '@')+1:])]
}

// Refusal is the text of Entra ID for a change that it refuses.
type Refusal string

func (r Refusal) Error() string { return string(r) }

func conflict(property string) Refusal {
	return Refusal("Another object with the same value for property " + property + " already exists.")
}

// CheckUser refuses a user whose values are malformed or taken.
func (d *Directory) CheckUser(u User) error {
	if err := d.CheckForm(u); err != nil {
		return err
	}
	return d.CheckUnique(u)
}

// CheckForm refuses a user whose values are malformed.
func (d *Directory) CheckForm(u User) error {
	upn := u.UPN()
	if !ValidUPN(upn) {
		return Refusal("Invalid value specified for property 'userPrincipalName' of resource 'User'.")
	}
	if _, domain, _ := strings.Cut(upn, "@"); len(d.Domains) > 0 && !d.Domains[Fold(domain)] {
		return Refusal("The domain portion of the userPrincipalName property is invalid. You must use one of the verified domain names in your organization.")
	}
	nickname := u.Text("mailNickname")
	if nickname == "" || len(nickname) > 64 || strings.ContainsAny(nickname, "@()\\[]\";:<>, ") {
		return Refusal("Invalid value specified for property 'mailNickname' of resource 'User'.")
	}
	for _, address := range append(slices.Clone(u.List("otherMails")), u.Text("mail")) {
		if address != "" && !ValidAddress(address) {
			property := "otherMails"
			if address == u.Text("mail") {
				property = "mail"
			}
			return Refusal(fmt.Sprintf("Invalid value specified for property '%s' of resource 'User'.", property))
		}
	}
	if location := u.Text("usageLocation"); location != "" && len(location) != 2 {
		return Refusal("Invalid value specified for property 'usageLocation' of resource 'User'.")
	}
	return nil
}

// CheckUnique refuses a user with a value that another one has.
func (d *Directory) CheckUnique(u User) error {
	id := u.ID()
	if d.Taken("upn", u.UPN(), id) {
		return conflict("userPrincipalName")
	}
	if d.Taken("userNickname", u.Text("mailNickname"), id) {
		return conflict("mailNickname")
	}
	for _, address := range u.List("proxyAddresses") {
		if d.Taken("proxy", address, id) {
			return conflict("proxyAddresses")
		}
	}
	return nil
}
