package bicep

import (
	"fmt"
	"strings"
)

// Two resources of one type and name are one resource, of which the second declaration
// changes what the first made. What has a condition is left alone: it may be the other
// half of a choice.

// twice checks that no two resources, and no two modules, have the same name.
func (u *unit) twice() {
	seen := map[string]Name{}
	once := func(key string, name Name, at Position) {
		if earlier, is := seen[key]; is {
			u.find(at, "duplicate", "%s has the name of %s in line %d: both would be the same", name.Text, earlier.Text, earlier.Line)
			return
		}
		seen[key] = name
	}
	for _, d := range u.Resources {
		name := d.Body.Value("name")
		if name == nil || d.Existing || d.Condition != nil {
			continue
		}
		u.distinct(d.Loop, d.Body)
		key := strings.Join([]string{strings.ToLower(d.Type), same(name), same(d.Body.Value("parent")), same(d.Body.Value("scope"))}, "\n")
		once(key, d.Name, name.At())
	}
	for _, d := range u.Modules {
		name := d.Body.Value("name")
		if name == nil || d.Condition != nil {
			continue
		}
		u.distinct(d.Loop, d.Body)
		once("module\n"+same(name)+"\n"+same(d.Body.Value("scope")), d.Name, name.At())
	}
}

// distinct checks that what is made in a loop has a name for each turn.
func (u *unit) distinct(l *Loop, body *Object) {
	if l == nil {
		return
	}
	differs := false
	for _, property := range []string{"name", "parent", "scope"} {
		Walk(body.Value(property), func(e Expression) bool {
			if reference, is := e.(*Reference); is && (reference.Text == l.Item.Text || reference.Text == l.Index.Text) {
				differs = true
			}
			return true
		})
	}
	if !differs {
		u.find(body.Value("name").At(), "duplicate", "every turn of the loop has this name: it has to hold %s", l.Item.Text)
	}
}

// same is a text that two expressions have in common only if they come to the same.
func same(e Expression) string {
	var text strings.Builder
	Walk(e, func(e Expression) bool {
		switch e := e.(type) {
		case *String:
			fmt.Fprintf(&text, "%q", e.Segments)
		case *Integer:
			fmt.Fprint(&text, e.Value)
		case *Reference:
			fmt.Fprint(&text, e.Text)
		case *Member:
			fmt.Fprint(&text, ".", e.Member.Text)
		case *Index:
			fmt.Fprint(&text, "[]")
		case *Call:
			fmt.Fprintf(&text, "%s(%d)", e.Text, len(e.Arguments))
		default:
			fmt.Fprintf(&text, "%v", e.At())
		}
		text.WriteByte(' ')
		return true
	})
	return text.String()
}

// moduleCycles reports files that deploy themselves.
func (p *program) moduleCycles() {
	const looking, done = 1, 2
	state := map[*unit]int{}
	var look func(u *unit)
	look = func(u *unit) {
		state[u] = looking
		for _, module := range u.Modules {
			next := u.units[u.beside(module.Source)]
			switch {
			case next == nil:
			case state[next] == looking:
				u.find(module.Reference, "cycle", "%s deploys this file itself, or what deploys it", module.Source)
			case state[next] == 0:
				look(next)
			}
		}
		state[u] = done
	}
	for _, unit := range p.ordered() {
		if state[unit] == 0 {
			look(unit)
		}
	}
}
