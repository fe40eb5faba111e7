package bicep

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// deploymentName is what a module's name becomes, which bounds it.
func deploymentName() *Type {
	most := 64
	return &Type{Kind: KindString, Limits: Limits{MaxLength: &most}}
}

// module checks what a file is given against the parameters that it declares.
func (u *unit) module(d *Module) {
	u.decorated("module", d.Decorators)
	u.batched(d.Decorators, d.Loop)
	known := u.head(d.Loop, d.Condition)
	u.references(d.Body)
	u.expression(d.Body, known, asProperty)
	for _, property := range d.Body.Properties {
		if !slices.Contains([]string{"name", "params", "scope", "dependsOn"}, property.Text) {
			u.find(property.Position, "unknown-property", "a module has no property %s: there are name, params, scope and dependsOn%s", property.Text,
				didYouMean(property.Text, []string{"name", "params", "scope", "dependsOn"}))
		}
	}
	if name := d.Body.Property("name"); name != nil {
		u.early(name.Value, "name")
		u.assign(name.Value, deploymentName(), known)
	}
	target := u.target(d)
	if target == nil || target.broken {
		return
	}
	u.scoped(d, target)
	u.arguments(d, target, known)
}

// target is the file of a module, or nil.
func (u *unit) target(d *Module) *unit {
	if strings.Contains(d.Source, ":") || path.Ext(d.Source) != ".bicep" {
		u.find(d.Reference, "module-file", "a module is the path of a .bicep file beside this one, not %s", d.Source)
		return nil
	}
	if where := u.beside(d.Source); u.units[where] != nil {
		return u.units[where]
	}
	var names []string
	for name := range u.units {
		if path.Dir(name) == path.Dir(u.beside(d.Source)) && name != u.Path {
			names = append(names, path.Base(name))
		}
	}
	u.find(d.Reference, "module-file", "there is no file %s%s", u.beside(d.Source), didYouMean(path.Base(d.Source), names))
	return nil
}

// scoped checks that a module is deployed to the scope that it is written for.
func (u *unit) scoped(d *Module, target *unit) {
	scope := d.Body.Property("scope")
	if scope == nil {
		if target.TargetScope != u.TargetScope {
			u.find(d.Reference, "scope", "%s is deployed to %s and this file to %s: the module needs a scope", d.Source, target.TargetScope, u.TargetScope)
		}
		return
	}
	u.early(scope.Value, "scope")
	if t := u.typeOf(scope.Value, nil); t.kind() != KindAny && t.kind() != KindObject {
		u.find(scope.Value.At(), "scope", "scope is resourceGroup('name') or the like, not %s", t)
	}
	if call, is := scope.Value.(*Call); is && functions[call.Text].gives.kind() == KindObject && call.Text != target.TargetScope {
		u.find(scope.Value.At(), "scope", "%s is deployed to %s, not to %s", d.Source, target.TargetScope, call.Text)
	}
}

// arguments holds params against the parameters of the file.
func (u *unit) arguments(d *Module, target *unit, known *locals) {
	parameters := map[string]*Parameter{}
	for _, parameter := range target.Parameters {
		parameters[parameter.Text] = parameter
	}
	given := map[string]bool{}
	var params *Object
	if property := d.Body.Property("params"); property != nil {
		var is bool
		if params, is = property.Value.(*Object); !is {
			u.find(property.Value.At(), "kind", "params is an object that is written out")
			return
		}
	}
	if params != nil {
		for _, property := range params.Properties {
			parameter := parameters[property.Text]
			given[property.Text] = true
			if parameter == nil {
				u.find(property.Position, "unknown-param", "%s has no parameter %s%s", d.Source, property.Text, nearest(property.Text, slices.Collect(maps.Keys(parameters))))
				continue
			}
			if _, null := property.Value.(*Null); null && parameter.Default != nil {
				continue
			}
			u.assign(property.Value, parameter.declared(), known)
			u.kept(property.Value, "parameter "+parameter.Text+" of "+d.Source, parameter.Decorators)
		}
	}
	var missing []string
	for name, parameter := range parameters {
		if parameter.Default == nil && !given[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		at := d.Body.At()
		if params != nil {
			at = params.At()
		}
		u.find(at, "missing-param", "%s needs %s", d.Source, list(missing))
	}
}
