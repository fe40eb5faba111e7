package graph

import (
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// Page sizes of a collection.
const (
	defaultPage = 100
	maxPage     = 999
)

// onlyOptions refuses system query options that the operation does not have.
func (c *call) onlyOptions(names ...string) *reply {
	for key := range c.Query {
		name, isOption := strings.CutPrefix(key, "$")
		if (isOption || slices.Contains([]string{"filter", "select", "top", "expand", "orderby", "search", "count", "skip"}, name)) && !slices.Contains(names, name) {
			return odata.Error(http.StatusBadRequest, "Request_UnsupportedQuery", "The query option '$%s' is not supported.", name)
		}
	}
	return nil
}

// selected are the properties named by $select, nil when there is none.
func (c *call) selected(resource string, properties map[string]property) ([]string, *reply) {
	list, present := c.Option("select")
	if !present || list == "" {
		return nil, nil
	}
	names := []string{}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "*" {
			return nil, nil
		}
		real, known := propertyName(properties, name)
		if !known {
			return nil, odata.Error(http.StatusBadRequest, "BadRequest",
				"Parsing OData Select and Expand failed: Could not find a property named '%s' on type 'microsoft.graph.%s'.", name, resource)
		}
		names = append(names, real)
	}
	return names, nil
}

// propertyName finds a property; Graph compares their names without case.
func propertyName(properties map[string]property, name string) (string, bool) {
	if _, ok := properties[name]; ok {
		return name, true
	}
	for known := range properties {
		if strings.EqualFold(known, name) {
			return known, true
		}
	}
	return "", false
}

type page struct{ size, skip int }

// paging reads $top and the $skiptoken of a nextLink; other names the options
// that the collection has besides these and $select.
func (c *call) paging(other ...string) (page, *reply) {
	if refusal := c.onlyOptions(append(other, "select", "top", "skiptoken")...); refusal != nil {
		return page{}, refusal
	}
	p := page{size: defaultPage}
	if value, present := c.Option("top"); present {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxPage {
			return p, odata.Error(http.StatusBadRequest, "Request_UnsupportedQuery", "Invalid page size specified: '%s'. Must be between 1 and %d inclusive.", value, maxPage)
		}
		p.size = n
	}
	if value, present := c.Option("skiptoken"); present {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return p, odata.Error(http.StatusBadRequest, "Directory_ExpiredPageToken", "The specified page token value has expired and can no longer be included in your request.")
		}
		p.skip = n
	}
	return p, nil
}

// selection is the objects of a page, and how many all are.
type selection struct {
	value []map[string]any
	count int
}

// of is the page of a collection. It makes no others of its objects.
func (p page) of(all iter.Seq[func() map[string]any]) selection {
	s := selection{value: []map[string]any{}}
	for object := range all {
		if s.count >= p.skip && len(s.value) < p.size {
			s.value = append(s.value, object())
		}
		s.count++
	}
	return s
}

// listing is one page of a collection with the link to the next.
func (c *call) listing(set string, all []map[string]any, p page) *reply {
	return c.pageOf(set, p.of(func(yield func(func() map[string]any) bool) {
		for _, object := range all {
			if !yield(func() map[string]any { return object }) {
				return
			}
		}
	}), p)
}

// pageOf is a page with the link to the next.
func (c *call) pageOf(set string, s selection, p page) *reply {
	end := p.skip + len(s.value)
	body := map[string]any{"@odata.context": c.context(set), "value": s.value}
	if count, _ := c.Option("count"); count == "true" {
		body["@odata.count"] = s.count
	}
	if end < s.count {
		query := url.Values{}
		for key, values := range c.Query {
			query[key] = values
		}
		query.Set("$skiptoken", strconv.Itoa(end))
		var escaped []string
		for _, segment := range c.Path {
			escaped = append(escaped, url.PathEscape(segment))
		}
		body["@odata.nextLink"] = c.Base + "/" + c.version() + "/" + strings.Join(escaped, "/") + "?" + query.Encode()
	}
	return odata.OK(body)
}

func (s *Service) listUsers(c *call) *reply {
	page, refusal := c.paging("filter", "count", "expand")
	if refusal == nil {
		refusal = c.checkCount()
	}
	if refusal != nil {
		return refusal
	}
	withManager, refusal := c.expandsManager()
	if refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("user", userProperties)
	if refusal != nil {
		return refusal
	}
	match, refusal := c.filter(filterable{"User", []string{
		"id", "userPrincipalName", "mail", "mailNickname", "employeeId", "displayName", "department", "companyName", "jobTitle", "userType",
		"usageLocation", "country", "accountEnabled", "employeeType", "officeLocation", "onPremisesExtensionAttributes",
	}, []string{"proxyAddresses"}, map[string]string{"userPrincipalName": "upn", "mailNickname": "userNickname", "proxyAddresses": "proxy"}})
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	_, asOf := s.Times()
	users := s.Directory.Users.EachVisible(asOf)
	if ids, narrow := match.candidates(s.Directory, asOf); narrow {
		users = s.Directory.Users.Among(ids, asOf)
	}
	found := page.of(func(yield func(func() map[string]any) bool) {
		for u := range users {
			if match.holds(u) && !yield(func() map[string]any {
				user := project(userProperties, u, selected)
				if manager := u.Text("managerId"); withManager && manager != "" {
					user["manager"] = map[string]any{"@odata.type": "#microsoft.graph.user", "id": manager}
				}
				return user
			}) {
				return
			}
		}
	})
	return c.pageOf("users", found, page)
}

// expandsManager tells whether a request asks for the ids of managers, the one expansion that is understood.
func (c *call) expandsManager() (bool, *reply) {
	switch expand, present := c.Option("expand"); {
	case !present:
		return false, nil
	case expand == "manager($select=id)":
		return true, nil
	default:
		return false, odata.Error(http.StatusBadRequest, "Request_UnsupportedQuery", "The query option '$expand=%s' is not supported.", expand)
	}
}

// listDeleted lists the users in the deleted items, with all properties.
func (s *Service) listDeleted(c *call) *reply {
	page, refusal := c.paging()
	if refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("user", userProperties)
	if refusal != nil {
		return refusal
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	var found []map[string]any
	for _, u := range s.Directory.DeletedUsers {
		found = append(found, project(userProperties, u, selected))
	}
	return c.listing("directoryObjects", found, page)
}
