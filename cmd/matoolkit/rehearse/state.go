package rehearse

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/local/tenant"
)

// state sums up a tenant.
type state struct {
	tenant.Summary
	licenses []License
	deleted  []tenant.User
}

// kindUser is the kind of users among changed objects.
const kindUser = "user"

func states(ends map[string]*end) map[string]state {
	all := map[string]state{}
	for name, e := range ends {
		s := state{Summary: e.server.Summary(), deleted: e.server.DeletedUsers()}
		for _, l := range e.server.Licenses() {
			s.licenses = append(s.licenses, License{SKU: l.SkuPartNumber, Bought: l.Enabled, UsedBefore: l.Consumed + s.Licensed[strings.ToLower(l.SkuID)]})
		}
		all[name] = s
	}
	return all
}

// Change is how an object of a tenant differs after a rehearsal.
type Change struct {
	Tenant string  `json:"tenant"`
	Kind   string  `json:"kind"` // user, group or recipient
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	Effect string  `json:"effect"` // created, changed or deleted
	Fields []Field `json:"fields"`
}

// Field is one property of a changed object. A value that is missing is nil.
type Field struct {
	Name   string `json:"name"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

// changes are how the objects of a tenant differ from before.
func changes(name string, changed []tenant.ObjectChange) []Change {
	var all []Change
	for _, o := range changed {
		c := Change{Tenant: name, Kind: o.Kind, ID: o.ID, Effect: "changed", Fields: []Field{}}
		a, b := properties(o.Before), properties(o.After)
		switch {
		case o.Before == nil:
			c.Effect = "created"
		case o.After == nil:
			c.Effect = "deleted"
		}
		for _, field := range slices.Sorted(maps.Keys(union(a, b))) {
			if !reflect.DeepEqual(a[field], b[field]) {
				c.Fields = append(c.Fields, Field{field, a[field], b[field]})
			}
		}
		c.Name = cmp.Or(nameOf(b), nameOf(a), o.ID)
		if len(c.Fields) > 0 {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func union(a, b map[string]any) map[string]any {
	both := maps.Clone(a)
	if both == nil {
		both = map[string]any{}
	}
	maps.Copy(both, b)
	return both
}

// properties are an object's as JSON has them.
func properties(o any) map[string]any {
	if o == nil {
		return nil
	}
	if g, is := o.(tenant.Group); is {
		flat := map[string]any{"members": g.Members, "owners": g.Owners}
		maps.Copy(flat, g.Properties)
		o = flat
	}
	encoded, err := json.Marshal(o)
	if err != nil {
		panic(err) // it came from JSON
	}
	var flat map[string]any
	if err := json.Unmarshal(encoded, &flat); err != nil {
		panic(err) // it is an object
	}
	return flat
}

func nameOf(p map[string]any) string {
	for _, field := range []string{"userPrincipalName", "UserPrincipalName", "displayName", "DisplayName", "Name"} {
		if name, is := p[field].(string); is && name != "" {
			return name
		}
	}
	return ""
}

// twins are people who get a sign-in name or address that a deleted user of the tenant has.
func twins(name string, before state, changed []Change) []ErrorGroup {
	owner := map[string]tenant.User{} // by name and address, in lower case
	for _, u := range before.deleted {
		for _, has := range namesOf(u) {
			owner[has] = u
		}
	}
	g := ErrorGroup{Phase: name, Step: "deleted users", Error: "a deleted user of the tenant has the same name or address"}
	for _, c := range changed {
		if c.Kind != kindUser || c.Effect == "deleted" {
			continue
		}
		got := tenant.User{}
		for _, f := range c.Fields {
			got[f.Name] = f.After
		}
		for _, has := range namesOf(got) {
			if u, found := owner[has]; found && u.ID() != c.ID {
				g.Members = append(g.Members, Failed{c.Name, fmt.Sprintf(
					"%s is also the name or address of %s (%s), which was deleted at %s: remove it for good, or restore it instead of a new account", has, u.Text("displayName"), u.ID(), u.Text("deletedDateTime"))})
				break
			}
		}
	}
	if len(g.Members) == 0 {
		return nil
	}
	return []ErrorGroup{g}
}

// namesOf are the sign-in name and the SMTP addresses of a user, in lower case.
func namesOf(u tenant.User) []string {
	var all []string
	for _, text := range append([]string{u.SignInName(), u.Text("mail")}, u.List("proxyAddresses")...) {
		text = strings.ToLower(text)
		if rest, smtp := strings.CutPrefix(text, "smtp:"); smtp {
			text = rest
		}
		if text != "" && !strings.Contains(text, ":") {
			all = append(all, text)
		}
	}
	return all
}
