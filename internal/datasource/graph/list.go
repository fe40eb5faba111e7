package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// queryList reads the items of a SharePoint list. An item lacks the fields without a value, so the fields are compared
// with the columns of the list first: a misspelt one would be empty for everyone.
func (s *source) queryList(r *rows) error {
	list := s.people.List
	site, err := s.siteID(r.ctx, list.Site)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("the list %q of the site %s", list.Name, list.Site)
	path := site + "/lists/" + url.PathEscape(list.Name)
	fields, err := s.fields(r.ctx, what, path)
	if err != nil {
		return err
	}
	q := request{
		what: "the items of " + what, path: path + "/items", needs: needsSite, header: http.Header{},
		query: url.Values{"$expand": {"fields($select=" + strings.Join(fields, ",") + ")"}, "$top": {strconv.Itoa(s.client.page)}},
	}
	if list.Filter != "" {
		q.query.Set("$filter", list.Filter)
		// Without it, SharePoint refuses to filter by a column that has no index. In a large list it may refuse with it too.
		q.header.Set("Prefer", "HonorNonIndexedQueriesWarningMayFailRandomly")
	}
	p := s.client.pages(q)
	if err := p.begin(r.ctx); err != nil {
		return err
	}
	number := 0
	r.columns = s.names()
	r.next = func(ctx context.Context) ([]json.RawMessage, error) {
		item, err := p.next(ctx)
		if err != nil {
			return nil, err
		}
		number++
		return s.item(number, what, item)
	}
	return nil
}

// fields are the internal names that the columns of the runbook name.
func (s *source) fields(ctx context.Context, what, path string) ([]string, error) {
	p := s.client.pages(request{what: "the columns of " + what, path: path + "/columns", needs: needsSite, query: url.Values{"$select": {"name,displayName"}}})
	have, titles := map[string]bool{"id": true}, map[string]string{}
	columns, err := p.all(ctx)
	if err != nil {
		return nil, err
	}
	for _, column := range columns {
		have[column.text("name")] = true
		titles[column.text("displayName")] = column.text("name")
	}
	var fields []string
	for _, c := range s.people.Columns {
		// A lookup or a person is the id of its item.
		if !have[c.Property] && !have[strings.TrimSuffix(c.Property, "LookupId")] {
			hint := ""
			if name, ok := titles[c.Property]; ok {
				hint = fmt.Sprintf("; the internal name of the column with this title is %s", name)
			}
			return nil, fmt.Errorf("%s has no column with the internal name %q%s", what, c.Property, hint)
		}
		if !slices.Contains(fields, c.Property) {
			fields = append(fields, c.Property)
		}
	}
	return fields, nil
}

func (s *source) item(number int, what string, item object) ([]json.RawMessage, error) {
	var fields object
	if err := json.Unmarshal(item["fields"], &fields); err != nil || fields == nil {
		return nil, fmt.Errorf("row %d of the result: the item of %s has no fields", number, what)
	}
	values := make([]json.RawMessage, len(s.people.Columns))
	for i, c := range s.people.Columns {
		var err error
		if values[i], err = fields.property(c.Property); err != nil {
			return nil, columnError(number, c.Name, err)
		}
	}
	return values, nil
}
