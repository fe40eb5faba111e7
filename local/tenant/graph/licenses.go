package graph

import (
	"errors"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// exchangeService is the service whose plans give a mailbox.
const exchangeService = "exchange"

// assigned are the products that a user or a group has directly, with the plans that are disabled.
func assigned(properties map[string]any) map[string][]string {
	have := map[string][]string{}
	list, _ := properties["assignedLicenses"].([]any)
	for _, item := range list {
		license, _ := item.(map[string]any)
		have[directory.Fold(directory.Text(license["skuId"]))] = directory.Texts(license["disabledPlans"])
	}
	return have
}

func stateList(u directory.User) []map[string]any {
	list, _ := u["licenseAssignmentStates"].([]any)
	states := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if state, ok := item.(map[string]any); ok {
			states = append(states, state)
		}
	}
	return states
}

func (s *Service) license(sku string) (directory.License, bool) {
	i := slices.IndexFunc(s.Directory.Licenses, func(l directory.License) bool { return directory.Fold(l.SkuID) == directory.Fold(sku) })
	if i < 0 {
		return directory.License{}, false
	}
	return s.Directory.Licenses[i], true
}

// assignLicense adds and removes products of a user. Both lists must be there.
func (s *Service) assignLicense(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	add, hasAdd := body["addLicenses"].([]any)
	remove, hasRemove := body["removeLicenses"].([]any)
	if !hasAdd || !hasRemove {
		return badRequest("One or more parameters of the operation 'assignLicense' are missing from the request payload. The missing parameters are: addLicenses or removeLicenses.")
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	now, asOf := s.Times()
	seen, found := s.findUser(c.Arg["user"], asOf)
	if !found {
		return notFound(c.Arg["user"])
	}
	u, exists := s.Directory.Users.Latest(seen.ID())
	if !exists {
		return notFound(c.Arg["user"])
	}
	direct := assigned(u)
	for _, sku := range directory.Texts(remove) {
		if _, has := direct[directory.Fold(sku)]; has {
			delete(direct, directory.Fold(sku))
			continue
		}
		for _, state := range stateList(u) {
			if directory.Fold(directory.Text(state["skuId"])) == directory.Fold(sku) && state["assignedByGroup"] != nil {
				return badRequest("User license is inherited from a group membership and it cannot be removed directly from the user.")
			}
		}
		return badRequest("User does not have a corresponding license.")
	}
	for _, item := range add {
		license, _ := item.(map[string]any)
		if refusal := s.addLicense(u, direct, license); refusal != nil {
			return refusal
		}
	}
	changes, refusal := s.licensed(u, direct, now)
	if refusal != nil {
		return refusal
	}
	if err := errors.Join(s.Directory.Commit(asOf, changes...), s.Provision()); err != nil {
		return s.storageFailed(err)
	}
	latest, _ := s.Directory.Users.Latest(u.ID())
	answer := project(userProperties, latest, nil)
	answer["@odata.context"] = c.context("users/$entity")
	return odata.OK(answer)
}

// addLicense adds one product to those that a user has directly.
func (s *Service) addLicense(u directory.User, direct map[string][]string, license map[string]any) *reply {
	sku := directory.Fold(directory.Text(license["skuId"]))
	l, known := s.license(sku)
	if !known {
		return badRequest("License %s does not correspond to a valid company License.", sku)
	}
	disabled := []string{}
	for _, id := range directory.Texts(license["disabledPlans"]) {
		if !slices.ContainsFunc(l.Plans, func(p directory.ServicePlan) bool { return directory.Fold(p.ID) == directory.Fold(id) }) {
			return badRequest("Disabled plan %s does not correspond to the license %s.", id, sku)
		}
		disabled = append(disabled, directory.Fold(id))
	}
	if u.Text("usageLocation") == "" {
		return badRequest("License assignment cannot be done for user with invalid usage location.")
	}
	if _, has := direct[sku]; !has && !s.holds(u, sku) && s.Directory.ConsumedUnits(l) >= l.Enabled {
		return badRequest("Subscription with SKU %s does not have any available licenses.", sku)
	}
	direct[sku] = disabled
	return nil
}

// holds tells whether a user has a product without errors.
func (s *Service) holds(u directory.User, sku string) bool {
	return slices.ContainsFunc(stateList(u), func(state map[string]any) bool {
		return directory.Fold(directory.Text(state["skuId"])) == sku && state["state"] == "Active"
	})
}

// licensed are the changes that the products of a user bring: to the user at once, and to its mailbox
// and provisioned plans after ProvisionDelay.
func (s *Service) licensed(u directory.User, direct map[string][]string, now time.Time) ([]directory.Change, *reply) {
	next := s.withLicenses(u, direct, now)
	due := directory.Provisioning{UserID: u.ID(), At: now.Add(s.ProvisionDelay)}
	if hasService(next, exchangeService) {
		if _, refusal := s.Mailbox(next, due.At); refusal != nil {
			return nil, refusal
		}
	} else {
		waiting, _ := s.Directory.Provisionings.Latest(u.ID())
		due.Disconnects = waiting.Disconnects || hasService(s.withLicenses(u, assigned(u), now), exchangeService)
	}
	return []directory.Change{directory.PutUser(next, now), directory.PutProvisioning(due, now)}, nil
}

// Provision gives users whose licences changed their mailboxes and plans, once it is time. The caller has locked the directory.
func (s *Service) Provision() error {
	now, asOf := s.Times()
	for _, p := range s.Directory.DueProvisionings(now) {
		changes := []directory.Change{directory.EndProvisioning(p.UserID, now)}
		if u, exists := s.Directory.Users.Latest(p.UserID); exists {
			changes = append(changes, s.provision(u, p)...)
		}
		if err := s.Directory.Commit(asOf, changes...); err != nil {
			return err
		}
	}
	return nil
}

// provision are the changes of a provisioning. A mailbox whose address another recipient got meanwhile is not made.
func (s *Service) provision(u directory.User, p directory.Provisioning) []directory.Change {
	var changes []directory.Change
	next := u.With(map[string]any{"provisionedPlans": orNull(provisioned(u, "Success"))})
	if hasService(next, exchangeService) {
		r, refusal := s.Mailbox(next, p.At)
		if refusal == nil {
			changes, next = append(changes, directory.PutRecipient(r, p.At)), directory.WrittenBack(next, r)
		} else {
			next["provisionedPlans"] = provisioned(u, "Error")
		}
	} else if r, exists := s.Directory.Recipients.Latest(u.ID()); p.Disconnects && exists && r.Kind == directory.UserMailbox && r.MailboxType == "" {
		r.Kind, r.Disconnected = directory.DisconnectedMailbox, p.At.UTC().Truncate(time.Second)
		changes = append(changes, directory.PutRecipient(r, p.At))
	}
	return append(changes, directory.PutUser(next, p.At))
}

// withLicenses is a user with the products that it has directly and from its groups.
func (s *Service) withLicenses(u directory.User, direct map[string][]string, now time.Time) directory.User {
	skus := []string{}
	for sku := range direct {
		skus = append(skus, sku)
	}
	slices.Sort(skus)
	licenses, states, plans := []any{}, []any{}, []any{}
	active := map[string]bool{}
	put := func(sku string, disabled []string, group any, state, problem string) {
		states = append(states, map[string]any{
			"skuId": sku, "disabledPlans": disabled, "assignedByGroup": group, "state": state, "error": problem,
			"lastUpdatedDateTime": now.UTC().Format(time.RFC3339),
		})
		l, _ := s.license(sku)
		for _, p := range l.Plans {
			if state == "Active" && !slices.Contains(disabled, directory.Fold(p.ID)) && !active[directory.Fold(p.ID)] {
				active[directory.Fold(p.ID)] = true
				plans = append(plans, map[string]any{
					"servicePlanId": p.ID, "service": p.Service, "capabilityStatus": "Enabled", "assignedDateTime": now.UTC().Format(time.RFC3339),
				})
			}
		}
	}
	for _, sku := range skus {
		licenses = append(licenses, map[string]any{"skuId": sku, "disabledPlans": direct[sku]})
		put(sku, direct[sku], nil, "Active", "None")
	}
	for _, state := range stateList(u) {
		if group := state["assignedByGroup"]; group != nil {
			put(directory.Fold(directory.Text(state["skuId"])), directory.Texts(state["disabledPlans"]), group, directory.Text(state["state"]), directory.Text(state["error"]))
		}
	}
	return u.With(map[string]any{"assignedLicenses": orNull(licenses), "licenseAssignmentStates": orNull(states), "assignedPlans": orNull(plans)})
}

// orNull has a user without licences look like one that never had any.
func orNull(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

// provisioned are the plans of a user with their status, which for those of Exchange is given.
func provisioned(u directory.User, exchange string) []any {
	out := []any{}
	plans, _ := u["assignedPlans"].([]any)
	for _, item := range plans {
		plan, _ := item.(map[string]any)
		status := "Success"
		if plan["service"] == exchangeService {
			status = exchange
		}
		out = append(out, map[string]any{"service": plan["service"], "capabilityStatus": "Enabled", "provisioningStatus": status})
	}
	return out
}

func hasService(u directory.User, service string) bool {
	plans, _ := u["assignedPlans"].([]any)
	return slices.ContainsFunc(plans, func(item any) bool {
		plan, _ := item.(map[string]any)
		return plan["service"] == service
	})
}
