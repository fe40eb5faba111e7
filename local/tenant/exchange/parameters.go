package exchange

import (
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
)

// cannotConvert refuses a value of another type than the parameter's.
func (p *command) cannotConvert(parameter, kind string) *reply {
	return cmdletFailure(parameterBinding, "Cannot process argument transformation on parameter '%s'. Cannot convert value \"%v\" to type \"%s\".",
		p.names[parameter], p.parameters[parameter], kind)
}

// missing refuses a command without a parameter, whose name is folded here.
func (p *command) missing(parameters ...string) *reply {
	for _, name := range parameters {
		if _, present := p.parameters[directory.Fold(name)]; !present {
			return cmdletFailure(parameterBinding, "Cannot process command because of one or more missing mandatory parameters: %s.", name)
		}
	}
	return nil
}

// boolean sets field if the parameter is given.
func (p *command) boolean(parameter string, field *bool) *reply {
	value, present := p.parameters[parameter]
	if !present {
		return nil
	}
	b, ok := value.(bool)
	if !ok {
		return p.cannotConvert(parameter, "System.Boolean")
	}
	*field = b
	return nil
}

// choice sets field to the one of the values that the parameter names, if it is given.
func (p *command) choice(parameter string, field *string, values ...string) *reply {
	value, present := p.parameters[parameter]
	if !present {
		return nil
	}
	i := slices.IndexFunc(values, func(v string) bool { return strings.EqualFold(v, directory.Text(value)) })
	if i < 0 {
		return cmdletFailure(parameterBinding, "Cannot process argument transformation on parameter '%s'. Cannot convert value \"%v\": specify one of the following: %s.",
			p.names[parameter], value, strings.Join(values, ", "))
	}
	*field = values[i]
	return nil
}

// text sets field if the parameter is given.
func (p *command) text(parameter string, field *string) *reply {
	value, present := p.parameters[parameter]
	if !present {
		return nil
	}
	s, ok := value.(string)
	if !ok {
		return p.cannotConvert(parameter, "System.String")
	}
	*field = s
	return nil
}

// texts are the strings of a parameter: one, or a list of them.
func (p *command) texts(parameter string) ([]string, *reply) {
	switch v := p.parameters[parameter].(type) {
	case nil:
		return nil, nil
	case string:
		return []string{v}, nil
	case []any:
		if list := directory.Texts(v); len(list) == len(v) {
			return list, nil
		}
	}
	return nil, p.cannotConvert(parameter, "System.String[]")
}

// recipients are the object ids that a parameter leaves of the present ones: the parameter is a list that
// replaces them, or a hashtable with Add and Remove.
func (s *Service) recipients(p *command, parameter string, present []string, kinds []string, asOf time.Time) ([]string, *reply) {
	value, given := p.parameters[parameter]
	if !given {
		return present, nil
	}
	table, isTable := value.(map[string]any)
	if !isTable {
		all, refusal := p.texts(parameter)
		if refusal != nil {
			return nil, refusal
		}
		table, present = map[string]any{"Add": all, "@odata.type": "#Exchange.GenericHashTable"}, nil
	}
	if !strings.EqualFold(directory.Text(table["@odata.type"]), "#Exchange.GenericHashTable") {
		return nil, p.cannotConvert(parameter, "Microsoft.Exchange.Data.MultiValuedProperty")
	}
	next := slices.Clone(present)
	for key, list := range table {
		if key == "@odata.type" {
			continue
		}
		if name := directory.Fold(key); name != "add" && name != "remove" {
			return nil, cmdletFailure(invalidData, "Unable to process the hashtable: \"%s\" isn't a valid key. The keys that are allowed are \"Add\" and \"Remove\".", key)
		}
		values := directory.Texts(list)
		if one := directory.Text(list); one != "" {
			values = []string{one}
		}
		if len(values) == 0 || slices.Contains(values, "") {
			return nil, cmdletFailure(invalidData, "MultiValuedProperty collections cannot contain null values.")
		}
		for _, identity := range values {
			r, found := s.findRecipient(identity, asOf, kinds)
			if !found {
				return nil, exchangeFailure(404, "NotFound", objectNotFound, "Couldn't find object \"%s\". Please make sure that it was spelled correctly or specify a different object.", identity)
			}
			next = directory.Without(next, r.ExternalDirectoryObjectID)
			if directory.Fold(key) == "add" {
				next = append(next, r.ExternalDirectoryObjectID)
			}
		}
	}
	if slices.Equal(next, present) || len(next) == 0 && len(present) == 0 {
		return present, nil
	}
	if len(next) == 0 {
		return nil, nil
	}
	return next, nil
}

// namesOf are the names of recipients by their object ids.
func (s *Service) namesOf(ids []string) []string {
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		name := id
		if r, exists := s.Directory.Recipients.Latest(id); exists {
			name = r.Name
		}
		out = append(out, name)
	}
	return out
}

// mailbox is the mailbox that a command names: as readers see it, and its latest state.
func (s *Service) mailbox(c *call, asOf time.Time) (seen, latest directory.Recipient, refusal *reply) {
	return s.ofKind(c, mailboxKinds, asOf)
}

func (s *Service) mailboxNamed(identity string, asOf time.Time) (seen, latest directory.Recipient, refusal *reply) {
	return s.recipientOf(identity, mailboxKinds, asOf)
}

// ofKind is the recipient of one of the kinds that a command names: as readers see it, and its latest state.
func (s *Service) ofKind(c *call, kinds []string, asOf time.Time) (seen, latest directory.Recipient, refusal *reply) {
	identity, refusal := c.identity()
	if refusal != nil {
		return seen, latest, refusal
	}
	return s.recipientOf(identity, kinds, asOf)
}

func (s *Service) recipientOf(identity string, kinds []string, asOf time.Time) (seen, latest directory.Recipient, refusal *reply) {
	seen, found := s.findRecipient(identity, asOf, kinds)
	if found {
		latest, found = s.Directory.Recipients.Latest(seen.ExternalDirectoryObjectID)
	}
	if !found {
		return seen, latest, recipientNotFound(identity)
	}
	return seen, latest, nil
}
