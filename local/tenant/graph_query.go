package tenant

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Page sizes of a collection.
const (
	defaultPage = 100
	maxPage     = 999
)

// option is the value of a system query option, with or without its dollar.
func (c *call) option(name string) (string, bool) {
	for _, key := range []string{"$" + name, name} {
		if values := c.query[key]; len(values) > 0 {
			return values[0], true
		}
	}
	return "", false
}

// onlyOptions refuses system query options that the operation does not have.
func (c *call) onlyOptions(names ...string) *reply {
	for key := range c.query {
		name, isOption := strings.CutPrefix(key, "$")
		if (isOption || slices.Contains([]string{"filter", "select", "top", "expand", "orderby", "search", "count", "skip"}, name)) && !slices.Contains(names, name) {
			return graphError(http.StatusBadRequest, "Request_UnsupportedQuery", "The query option '$%s' is not supported.", name)
		}
	}
	return nil
}

// selected are the properties named by $select, nil when there is none.
func (c *call) selected(resource string, properties map[string]property) ([]string, *reply) {
	list, present := c.option("select")
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
			return nil, graphError(http.StatusBadRequest, "BadRequest",
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
	if value, present := c.option("top"); present {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxPage {
			return p, graphError(http.StatusBadRequest, "Request_UnsupportedQuery", "Invalid page size specified: '%s'. Must be between 1 and %d inclusive.", value, maxPage)
		}
		p.size = n
	}
	if value, present := c.option("skiptoken"); present {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return p, graphError(http.StatusBadRequest, "Directory_ExpiredPageToken", "The specified page token value has expired and can no longer be included in your request.")
		}
		p.skip = n
	}
	return p, nil
}

// listing is one page of a collection with the link to the next.
func (c *call) listing(set string, all []map[string]any, p page) *reply {
	start := min(p.skip, len(all))
	end := min(start+p.size, len(all))
	value := all[start:end]
	if value == nil {
		value = []map[string]any{}
	}
	body := map[string]any{"@odata.context": c.context(set), "value": value}
	if end < len(all) {
		query := url.Values{}
		for key, values := range c.query {
			query[key] = values
		}
		query.Set("$skiptoken", strconv.Itoa(end))
		var escaped []string
		for _, segment := range c.path {
			escaped = append(escaped, url.PathEscape(segment))
		}
		body["@odata.nextLink"] = c.base + "/" + c.version() + "/" + strings.Join(escaped, "/") + "?" + query.Encode()
	}
	return ok(body)
}

func (s *Server) listUsers(c *call) *reply {
	page, refusal := c.paging("filter")
	if refusal != nil {
		return refusal
	}
	selected, refusal := c.selected("user", userProperties)
	if refusal != nil {
		return refusal
	}
	match, refusal := c.filter("User", []string{"userPrincipalName", "mail", "mailNickname", "employeeId"}, "proxyAddresses")
	if refusal != nil {
		return refusal
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	_, asOf := s.times()
	var found []map[string]any
	for _, u := range s.dir.users.all(func(h *history[User]) (User, bool) { return h.visible(asOf) }) {
		if match(u) {
			found = append(found, project(userProperties, u, selected))
		}
	}
	return c.listing("users", found, page)
}
