package tenant

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// exchangeService is the service whose plans give a mailbox.
const exchangeService = "exchange"

// assigned are the products that a user or a group has directly, with the plans that are disabled.
func assigned(properties map[string]any) map[string][]string {
	have := map[string][]string{}
	list, _ := properties["assignedLicenses"].([]any)
	for _, item := range list {
		license, _ := item.(map[string]any)
		have[fold(text(license["skuId"]))] = texts(license["disabledPlans"])
	}
	return have
}

// consumed is how many licences of a product are assigned, to the users of one view of the tenant.
func (s *Server) consumed(l License, view func(*history[User]) (User, bool)) int {
	n := l.Consumed
	for _, u := range s.dir.users.all(view) {
		for _, state := range stateList(u) {
			if fold(text(state["skuId"])) == fold(l.SkuID) && state["state"] == "Active" {
				n++
				break
			}
		}
	}
	return n
}

func stateList(u User) []map[string]any {
	list, _ := u["licenseAssignmentStates"].([]any)
	states := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if state, ok := item.(map[string]any); ok {
			states = append(states, state)
		}
	}
	return states
}

func (s *Server) license(sku string) (License, bool) {
	i := slices.IndexFunc(s.dir.licenses, func(l License) bool { return fold(l.SkuID) == fold(sku) })
	if i < 0 {
		return License{}, false
	}
	return s.dir.licenses[i], true
}

// assignLicense adds and removes products of a user. Both lists must be there.
func (s *Server) assignLicense(c *call) *reply {
	body, refusal := c.object()
	if refusal != nil {
		return refusal
	}
	add, hasAdd := body["addLicenses"].([]any)
	remove, hasRemove := body["removeLicenses"].([]any)
	if !hasAdd || !hasRemove {
		return badRequest("One or more parameters of the operation 'assignLicense' are missing from the request payload. The missing parameters are: addLicenses or removeLicenses.")
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	now, asOf := s.times()
	seen, found := s.findUser(c.arg["user"], asOf)
	if !found {
		return notFound(c.arg["user"])
	}
	u, exists := s.dir.users.rows[seen.ID()].latest()
	if !exists {
		return notFound(c.arg["user"])
	}
	direct := assigned(u)
	for _, sku := range texts(remove) {
		if _, has := direct[fold(sku)]; has {
			delete(direct, fold(sku))
			continue
		}
		for _, state := range stateList(u) {
			if fold(text(state["skuId"])) == fold(sku) && state["assignedByGroup"] != nil {
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
	if err := s.dir.commit(asOf, changes...); err != nil {
		return s.storageFailed(err)
	}
	latest, _ := s.dir.users.rows[u.ID()].latest()
	answer := project(userProperties, latest, nil)
	answer["@odata.context"] = c.context("users/$entity")
	return ok(answer)
}

// addLicense adds one product to those that a user has directly.
func (s *Server) addLicense(u User, direct map[string][]string, license map[string]any) *reply {
	sku := fold(text(license["skuId"]))
	l, known := s.license(sku)
	if !known {
		return badRequest("License %s does not correspond to a valid company License.", sku)
	}
	disabled := []string{}
	for _, id := range texts(license["disabledPlans"]) {
		if !slices.ContainsFunc(l.Plans, func(p ServicePlan) bool { return fold(p.ID) == fold(id) }) {
			return badRequest("Disabled plan %s does not correspond to the license %s.", id, sku)
		}
		disabled = append(disabled, fold(id))
	}
	if u.Text("usageLocation") == "" {
		return badRequest("License assignment cannot be done for user with invalid usage location.")
	}
	if _, has := direct[sku]; !has && !s.holds(u, sku) && s.consumed(l, (*history[User]).latest) >= l.Enabled {
		return badRequest("Subscription with SKU %s does not have any available licenses.", sku)
	}
	direct[sku] = disabled
	return nil
}

// holds tells whether a user has a product without errors.
func (s *Server) holds(u User, sku string) bool {
	return slices.ContainsFunc(stateList(u), func(state map[string]any) bool {
		return fold(text(state["skuId"])) == sku && state["state"] == "Active"
	})
}

// licensed are the changes that the products of a user bring: to the user at once, and to its mailbox
// and provisioned plans after Config.ProvisionDelay.
func (s *Server) licensed(u User, direct map[string][]string, now time.Time) ([]change, *reply) {
	next := s.withLicenses(u, direct, now)
	changes := []change{putUser(next, now)}
	at := now.Add(s.cfg.ProvisionDelay)
	later := next.with(map[string]any{"provisionedPlans": orNull(provisioned(next))})
	if hasService(next, exchangeService) {
		r, refusal := s.mailbox(later)
		if refusal != nil {
			return nil, refusal
		}
		changes = append(changes, putRecipient(r, at))
		later = writtenBack(later, r)
	}
	return append(changes, putUser(later, at)), nil
}

// withLicenses is a user with the products that it has directly and from its groups.
func (s *Server) withLicenses(u User, direct map[string][]string, now time.Time) User {
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
			if state == "Active" && !slices.Contains(disabled, fold(p.ID)) && !active[fold(p.ID)] {
				active[fold(p.ID)] = true
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
			put(fold(text(state["skuId"])), texts(state["disabledPlans"]), group, text(state["state"]), text(state["error"]))
		}
	}
	return u.with(map[string]any{"assignedLicenses": orNull(licenses), "licenseAssignmentStates": orNull(states), "assignedPlans": orNull(plans)})
}

// orNull has a user without licences look like one that never had any.
func orNull(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

func provisioned(u User) []any {
	out := []any{}
	plans, _ := u["assignedPlans"].([]any)
	for _, item := range plans {
		plan, _ := item.(map[string]any)
		out = append(out, map[string]any{"service": plan["service"], "capabilityStatus": "Enabled", "provisioningStatus": "Success"})
	}
	return out
}

func hasService(u User, service string) bool {
	plans, _ := u["assignedPlans"].([]any)
	return slices.ContainsFunc(plans, func(item any) bool {
		plan, _ := item.(map[string]any)
		return plan["service"] == service
	})
}

// mailbox is the recipient of a user with an Exchange plan: a mailbox, or a mail user that waits for its
// mailbox of another tenant, whose ExchangeGuid it has. SMTP addresses in domains that the tenant does not
// have are removed.
func (s *Server) mailbox(u User) (Recipient, *reply) {
	r, exists := s.dir.recipients.rows[u.ID()].latest()
	switch {
	case !exists:
		primary := u.Text("mail")
		if primary == "" || !s.accepts(primary) {
			primary = u.UPN()
		}
		r = Recipient{
			Kind: UserMailbox, GUID: uuid.NewString(), ExternalDirectoryObjectID: u.ID(), Name: u.ID(), DisplayName: u.Text("displayName"),
			Alias: u.Text("mailNickname"), UserPrincipalName: u.UPN(), EmailAddresses: withPrimary(u.List("proxyAddresses"), primary),
			ExchangeGUID: uuid.NewString(),
		}
	case r.Kind == MailUser && orZero(r.ExchangeGUID) == zeroGUID:
		r.Kind, r.ExternalEmailAddress, r.ExchangeGUID = UserMailbox, "", uuid.NewString()
	}
	r.EmailAddresses = slices.DeleteFunc(slices.Clone(r.EmailAddresses), func(a string) bool {
		rest, secondary := strings.CutPrefix(a, "smtp:")
		return secondary && !s.accepts(rest)
	})
	return r, s.checkRecipient(r)
}
