package infra_test

import (
	"path"
	"strings"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// roleCalled finds the id of a role by the name that Bicep has for it: serviceBusDataOwner
// or 'Azure Service Bus Data Owner'.
func roleCalled(name string) string {
	plain := func(name string) string {
		return strings.NewReplacer(" ", "", "-", "", "azure", "", "db", "").Replace(strings.ToLower(name))
	}
	for id, known := range roleNames {
		if plain(known) == plain(name) {
			return id
		}
	}
	return "a role of that name"
}

// rights compares the ids of roles with their names, and finds ids that stand elsewhere.
func (d *drift) rights() {
	for name, source := range d.files {
		if path.Ext(name) != ".bicep" {
			continue
		}
		file, _ := bicep.Parse(name, string(source.Data))
		listed := map[bicep.Position]bool{}
		for _, variable := range file.Variables {
			object, is := variable.Value.(*bicep.Object)
			if variable.Text != "roles" || !is {
				continue
			}
			for _, property := range object.Properties {
				id, _ := bicep.Literal(property.Value)
				listed[property.Value.At()] = true
				d.same(name+": role "+property.Text, id, roleCalled(property.Text))
			}
		}
		file.Walk(func(e bicep.Expression) bool {
			if text, literal := bicep.Literal(e); literal && len(text) == 36 && strings.Count(text, "-") == 4 && !listed[e.At()] {
				d.say("%s:%d: the id %s stands outside of the roles", name, e.At().Line, text)
			}
			return true
		})
	}
}
