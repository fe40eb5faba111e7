package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

// applyTo is the recipient after the parameters of a Set cmdlet.
func (p *command) applyTo(current directory.Recipient, externalMovesPrimary bool) (directory.Recipient, *reply) {
	next := current
	next.EmailAddresses = slices.Clone(current.EmailAddresses)
	next.Custom = maps.Clone(current.Custom)
	if value, present := p.parameters["emailaddresses"]; present {
		addresses, refusal := changeAddresses(current.EmailAddresses, value)
		if refusal != nil {
			return next, refusal
		}
		next.EmailAddresses = addresses
	}
	for _, parameter := range []string{"windowsemailaddress", "primarysmtpaddress"} {
		if _, present := p.parameters[parameter]; !present {
			continue
		}
		address, refusal := p.smtp(parameter)
		if refusal != nil {
			return next, refusal
		}
		next.EmailAddresses = directory.WithPrimary(next.EmailAddresses, address)
	}
	if _, present := p.parameters["externalemailaddress"]; present {
		address, refusal := p.smtp("externalemailaddress")
		if refusal != nil {
			return next, refusal
		}
		if externalMovesPrimary && strings.EqualFold(next.Primary(), current.ExternalEmailAddress) {
			next.EmailAddresses = directory.WithPrimary(next.EmailAddresses, address)
		}
		next.ExternalEmailAddress = address
	}
	for parameter, field := range map[string]*string{"exchangeguid": &next.ExchangeGUID, "archiveguid": &next.ArchiveGUID} {
		if _, present := p.parameters[parameter]; !present {
			continue
		}
		guid, err := uuid.Parse(directory.Text(p.parameters[parameter]))
		if err != nil {
			return next, cmdletFailure(parameterBinding, "Cannot process argument transformation on parameter '%s'. Cannot convert value \"%v\" to type \"System.Guid\".", p.names[parameter], p.parameters[parameter])
		}
		*field = guid.String()
	}
	fields := map[string]*string{
		"alias": &next.Alias, "displayname": &next.DisplayName, "name": &next.Name, "microsoftonlineservicesid": &next.UserPrincipalName,
	}
	for parameter, field := range fields {
		value, present := p.parameters[parameter]
		if !present {
			continue
		}
		if directory.Text(value) == "" {
			return next, cmdletFailure(parameterBinding, "Cannot bind argument to parameter '%s' because it is an empty string.", p.names[parameter])
		}
		*field = directory.Text(value)
	}
	if value, present := p.parameters["hiddenfromaddresslistsenabled"]; present {
		hidden, isBool := value.(bool)
		if !isBool {
			return next, cmdletFailure(parameterBinding, "Cannot process argument transformation on parameter 'HiddenFromAddressListsEnabled'. Cannot convert value \"%v\" to type \"System.Boolean\".", value)
		}
		next.Hidden = hidden
	}
	if _, present := p.parameters["enablelitigationholdformigration"]; present {
		hold := false
		if refusal := p.boolean("enablelitigationholdformigration", &hold); refusal != nil {
			return next, refusal
		}
		if hold {
			holds := directory.Holds{}
			if current.Holds != nil {
				holds = *current.Holds
			}
			holds.Litigation, next.Holds = true, &holds
		}
	}
	for i := 1; i <= 15; i++ {
		name := fmt.Sprintf("CustomAttribute%d", i)
		if value, present := p.parameters[directory.Fold(name)]; present {
			if _, isText := value.(string); !isText {
				return next, cmdletFailure(parameterBinding, "Cannot process argument transformation on parameter '%s'. Cannot convert value to type System.String.", name)
			}
			if next.Custom == nil {
				next.Custom = map[string]string{}
			}
			next.Custom[name] = directory.Text(value)
		}
	}
	return next, nil
}

func (p *command) smtp(parameter string) (string, *reply) {
	return smtpAddress(directory.Text(p.parameters[parameter]))
}

// smtpAddress is an address without its optional prefix.
func smtpAddress(value string) (string, *reply) {
	address := value
	if prefix, rest, has := strings.Cut(value, ":"); has && strings.EqualFold(prefix, "smtp") {
		address = rest
	}
	if !directory.ValidAddress(address) {
		return "", cmdletFailure(invalidData, "The address '%s' is invalid: \"%s\" isn't a valid SMTP address. The domain name can't contain spaces and it has to have a prefix and a suffix, such as example.com.", value, address)
	}
	return address, nil
}

// proxyAddress is an address with its prefix; without one it is a secondary
// SMTP address.
func proxyAddress(value string) (string, *reply) {
	prefix, rest, has := strings.Cut(value, ":")
	if has && rest != "" && !strings.EqualFold(prefix, "smtp") {
		return value, nil // X500:, SIP:, EUM: … are kept as they are
	}
	address, refusal := smtpAddress(value)
	if refusal != nil {
		return "", refusal
	}
	if prefix == "SMTP" && has {
		return "SMTP:" + address, nil
	}
	return "smtp:" + address, nil
}

// changeAddresses reads the EmailAddresses parameter: a whole new collection,
// or a hashtable with Add and Remove.
func changeAddresses(current []string, value any) ([]string, *reply) {
	switch v := value.(type) {
	case string:
		return wholeAddresses([]any{v})
	case []any:
		return wholeAddresses(v)
	case map[string]any:
		return editedAddresses(current, v)
	}
	return nil, cannotConvertAddresses(value)
}

func cannotConvertAddresses(value any) *reply {
	return cmdletFailure(parameterBinding, "Cannot process argument transformation on parameter 'EmailAddresses'. Cannot convert value \"%v\" to type \"Microsoft.Exchange.Data.ProxyAddressCollection\".", value)
}

// wholeAddresses replaces the collection. Without an SMTP: entry the first
// SMTP address becomes the primary one; two of them are refused.
func wholeAddresses(values []any) ([]string, *reply) {
	var out []string
	for _, value := range values {
		given, isText := value.(string)
		if !isText {
			return nil, cannotConvertAddresses(value)
		}
		address, refusal := proxyAddress(given)
		if refusal != nil {
			return nil, refusal
		}
		at := slices.IndexFunc(out, func(a string) bool { return strings.EqualFold(a, address) })
		switch {
		case at < 0:
			out = append(out, address)
		case strings.HasPrefix(address, "SMTP:"):
			out[at] = address
		}
	}
	primaries := 0
	for _, address := range out {
		if strings.HasPrefix(address, "SMTP:") {
			primaries++
		}
	}
	if primaries > 1 {
		return nil, cmdletFailure(invalidData, "The e-mail address list isn't valid: there are multiple primary addresses of type 'SMTP'.")
	}
	if primaries == 1 {
		return out, nil
	}
	for i, address := range out {
		if rest, isSMTP := strings.CutPrefix(address, "smtp:"); isSMTP {
			out[i] = "SMTP:" + rest
			return out, nil
		}
	}
	return nil, cmdletFailure(invalidData, "The e-mail address list isn't valid: there is no primary address of type 'SMTP'.")
}

func editedAddresses(current []string, table map[string]any) ([]string, *reply) {
	if kind := directory.Text(table["@odata.type"]); !strings.EqualFold(kind, "#Exchange.GenericHashTable") {
		return nil, cannotConvertAddresses(table)
	}
	edits := map[string][]string{}
	for key, value := range table {
		if key == "@odata.type" {
			continue
		}
		name := directory.Fold(key)
		if name != "add" && name != "remove" {
			return nil, cmdletFailure(invalidData, "Unable to process the hashtable: \"%s\" isn't a valid key. The keys that are allowed are \"Add\" and \"Remove\".", key)
		}
		values, isList := value.([]any)
		if !isList {
			values = []any{value}
		}
		for _, item := range values {
			given, isText := item.(string)
			if !isText {
				return nil, cannotConvertAddresses(item)
			}
			address, refusal := proxyAddress(given)
			if refusal != nil {
				return nil, refusal
			}
			edits[name] = append(edits[name], address)
		}
	}
	out := slices.Clone(current)
	for _, address := range edits["remove"] {
		out = slices.DeleteFunc(out, func(a string) bool { return strings.EqualFold(a, address) })
	}
	for _, address := range edits["add"] {
		if rest, isPrimary := strings.CutPrefix(address, "SMTP:"); isPrimary {
			out = directory.WithPrimary(out, rest)
		} else if !slices.ContainsFunc(out, func(a string) bool { return strings.EqualFold(a, address) }) {
			out = append(out, address)
		}
	}
	if directory.PrimaryOf(out) == "" {
		return nil, cmdletFailure(invalidData, "The primary SMTP address can't be removed. Make another address the primary one first.")
	}
	return out, nil
}
