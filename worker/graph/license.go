package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	abstractions "github.com/microsoft/kiota-abstractions-go"
	"github.com/microsoftgraph/msgraph-sdk-go/models"
	"github.com/microsoftgraph/msgraph-sdk-go/subscribedskus"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// UserLicenseResult is the result of Add-EntraUserLicense.
type UserLicenseResult struct {
	SkuPartNumber string
	SkuID         string `json:"SkuId"`
}

// product is a subscription of the tenant.
type product struct {
	id, part          string
	enabled, consumed int
	plans             map[string]string // ids by folded name
}

// product finds a product by its part number.
func (c *Client) product(ctx context.Context, part string) (found product, err error) {
	known := false
	err = c.do(ctx, c.paces.reads, func(ctx context.Context) error {
		page, err := c.graph.SubscribedSkus().Get(ctx, &subscribedskus.SubscribedSkusRequestBuilderGetRequestConfiguration{
			QueryParameters: &subscribedskus.SubscribedSkusRequestBuilderGetQueryParameters{
				Select: []string{"skuId", "skuPartNumber", "consumedUnits", "prepaidUnits", "servicePlans"},
			},
		})
		if err != nil {
			return err
		}
		known = false
		for _, sku := range page.GetValue() { // the operation has neither filter nor pages
			if strings.EqualFold(value(sku.GetSkuPartNumber()), part) && sku.GetSkuId() != nil {
				known, found = true, productFrom(sku)
			}
		}
		return nil
	})
	if err == nil && !known {
		err = &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: "the tenant has no subscription of " + part}
	}
	return found, err
}

func productFrom(sku models.SubscribedSkuable) product {
	p := product{id: sku.GetSkuId().String(), part: value(sku.GetSkuPartNumber()), consumed: number(sku.GetConsumedUnits()), plans: map[string]string{}}
	if prepaid := sku.GetPrepaidUnits(); prepaid != nil {
		p.enabled = number(prepaid.GetEnabled())
	}
	for _, plan := range sku.GetServicePlans() {
		if plan.GetServicePlanId() != nil {
			p.plans[strings.ToLower(value(plan.GetServicePlanName()))] = plan.GetServicePlanId().String()
		}
	}
	return p
}

// planIDs are the ids of plans by their names.
func (p product) planIDs(names []string) ([]string, error) {
	ids := []string{}
	for _, name := range names {
		id, known := p.plans[strings.ToLower(name)]
		if !known {
			return nil, &catalog.Failure{Type: catalog.FailureParameters, Attempts: 1, Message: fmt.Sprintf("DisabledPlans names %q, which is no service plan of %s", name, p.part)}
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// assignment is the body of assignLicense, which needs both lists.
type assignment struct {
	Add    []assignedLicense `json:"addLicenses"`
	Remove []string          `json:"removeLicenses"`
}

type assignedLicense struct {
	SkuID         string   `json:"skuId"`
	DisabledPlans []string `json:"disabledPlans"`
}

func (c *Client) assign(ctx context.Context, user string, body assignment) error {
	return c.send(ctx, c.paces.writes, abstractions.POST, "/v1.0/users/"+user+"/assignLicense", body)
}

// addLicense writes without reading the user first, like setUPN.
func (c *Client) addLicense(ctx context.Context, p catalog.Params) (any, error) {
	user := p.String("UserId")
	wanted, err := c.product(ctx, p.String("SkuPartNumber"))
	if err != nil {
		return nil, err
	}
	disabled, err := wanted.planIDs(p.List("DisabledPlans"))
	if err != nil {
		return nil, err
	}
	body := assignment{Add: []assignedLicense{{wanted.id, disabled}}, Remove: []string{}}
	err = c.assign(ctx, user, body)
	if failed(err, "invalid usage location") && p.Has("UsageLocation") {
		if _, err = c.patch(ctx, user, func(u models.Userable) { u.SetUsageLocation(new(p.String("UsageLocation"))) }); err == nil {
			err = c.assign(ctx, user, body)
		}
	}
	if failed(err, "does not have any available licenses") {
		return nil, &catalog.Failure{
			Type: catalog.FailureConflict, Attempts: 1,
			Message: fmt.Sprintf("no licence of %s is left: %d of %d are assigned", wanted.part, wanted.consumed, wanted.enabled),
		}
	}
	if err != nil {
		return nil, err
	}
	return UserLicenseResult{SkuPartNumber: wanted.part, SkuID: wanted.id}, nil
}

func (c *Client) removeLicense(ctx context.Context, p catalog.Params) (any, error) {
	user := p.String("UserId")
	unwanted, err := c.product(ctx, p.String("SkuPartNumber"))
	if err != nil {
		return nil, err
	}
	err = c.assign(ctx, user, assignment{Add: []assignedLicense{}, Remove: []string{unwanted.id}})
	switch {
	case failed(err, "does not have a corresponding license"):
		return true, nil
	case err != nil && !failed(err, "inherited from a group"):
		return nil, err
	}
	// A repetition finds the licence of the group alone, so that the first attempt looks for it, too.
	held, readErr := c.heldLicenses(ctx, user)
	if readErr != nil {
		return nil, readErr
	}
	if groups := held.groups(unwanted.id); groups != "" || err != nil {
		return nil, conflict(fmt.Sprintf("the user has %s from %s: remove the user from the group, or the licence from the group", unwanted.part, cmp.Or(groups, "a group")))
	}
	return true, nil
}

// heldLicenses are the licences of a user.
type heldLicenses struct {
	states   []models.LicenseAssignmentStateable
	services []models.ProvisionedPlanable
}

func (c *Client) heldLicenses(ctx context.Context, id string) (heldLicenses, error) {
	user, err := c.user(ctx, id, "id", "licenseAssignmentStates", "provisionedPlans")
	if err != nil {
		return heldLicenses{}, err
	}
	return heldLicenses{user.GetLicenseAssignmentStates(), user.GetProvisionedPlans()}, nil
}

// groups names the groups that a user has a product from; empty for none.
func (h heldLicenses) groups(sku string) string {
	var ids []string
	for _, state := range h.states {
		if group := value(state.GetAssignedByGroup()); group != "" && skuOf(state) == sku {
			ids = append(ids, group)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return "group " + strings.Join(ids, " and group ")
}

func skuOf(state models.LicenseAssignmentStateable) string {
	if state.GetSkuId() == nil {
		return ""
	}
	return state.GetSkuId().String()
}

// status is the provisioning status of a service: the worst of its plans.
func (h heldLicenses) status(service string) string {
	status := ""
	for _, plan := range h.services {
		if !strings.EqualFold(value(plan.GetService()), service) || strings.EqualFold(value(plan.GetCapabilityStatus()), "Deleted") {
			continue
		}
		if s := value(plan.GetProvisioningStatus()); status == "" || !strings.EqualFold(s, provisioned) {
			status = s
		}
	}
	return status
}

// provisioned is the provisioning status of a service that works, and activeState the state of an
// assignment without errors.
const provisioned, activeState = "Success", "Active"

// UserLicenseTestResult is the result of Test-EntraUserLicense.
type UserLicenseTestResult struct {
	Complete bool            `json:"complete"`
	Reason   string          `json:"reason,omitempty"` // why it is not complete
	Data     UserLicenseData `json:"data"`
}

// UserLicenseData tells of one licence of one user.
type UserLicenseData struct {
	UserID           string `json:"UserId"`
	SkuPartNumber    string
	ExpectedAssigned bool
	Assigned         bool
	Assignments      []LicenseAssignment
	ExpectedServices []string        `json:",omitempty"`
	Services         []ServiceStatus `json:",omitempty"`
}

// LicenseAssignment is a way in which a user has a licence.
type LicenseAssignment struct {
	AssignedByGroup string `json:",omitempty"` // empty: directly
	State           string
	Error           string `json:",omitempty"`
}

// ServiceStatus is the provisioning status of a service, empty where it has none.
type ServiceStatus struct{ Service, Status string }

func (c *Client) testUserLicense(ctx context.Context, p catalog.Params) (any, error) {
	wanted, err := c.product(ctx, p.String("SkuPartNumber"))
	if err != nil {
		return nil, err
	}
	if !p.Bool("ExpectedAssigned", true) && len(p.List("Services")) > 0 {
		return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "Services are given for a licence that is not expected: give one of Services and ExpectedAssigned: false"}
	}
	held, err := c.heldLicenses(ctx, p.String("UserId"))
	if err != nil {
		return nil, err
	}
	data := UserLicenseData{
		UserID: p.String("UserId"), SkuPartNumber: wanted.part, ExpectedAssigned: p.Bool("ExpectedAssigned", true),
		Assignments: []LicenseAssignment{}, ExpectedServices: p.List("Services"),
	}
	for _, state := range held.states {
		if skuOf(state) != wanted.id {
			continue
		}
		a := LicenseAssignment{AssignedByGroup: value(state.GetAssignedByGroup()), State: value(state.GetState())}
		if e := value(state.GetError()); !strings.EqualFold(e, "None") {
			a.Error = e
		}
		data.Assignments = append(data.Assignments, a)
		data.Assigned = data.Assigned || strings.EqualFold(a.State, activeState)
	}
	for _, service := range data.ExpectedServices {
		data.Services = append(data.Services, ServiceStatus{service, held.status(service)})
	}
	reason := strings.Join(data.differences(), "; ")
	return UserLicenseTestResult{Complete: reason == "", Reason: reason, Data: data}, nil
}

// differences are the values that are not as expected.
func (d UserLicenseData) differences() []string {
	var all []string
	switch {
	case !d.ExpectedAssigned && len(d.Assignments) > 0:
		all = append(all, "the user has "+d.SkuPartNumber+d.Assignments[0].origin()+", expected no licence")
	case !d.ExpectedAssigned:
	case len(d.Assignments) == 0:
		all = append(all, "the user does not have "+d.SkuPartNumber+", expected a licence")
	case !d.Assigned:
		for _, a := range d.Assignments {
			all = append(all, fmt.Sprintf("%s%s is in state %s%s, expected %s", d.SkuPartNumber, a.origin(), a.State, inParentheses(a.Error), activeState))
		}
	}
	for _, s := range d.Services {
		if !strings.EqualFold(s.Status, provisioned) {
			status := s.Status
			if status == "" {
				status = "not provisioned"
			}
			all = append(all, fmt.Sprintf("service %s is %s, expected %s", s.Service, status, provisioned))
		}
	}
	return slices.Clip(all)
}

func (a LicenseAssignment) origin() string {
	if a.AssignedByGroup == "" {
		return ""
	}
	return " from group " + a.AssignedByGroup
}

func inParentheses(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
