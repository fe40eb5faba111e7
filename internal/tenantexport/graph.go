package tenantexport

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/nextlink"
	"github.com/matoolkit/matoolkit/internal/snapshot"
)

// userProperties are the properties of users that the catalogue's functions read or set, and that a list can have.
var userProperties = []string{
	"id", "userPrincipalName", "displayName", "givenName", "surname", "mail", "mailNickname", "proxyAddresses", "otherMails", "imAddresses",
	"accountEnabled", "userType", "usageLocation", "showInAddressList", "ageGroup", "consentProvidedForMinor", "passwordPolicies", "preferredDataLocation",
	"jobTitle", "department", "companyName", "officeLocation", "employeeId", "employeeType", "employeeHireDate", "employeeOrgData",
	"businessPhones", "mobilePhone", "faxNumber", "streetAddress", "postalCode", "city", "state", "country", "preferredLanguage",
	"assignedLicenses", "licenseAssignmentStates", "assignedPlans", "provisionedPlans",
	"createdDateTime", "creationType", "externalUserState", "externalUserStateChangeDateTime", "lastPasswordChangeDateTime", "signInSessionsValidFromDateTime",
	"onPremisesSyncEnabled", "onPremisesImmutableId", "onPremisesUserPrincipalName", "onPremisesDistinguishedName", "onPremisesDomainName",
	"onPremisesSamAccountName", "onPremisesSecurityIdentifier", "onPremisesExtensionAttributes", "securityIdentifier",
}

var groupProperties = []string{
	"id", "displayName", "description", "mailNickname", "mail", "mailEnabled", "securityEnabled", "visibility", "isAssignableToRole", "groupTypes",
	"proxyAddresses", "assignedLicenses", "resourceProvisioningOptions", "createdDateTime", "onPremisesSyncEnabled",
}

const (
	pageSize      = 999
	groupPageSize = 100
	batchSize     = 20 // steps of a $batch
)

// page is a page of a collection.
type page struct {
	Count int              `json:"@odata.count"`
	Value []map[string]any `json:"value"`
	Next  string           `json:"@odata.nextLink"`
}

// get reads a page. path is below v1.0, or a link to a next page.
func (e *export) get(ctx context.Context, path string, units int, header map[string]string) (page, error) {
	address := path
	if !strings.HasPrefix(path, "http") {
		address = strings.TrimRight(e.GraphURL, "/") + "/v1.0/" + path
	}
	var p page
	err := e.do(ctx, request{method: http.MethodGet, address: address, units: units, header: header}, &p)
	return p, err
}

// expired reports whether the link to a page is too old. The kind is then read from the beginning.
func expired(err error) bool {
	return refused(err, http.StatusGone) || refused(err, http.StatusBadRequest) && strings.Contains(err.Error(), "ExpiredPageToken")
}

func query(path string, properties []string, size int, more url.Values) string {
	if more == nil {
		more = url.Values{}
	}
	more.Set("$select", strings.Join(properties, ","))
	more.Set("$top", fmt.Sprint(size))
	return path + "?" + more.Encode()
}

// clean drops control information and what an object does not have.
func clean(object map[string]any) map[string]any {
	for name, value := range object {
		list, isList := value.([]any)
		if value == nil || isList && len(list) == 0 || strings.Contains(name, "@odata.") {
			delete(object, name)
		}
		if members, isObject := value.(map[string]any); isObject {
			if clean(members); len(members) == 0 {
				delete(object, name)
			}
		}
	}
	return object
}

func (e *export) readDomains(ctx context.Context) error {
	if _, complete := e.out.Position(snapshot.Domains); complete {
		return nil
	}
	all, err := e.get(ctx, "domains?$select=id,isVerified", 1, nil)
	if err != nil {
		return err
	}
	var objects []any
	for _, domain := range all.Value {
		if domain["isVerified"] == true {
			objects = append(objects, domain["id"])
		}
	}
	return e.add(snapshot.Domains, "", objects, true)
}

// userPosition is the position of users, with what licences are made of: a snapshot can be encrypted, and cannot be read
// again.
type userPosition struct {
	Next     string            `json:"next"`
	Licensed map[string]int    `json:"licensed"` // users by product
	Services map[string]string `json:"services"` // by service plan
}

func (e *export) userPosition() (p userPosition, complete bool, err error) {
	text, complete := e.out.Position(snapshot.Users)
	if text != "" {
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return p, false, fmt.Errorf("export: the position in users is damaged: %w", err)
		}
	}
	if p.Licensed == nil {
		p.Licensed = map[string]int{}
	}
	if p.Services == nil {
		p.Services = map[string]string{}
	}
	return p, complete, nil
}

func (e *export) readUsers(ctx context.Context) error {
	position, complete, err := e.userPosition()
	if err != nil || complete {
		return err
	}
	// Graph does not count objects with a relationship, and gives pages of 100 of them.
	count, err := e.get(ctx, "users?$select=id&$top=1&$count=true", 1, map[string]string{"ConsistencyLevel": "eventual"})
	if err != nil {
		return err
	}
	e.total[snapshot.Users] = count.Count
	first := query("users", userProperties, pageSize, url.Values{"$expand": {"manager($select=id)"}})
	from := position.Next
	if from == "" {
		from = first
	}
	for from != "" {
		p, err := e.get(ctx, from, 2, nil)
		if expired(err) && from != first {
			if err := e.restart(snapshot.Users, err); err != nil {
				return err
			}
			position, from = userPosition{Licensed: map[string]int{}, Services: map[string]string{}}, first
			continue
		}
		if err != nil {
			return err
		}
		objects := make([]any, len(p.Value))
		for i, user := range p.Value {
			position.count(user)
			if manager, ok := user["manager"].(map[string]any); ok {
				user["managerId"] = manager["id"]
			}
			delete(user, "manager")
			dropTimes(user)
			objects[i] = clean(user)
		}
		from = p.Next
		position.Next = from
		text, err := json.Marshal(position)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if err := e.add(snapshot.Users, string(text), objects, from == ""); err != nil {
			return err
		}
	}
	return nil
}

// count notes the products and service plans of a user.
func (p *userPosition) count(user map[string]any) {
	states, _ := user["licenseAssignmentStates"].([]any)
	seen := map[string]bool{}
	for _, item := range states {
		state, _ := item.(map[string]any)
		sku := strings.ToLower(text(state["skuId"]))
		if text(state["state"]) == "Active" && !seen[sku] {
			seen[sku] = true
			p.Licensed[sku]++
		}
	}
	plans, _ := user["assignedPlans"].([]any)
	for _, item := range plans {
		plan, _ := item.(map[string]any)
		if id, service := strings.ToLower(text(plan["servicePlanId"])), text(plan["service"]); id != "" && service != "" {
			p.Services[id] = service
		}
	}
}

func (e *export) readDeletedUsers(ctx context.Context) error {
	first := query("directory/deletedItems/microsoft.graph.user", append(slices.Clone(userProperties), "deletedDateTime"), pageSize, nil)
	return e.readPages(ctx, snapshot.DeletedUsers, first, func(_ context.Context, found []map[string]any) ([]any, error) {
		objects := make([]any, len(found))
		for i, user := range found {
			dropTimes(user)
			objects[i] = clean(user)
		}
		return objects, nil
	})
}

// dropTimes drops when a user got licences and plans, which no function reads: without it those of people with the same
// licences are equal, and take memory once where the snapshot is loaded.
func dropTimes(user map[string]any) {
	for list, property := range map[string]string{"assignedPlans": "assignedDateTime", "licenseAssignmentStates": "lastUpdatedDateTime"} {
		items, _ := user[list].([]any)
		for _, item := range items {
			if o, is := item.(map[string]any); is {
				delete(o, property)
			}
		}
	}
}

// readPages reads a collection whose position is the link to the next page.
func (e *export) readPages(ctx context.Context, kind snapshot.Kind, first string, convert func(context.Context, []map[string]any) ([]any, error)) error {
	from, complete, err := e.begin(kind)
	if err != nil || complete {
		return err
	}
	if from == "" {
		from = first
	}
	for from != "" {
		p, err := e.get(ctx, from, 1, nil)
		if expired(err) && from != first {
			if err := e.restart(kind, err); err != nil {
				return err
			}
			from = first
			continue
		}
		if err != nil {
			return err
		}
		objects, err := convert(ctx, p.Value)
		if err != nil {
			return err
		}
		if err := e.add(kind, p.Next, objects, p.Next == ""); err != nil {
			return err
		}
		from = p.Next
	}
	return nil
}

// license is the tenant's subscription to one product, as the seed of a local tenant has it.
type license struct {
	SkuPartNumber string        `json:"skuPartNumber"`
	SkuID         string        `json:"skuId"`
	Enabled       int           `json:"enabled"`
	Consumed      int           `json:"consumed"` // by those who are not among the users of the snapshot
	Plans         []servicePlan `json:"servicePlans,omitempty"`
}

type servicePlan struct {
	ID      string `json:"servicePlanId"`
	Name    string `json:"servicePlanName"`
	Service string `json:"service"`
}

func (e *export) readLicenses(ctx context.Context) error {
	if _, complete, err := e.begin(snapshot.Licenses); err != nil || complete {
		return err
	}
	users, _, err := e.userPosition()
	if err != nil {
		return err
	}
	var answer struct {
		Value []struct {
			SkuID, SkuPartNumber, AppliesTo string
			ConsumedUnits                   int
			PrepaidUnits                    struct{ Enabled, Warning int }
			ServicePlans                    []struct{ ServicePlanID, ServicePlanName string }
		}
	}
	address := strings.TrimRight(e.GraphURL, "/") + "/v1.0/subscribedSkus"
	if err := e.do(ctx, request{method: http.MethodGet, address: address, units: 1}, &answer); err != nil {
		return err
	}
	var objects []any
	unknown := 0
	for _, sku := range answer.Value {
		l := license{SkuPartNumber: sku.SkuPartNumber, SkuID: sku.SkuID, Enabled: sku.PrepaidUnits.Enabled + sku.PrepaidUnits.Warning}
		l.Consumed = max(0, sku.ConsumedUnits-users.Licensed[strings.ToLower(sku.SkuID)])
		for _, plan := range sku.ServicePlans {
			service := users.Services[strings.ToLower(plan.ServicePlanID)]
			if service == "" {
				if service = serviceOf(plan.ServicePlanName); service == "" {
					unknown++
				}
			}
			l.Plans = append(l.Plans, servicePlan{plan.ServicePlanID, plan.ServicePlanName, service})
		}
		objects = append(objects, l)
	}
	if unknown > 0 {
		e.out.LeaveOut(snapshot.Licenses, fmt.Sprintf("the services of %d service plans", unknown), "Graph shows the service of a plan at users who have it, and no user has these")
	}
	return e.add(snapshot.Licenses, "", objects, true)
}

// serviceOf is the service of a plan that no user has, where its name shows it. Only mailboxes depend on it.
func serviceOf(plan string) string {
	if strings.HasPrefix(plan, "EXCHANGE_S_") && plan != "EXCHANGE_S_FOUNDATION" {
		return "exchange"
	}
	return ""
}

func (e *export) readPolicies(ctx context.Context) error {
	// This collection has no $top.
	first := "identity/conditionalAccess/policies?$select=id,displayName,state,conditions"
	return e.readPages(ctx, snapshot.Policies, first, func(_ context.Context, found []map[string]any) ([]any, error) {
		objects := make([]any, len(found))
		for i, policy := range found {
			objects[i] = clean(policy)
		}
		return objects, nil
	})
}

// leaveOutPolicies notes that the policies may not be read, unless an earlier run has read them all.
func (e *export) leaveOutPolicies(what string) error {
	if _, complete := e.out.Position(snapshot.Policies); complete {
		return nil
	}
	err := e.out.Restart(snapshot.Policies)
	e.out.LeaveOut(snapshot.Policies, what, "the token does not have the permission "+policyPermission)
	return err
}

// group is a group as the seed of a local tenant has it.
type group struct {
	Properties   map[string]any `json:"properties"`
	Members      []string       `json:"members,omitempty"`
	Owners       []string       `json:"owners,omitempty"`
	SendAs       []string       `json:"sendAs,omitempty"`
	SendOnBehalf []string       `json:"sendOnBehalf,omitempty"`
	Recipient    *recipient     `json:"recipient,omitempty"`
}

// readGroups reads groups with their members and owners, and what Exchange knows of them.
func (e *export) readGroups(ctx context.Context, x *index) error {
	first := query("groups", groupProperties, groupPageSize, nil)
	return e.readPages(ctx, snapshot.Groups, first, func(ctx context.Context, found []map[string]any) ([]any, error) {
		groups := make([]*group, len(found))
		var lists []string
		for i, g := range found {
			groups[i] = &group{Properties: clean(g)}
			id := url.PathEscape(text(g["id"]))
			lists = append(lists, "/groups/"+id+"/members?$select=id&$top=999", "/groups/"+id+"/owners?$select=id&$top=999")
		}
		objects := make([]any, len(groups))
		all, err := e.batch(ctx, lists)
		if err != nil {
			return nil, err
		}
		for i, g := range groups {
			g.Members, g.Owners = e.known(all[2*i], "members"), e.known(all[2*i+1], "owners")
			x.complete(g)
			objects[i] = g
		}
		return objects, nil
	})
}

// known are the ids of users and groups. Devices, contacts and applications are left out.
func (e *export) known(objects []map[string]any, what string) []string {
	var ids []string
	for _, object := range objects {
		switch kind := text(object["@odata.type"]); kind {
		case "#microsoft.graph.user", "#microsoft.graph.group":
			ids = append(ids, text(object["id"]))
		default:
			e.out.LeaveOut(snapshot.Groups, what+" of groups of the type "+strings.TrimPrefix(kind, "#microsoft.graph."), "a local tenant has no such objects")
		}
	}
	return ids
}

// batch reads collections, each to its end, in the order of their paths.
func (e *export) batch(ctx context.Context, paths []string) ([][]map[string]any, error) {
	type step struct {
		ID     string `json:"id"`
		Method string `json:"method"`
		URL    string `json:"url"`
	}
	found := make([][]map[string]any, len(paths))
	next := map[int]string{}
	for i, path := range paths {
		next[i] = path
	}
	for idle := 0; len(next) > 0; {
		var steps []step
		before := idle
		idle++
		for i := range paths {
			if next[i] != "" && len(steps) < batchSize {
				steps = append(steps, step{fmt.Sprint(i), http.MethodGet, next[i]})
			}
		}
		body, err := json.Marshal(map[string]any{"requests": steps})
		if err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		var answer struct {
			Responses []struct {
				ID      string            `json:"id"`
				Status  int               `json:"status"`
				Headers map[string]string `json:"headers"`
				Body    json.RawMessage   `json:"body"`
			} `json:"responses"`
		}
		if err := e.do(ctx, request{
			method: http.MethodPost, address: strings.TrimRight(e.GraphURL, "/") + "/v1.0/$batch", body: body,
			header: map[string]string{"Content-Type": "application/json"}, units: 3 * len(steps), counted: len(steps),
		}, &answer); err != nil {
			return nil, err
		}
		if len(answer.Responses) != len(steps) {
			return nil, fmt.Errorf("export: POST $batch: %d answers to %d requests", len(answer.Responses), len(steps))
		}
		for _, r := range answer.Responses {
			var i int
			if _, err := fmt.Sscan(r.ID, &i); err != nil || i < 0 || i >= len(paths) {
				return nil, fmt.Errorf("export: POST $batch: an answer to the unknown request %q", r.ID)
			}
			switch {
			case r.Status == http.StatusNotFound: // the group was deleted meanwhile
				delete(next, i)
				idle = 0
			case passing(r.Status) || r.Status == http.StatusUnauthorized:
				// The step is sent again. A throttled one delays all.
				if before >= maxAttempts {
					return nil, fmt.Errorf("export: GET %s: %w", next[i], refusalOf(r.Status, r.Body))
				}
				after := e.Backoff << min(before, 6)
				for name, value := range r.Headers {
					if strings.EqualFold(name, "Retry-After") {
						after = max(after, retryAfter(value, e.Config.Now()))
					}
				}
				e.pause(e.GraphURL, after)
			case r.Status/100 != 2:
				return nil, fmt.Errorf("export: GET %s: %w", next[i], refusalOf(r.Status, r.Body))
			default:
				var p page
				if err := json.Unmarshal(r.Body, &p); err != nil {
					return nil, fmt.Errorf("export: GET %s: the answer is not the expected JSON: %w", next[i], err)
				}
				idle = 0
				found[i] = append(found[i], p.Value...)
				if delete(next, i); p.Next != "" {
					u, err := url.Parse(p.Next)
					if err != nil {
						return nil, fmt.Errorf("export: link to the next page: %w", err)
					}
					if err := nextlink.Check(p.Next, e.GraphURL); err != nil {
						return nil, fmt.Errorf("export: %w", err)
					}
					next[i] = strings.TrimPrefix(u.Path, "/v1.0") + "?" + u.RawQuery
				}
			}
		}
	}
	return found, nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
