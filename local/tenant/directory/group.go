package directory

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// InitialDomain is the domain that the tenant was created with; empty if it has none in onmicrosoft.com.
func (d *Directory) InitialDomain() string {
	for _, name := range slices.Sorted(maps.Keys(d.Domains)) {
		if InitialAddress(name) {
			return name
		}
	}
	return ""
}

// InitialAddress tells whether an address, or a domain, is in onmicrosoft.com.
func InitialAddress(address string) bool { return strings.HasSuffix(Fold(address), ".onmicrosoft.com") }

// WithMail is a new mail-enabled group with its addresses, and its recipient. A Microsoft 365 group without an address
// gets one of its mailNickname and the initial domain.
func (d *Directory) WithMail(g Group) (Group, Recipient, error) {
	nickname, mail := Text(g.Properties["mailNickname"]), Text(g.Properties["mail"])
	kind := DistributionGroup
	switch {
	case !g.ExchangeManaged():
		kind = GroupMailbox
	case g.Properties["securityEnabled"] == true:
		kind = MailEnabledSecurity
	}
	if kind == GroupMailbox && mail == "" {
		first := ""
		if len(d.Domains) > 0 {
			first = slices.Min(slices.Collect(maps.Keys(d.Domains)))
		}
		mail = nickname + "@" + cmp.Or(d.InitialDomain(), first, "tenant.onmicrosoft.com")
	}
	if !ValidAddress(mail) {
		return g, Recipient{}, Refusal("Invalid value specified for property 'mail' of resource 'Group'.")
	}
	addresses := WithPrimary(Texts(g.Properties["proxyAddresses"]), mail)
	properties := maps.Clone(g.Properties)
	properties["mail"], properties["proxyAddresses"] = mail, addresses
	g.Properties = properties
	name := Text(g.Properties["displayName"])
	r := Recipient{
		Kind: kind, GUID: uuid.NewString(), ExternalDirectoryObjectID: g.ID(), Name: name, DisplayName: name, Alias: nickname, EmailAddresses: addresses,
	}
	if kind == GroupMailbox { // display names of Microsoft 365 groups are not unique
		r.Name = nickname + "_" + g.ID()
	}
	return g, r, nil
}

// CheckMail refuses a mail-enabled group with an address or a nickname that another recipient has.
func (d *Directory) CheckMail(g Group) error {
	for _, a := range Texts(g.Properties["proxyAddresses"]) {
		if d.Taken("proxy", a, g.ID()) {
			return conflict("proxyAddresses")
		}
	}
	if d.Taken("alias", Text(g.Properties["mailNickname"]), g.ID()) {
		return conflict("mailNickname")
	}
	return nil
}
