package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// selectUsers is the $select of users. It always has userPrincipalName, which every user has: where it is null, Graph
// has hidden the properties from an application that may not read them.
func (s *source) selectUsers() string {
	names := []string{"id", "userPrincipalName"}
	for _, c := range s.people.Columns {
		name, _, _ := strings.Cut(c.Property, "/")
		if !strings.HasPrefix(c.Property, runbook.GroupProperty) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

func (s *source) queryUsers(r *rows) error {
	p := s.client.pages(request{
		what: "the users of the filter", path: "/users", header: advanced(), needs: needsUsers,
		query: url.Values{
			"$filter": {s.people.Users}, "$select": {s.selectUsers()}, "$count": {"true"}, "$top": {strconv.Itoa(s.client.page)},
		},
	})
	if err := p.begin(r.ctx); err != nil {
		return err
	}
	number := 0
	r.columns = s.names()
	r.next = func(ctx context.Context) ([]json.RawMessage, error) {
		user, err := p.next(ctx)
		if err != nil {
			return nil, err
		}
		number++
		return s.row(number, user, nil)
	}
	return nil
}

// members are the members of one group who are users.
type members struct {
	*pages
	group object
	count int
}

// queryGroups reads the groups one after another. All of them must exist before the first member is given.
func (s *source) queryGroups(r *rows) error {
	var open []*members
	for _, id := range s.people.Groups {
		m, err := s.openGroup(r.ctx, id)
		if err != nil {
			return err
		}
		open = append(open, m)
	}
	if err := open[0].begin(r.ctx); err != nil {
		return err
	}
	number := 0
	r.columns = s.names()
	r.next = func(ctx context.Context) ([]json.RawMessage, error) {
		for len(open) > 0 {
			m := open[0]
			user, err := m.next(ctx)
			switch {
			case err == nil:
				m.count++
				number++
				return s.row(number, user, m.group)
			case err != io.EOF: // itself
				return nil, err
			}
			if err := m.hidden(); err != nil {
				return nil, err
			}
			open = open[1:]
		}
		return nil, io.EOF
	}
	return nil
}

// openGroup finds a group. Its members are read later.
func (s *source) openGroup(ctx context.Context, id string) (*members, error) {
	names := []string{"id", "displayName", "visibility"}
	for _, c := range s.people.Columns {
		if name, ok := strings.CutPrefix(c.Property, runbook.GroupProperty); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	what := "the group " + id
	path := "/groups/" + url.PathEscape(id)
	m := &members{group: object{}}
	err := s.client.get(ctx, request{what: what, path: path, needs: needsGroups, query: url.Values{"$select": {strings.Join(names, ",")}}}, &m.group)
	if err != nil {
		return nil, err
	}
	m.pages = s.client.pages(request{
		what: "the members of " + what, path: path + "/members/microsoft.graph.user", header: advanced(), needs: needsGroups,
		query: url.Values{"$select": {s.selectUsers()}, "$count": {"true"}, "$top": {strconv.Itoa(s.client.page)}},
	})
	return m, nil
}

// hidden refuses to take a group whose members only some may see for one without members.
func (m *members) hidden() error {
	if m.count > 0 || m.group.text("visibility") != "HiddenMembership" {
		return nil
	}
	return fmt.Errorf("%s: the group hides its members, and none is visible; the app registration of the connection needs the application permission Member.Read.Hidden", m.request.what)
}

// row makes a row of a user.
func (s *source) row(number int, user, group object) ([]json.RawMessage, error) {
	if user.text("userPrincipalName") == "" {
		return nil, fmt.Errorf("the user %s has no userPrincipalName: the app registration of the connection needs the application permission User.Read.All to read more than ids", clip(user.text("id")))
	}
	values := make([]json.RawMessage, len(s.people.Columns))
	for i, c := range s.people.Columns {
		var err error
		if name, ok := strings.CutPrefix(c.Property, runbook.GroupProperty); ok {
			values[i], err = group.property(name)
		} else {
			values[i], err = user.property(c.Property)
		}
		if err != nil {
			return nil, columnError(number, c.Name, err)
		}
	}
	return values, nil
}

// siteID finds a site by its URL.
func (s *source) siteID(ctx context.Context, site string) (string, error) {
	u, err := url.Parse(site)
	if err != nil {
		return "", errors.New("the site is not a URL")
	}
	path := "/sites/" + u.Hostname()
	if u.Path != "" {
		path += ":" + escaped(strings.Trim(u.Path, "/"))
	}
	var found object
	if err := s.client.get(ctx, request{what: "the site " + site, path: path, needs: needsSite, query: url.Values{"$select": {"id"}}}, &found); err != nil {
		return "", err
	}
	id := found.text("id")
	if id == "" {
		return "", fmt.Errorf("the site %s: the answer of Graph has no id", site)
	}
	return "/sites/" + url.PathEscape(id), nil
}

// escaped is a path whose segments are escaped, with a slash before each.
func escaped(path string) string {
	var b strings.Builder
	for segment := range strings.SplitSeq(path, "/") {
		b.WriteString("/" + url.PathEscape(segment))
	}
	return b.String()
}
