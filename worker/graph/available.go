package graph

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/microsoftgraph/msgraph-sdk-go/domains"
	"github.com/microsoftgraph/msgraph-sdk-go/groups"
	"github.com/microsoftgraph/msgraph-sdk-go/subscribedskus"
	"github.com/microsoftgraph/msgraph-sdk-go/users"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// AddressResult is the result of Test-EntraAddressAvailable.
type AddressResult struct {
	Complete bool        `json:"complete"`
	Reason   string      `json:"reason,omitempty"` // why it is not complete
	Data     AddressData `json:"data"`
}

// AddressData tells of one address. Holder is absent when the address is available.
type AddressData struct {
	Address           string  `json:"Address"`
	ExpectedAvailable bool    `json:"ExpectedAvailable"` // always
	Available         bool    `json:"Available"`
	Holder            *Holder `json:"Holder,omitempty"`
}

// Holder is the owner of an address.
type Holder struct {
	ID   string `json:"Id"`
	Name string `json:"Name"` // the sign-in name of a user, the display name of a group
	Kind string `json:"Kind"` // user or group
}

func (c *Client) testAddress(ctx context.Context, p catalog.Params) (any, error) {
	address := p.String("Address")
	holder, err := c.userWithAddress(ctx, address, p.String("UserId"))
	if err == nil && holder == nil {
		holder, err = c.groupWithAddress(ctx, address)
	}
	if err != nil {
		return nil, err
	}
	result := AddressResult{Complete: holder == nil, Data: AddressData{Address: address, ExpectedAvailable: true, Available: holder == nil, Holder: holder}}
	if holder != nil {
		result.Reason = fmt.Sprintf("%s belongs to the %s %s (%s), expected an available address", address, holder.Kind, holder.Name, holder.ID)
	}
	return result, nil
}

// userWithAddress returns a user, other than except, with the address or sign-in name.
func (c *Client) userWithAddress(ctx context.Context, address, except string) (holder *Holder, err error) {
	filter := "userPrincipalName eq " + quote(address) + " or " + hasAddress(address)
	err = c.do(ctx, c.paces.reads, func(ctx context.Context) error {
		holder = nil
		page, err := c.graph.Users().Get(ctx, &users.UsersRequestBuilderGetRequestConfiguration{
			QueryParameters: &users.UsersRequestBuilderGetQueryParameters{Filter: &filter, Select: []string{"id", "userPrincipalName"}},
		})
		if err != nil {
			return err
		}
		for _, user := range page.GetValue() {
			if id := value(user.GetId()); !strings.EqualFold(id, except) {
				holder = &Holder{ID: id, Name: value(user.GetUserPrincipalName()), Kind: "user"}
			}
		}
		return nil
	})
	return holder, err
}

func (c *Client) groupWithAddress(ctx context.Context, address string) (holder *Holder, err error) {
	filter := hasAddress(address)
	err = c.do(ctx, c.paces.reads, func(ctx context.Context) error {
		page, err := c.graph.Groups().Get(ctx, &groups.GroupsRequestBuilderGetRequestConfiguration{
			QueryParameters: &groups.GroupsRequestBuilderGetQueryParameters{Filter: &filter, Select: []string{"id", "displayName"}},
		})
		if err != nil {
			return err
		}
		for _, group := range page.GetValue() {
			holder = &Holder{ID: value(group.GetId()), Name: value(group.GetDisplayName()), Kind: "group"}
		}
		return nil
	})
	return holder, err
}

// hasAddress is a filter for objects that have an address, as primary or other one. The prefixes
// differ in case, which Graph does not promise to ignore.
func hasAddress(address string) string {
	return "proxyAddresses/any(a:a eq " + quote("smtp:"+address) + ") or proxyAddresses/any(a:a eq " + quote("SMTP:"+address) + ")"
}

// quote writes a text of a filter.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// DomainResult is the result of Test-EntraDomainVerified.
type DomainResult struct {
	Complete bool       `json:"complete"`
	Reason   string     `json:"reason,omitempty"` // why it is not complete
	Data     DomainData `json:"data"`
}

// DomainData tells of one domain.
type DomainData struct {
	Domain           string `json:"Domain"`
	ExpectedVerified bool   `json:"ExpectedVerified"` // always
	Verified         bool   `json:"Verified"`
}

func (c *Client) testDomain(ctx context.Context, p catalog.Params) (any, error) {
	address := p.String("Address")
	domain := strings.ToLower(address[strings.LastIndexByte(address, '@')+1:])
	reason := ""
	err := c.do(ctx, c.paces.reads, func(ctx context.Context) error {
		found, err := c.graph.Domains().ByDomainId(domain).Get(ctx, &domains.DomainItemRequestBuilderGetRequestConfiguration{
			QueryParameters: &domains.DomainItemRequestBuilderGetQueryParameters{Select: []string{"id", "isVerified"}},
		})
		switch verified := found != nil && found.GetIsVerified() != nil && *found.GetIsVerified(); {
		case err == nil && verified:
			reason = ""
			return nil
		case err == nil:
			reason = fmt.Sprintf("domain %s is not verified, expected a verified domain", domain)
			return nil
		}
		// No lag to wait for: a domain is added long before a batch.
		if _, _, status := said(err); status != http.StatusNotFound {
			return err
		}
		reason = fmt.Sprintf("the tenant does not have domain %s, expected a verified domain", domain)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return DomainResult{Complete: reason == "", Reason: reason, Data: DomainData{Domain: domain, ExpectedVerified: true, Verified: reason == ""}}, nil
}

// LicenseResult is the result of Test-EntraLicenseAvailable.
type LicenseResult struct {
	Complete bool        `json:"complete"`
	Reason   string      `json:"reason,omitempty"` // why it is not complete
	Data     LicenseData `json:"data"`
}

// LicenseData tells of the licences of one product.
type LicenseData struct {
	SkuPartNumber     string `json:"SkuPartNumber"`
	ExpectedAvailable int    `json:"ExpectedAvailable"` // at least
	Enabled           int    `json:"Enabled"`
	Consumed          int    `json:"Consumed"`
	Available         int    `json:"Available"`
}

func (c *Client) testLicense(ctx context.Context, p catalog.Params) (any, error) {
	units := 1
	if p.Has("Units") {
		n, err := strconv.Atoi(p.String("Units"))
		if err != nil || n < 1 {
			return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: fmt.Sprintf("Units must be a whole number above 0, not %q", p.String("Units"))}
		}
		units = n
	}
	part := p.String("SkuPartNumber")
	var data LicenseData
	var status string
	known := false
	err := c.do(ctx, c.paces.reads, func(ctx context.Context) error {
		data, status, known = LicenseData{SkuPartNumber: part, ExpectedAvailable: units}, "", false
		page, err := c.graph.SubscribedSkus().Get(ctx, &subscribedskus.SubscribedSkusRequestBuilderGetRequestConfiguration{
			QueryParameters: &subscribedskus.SubscribedSkusRequestBuilderGetQueryParameters{
				Select: []string{"skuPartNumber", "capabilityStatus", "consumedUnits", "prepaidUnits"},
			},
		})
		if err != nil {
			return err
		}
		for _, sku := range page.GetValue() { // the operation has neither filter nor pages
			if !strings.EqualFold(value(sku.GetSkuPartNumber()), part) {
				continue
			}
			known, status = true, value(sku.GetCapabilityStatus())
			if prepaid := sku.GetPrepaidUnits(); prepaid != nil {
				data.Enabled += number(prepaid.GetEnabled())
			}
			data.Consumed += number(sku.GetConsumedUnits())
		}
		data.Available = max(data.Enabled-data.Consumed, 0)
		return nil
	})
	if err != nil {
		return nil, err
	}
	result := LicenseResult{Complete: known && data.Available >= units, Data: data}
	switch {
	case !known:
		result.Reason = fmt.Sprintf("the tenant has no subscription of %s, expected %d available licences", part, units)
	case !result.Complete:
		result.Reason = fmt.Sprintf("%d of %d licences of %s are assigned (subscription %s), expected %d available", data.Consumed, data.Enabled, part, status, units)
	}
	return result, nil
}

func number(n *int32) int {
	if n == nil {
		return 0
	}
	return int(*n)
}
