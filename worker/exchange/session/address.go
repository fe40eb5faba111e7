package session

import (
	"slices"
	"strings"
)

// SMTP is an address of a mail address' type without that type, "" for other types.
func SMTP(address string) string {
	if kind, rest, ok := strings.Cut(address, ":"); ok && strings.EqualFold(kind, "smtp") {
		return rest
	}
	return ""
}

// Has reports whether a list has an entry, in any case.
func Has(list []string, entry string) bool {
	return slices.ContainsFunc(list, func(a string) bool { return strings.EqualFold(a, entry) })
}

// Edit is the value of EmailAddresses that adds and removes some and leaves the rest.
func Edit(add, remove []string) map[string]any {
	table := map[string]any{"@odata.type": "#Exchange.GenericHashTable"}
	if len(add) > 0 {
		table["Add"] = add
	}
	if len(remove) > 0 {
		table["Remove"] = remove
	}
	return table
}

// IsExternal tells whether mail for the recipient goes to an address outside of the tenant.
func (r Recipient) IsExternal(address string) bool {
	have := r.ExternalEmailAddress
	if s := SMTP(have); s != "" {
		have = s
	}
	return strings.EqualFold(have, address)
}
