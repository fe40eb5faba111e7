package exchange

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// customAttributes are the values that a job asks for, empty ones for those to be cleared.
func customAttributes(p catalog.Params) (map[string]string, error) {
	refuse := func(format string, args ...any) (map[string]string, error) {
		return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: fmt.Sprintf(format, args...)}
	}
	names, want := catalog.CustomAttributes(), map[string]string{}
	for _, name := range names {
		if !p.Has(name) {
			continue
		}
		if want[name] = p.String(name); utf8.RuneCountInString(want[name]) > 1024 {
			return refuse("%s has more than 1024 characters", name)
		}
	}
	for _, given := range p.List("ClearAttributes") {
		i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, given) })
		if i < 0 {
			return refuse("ClearAttributes: %q is no custom attribute: give CustomAttribute1 to CustomAttribute15", given)
		}
		if want[names[i]] != "" {
			return refuse("ClearAttributes: %s is also given", names[i])
		}
		want[names[i]] = ""
	}
	if len(want) == 0 {
		return refuse("no custom attribute is given: give one of CustomAttribute1 to CustomAttribute15, or ClearAttributes")
	}
	return want, nil
}

func (c *Client) setCustomAttributes(ctx context.Context, p catalog.Params) (any, error) {
	want, err := customAttributes(p)
	if err != nil {
		return nil, err
	}
	id := p.String("Identity")
	r, err := c.Read(ctx, "Get-Recipient", id)
	if err != nil {
		return nil, err
	}
	get, err := r.Cmdlet("Get")
	if err != nil || r.IsGroup() {
		return nil, &catalog.Failure{
			Type: catalog.FailureConflict, Attempts: 1, Message: fmt.Sprintf("the recipient is a %s: give a mail user or mailbox", r.RecipientType),
		}
	}
	change := map[string]any{}
	for name, value := range want {
		change[name] = value
	}
	if err := c.Set(ctx, r, id, change); err != nil {
		return nil, err
	}
	_, err = session.Until(ctx, c.Session, "the custom attributes are not the new ones", func(have map[string]string) bool { return maps.Equal(have, want) },
		func(ctx context.Context) (map[string]string, error) {
			var found []map[string]any
			if err := c.Invoke(ctx, get, map[string]any{"Identity": id}, &found); err != nil {
				return nil, err
			}
			if len(found) != 1 {
				return nil, session.Ambiguous(get, len(found))
			}
			have := map[string]string{}
			for name := range want {
				value, _ := attribute(found[0], name)
				have[name], _ = value.(string)
			}
			return have, nil
		})
	if err != nil {
		return nil, err
	}
	return true, nil
}
