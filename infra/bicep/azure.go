package bicep

import (
	"slices"
	"strings"
)

// resource checks a resource against Azure's type of it.
func (u *unit) resource(d *Resource) {
	u.decorated("resource", d.Decorators)
	u.batched(d.Decorators, d.Loop)
	known := u.head(d.Loop, d.Condition)
	u.references(d.Body)
	u.expression(d.Body, known, asProperty)
	resource := u.typeFound(d)
	if resource == nil {
		return
	}
	u.placed(d, resource, known)
	u.named(d, known)
	if d.Existing {
		u.existing(d, resource, known)
		return
	}
	wanted := resource.Body
	if wanted.Variants != nil {
		if wanted = u.variant(d.Body, wanted, known); wanted == nil {
			return
		}
	}
	u.assignProperties(d.Body, wanted, known, []string{"parent", "scope", "dependsOn"})
}

// head checks the loop and the condition of a resource or module, and enters what the
// loop declares.
func (u *unit) head(l *Loop, condition Expression) *locals {
	known := u.loop(l, nil)
	if l != nil {
		u.early(l.List, "the list of a loop")
	}
	if condition != nil {
		u.expression(condition, known, inside)
		u.early(condition, "a condition")
		u.assign(condition, someBool, known)
	}
	return known
}

func (u *unit) typeFound(d *Resource) *ResourceType {
	if found := u.types.find(d.Type, d.APIVersion); found != nil {
		if found.Type != d.Type {
			u.find(d.Reference, "resource-type", "%s is written %s", d.Type, found.Type)
		}
		return found
	}
	if versions := u.types.versions(d.Type); versions != nil {
		u.find(d.Reference, "api-version", "the types of %s are not known in version %s: there is %s", d.Type, d.APIVersion, list(versions))
	} else {
		u.find(d.Reference, "resource-type", "there is no type %s among those that are known%s", d.Type, didYouMean(d.Type, u.types.names()))
	}
	return nil
}

// extends tells whether a resource is put onto others by scope.
func (r *ResourceType) extends() bool {
	return slices.Contains(r.Scopes, "AllExceptExtension") || slices.Contains(r.Scopes, "Unknown") || slices.Contains(r.Scopes, "Extension")
}

// placed checks that a resource may be made where its file is deployed to.
func (u *unit) placed(d *Resource, resource *ResourceType, known *locals) {
	at := strings.ToUpper(u.TargetScope[:1]) + u.TargetScope[1:]
	scope := d.Body.Property("scope")
	if !resource.extends() {
		if scope == nil && !slices.Contains(resource.Scopes, at) {
			u.find(d.Reference, "scope", "%s is made in %s, but this file is deployed to %s", d.Type, list(resource.Scopes), at)
		}
		if scope != nil && !d.Existing {
			u.find(scope.Position, "scope", "%s does not extend another resource: it has no scope, and may have a parent", d.Type)
		}
	}
	if scope == nil {
		return
	}
	u.early(scope.Value, "scope")
	if !d.Existing {
		u.deployable(scope, known, "scope", false)
	}
}

// deployable checks that a property refers to a resource.
func (u *unit) deployable(property *Property, known *locals, what string, modules bool) *symbol {
	s := u.deployed(property.Value)
	_, call := property.Value.(*Call)
	switch {
	case call && what == "scope":
		return nil
	case s == nil:
		u.find(property.Value.At(), "reference", "%s is the name of a resource", what)
		return nil
	}
	if _, module := s.declaration.(*Module); module && !modules {
		u.find(property.Value.At(), "reference", "%s is the name of a resource, and %s is a module", what, s.Text)
		return nil
	}
	if t := u.typeOf(property.Value, known); t.kind() == KindArray {
		u.find(property.Value.At(), "reference", "%s is made in a loop: say which one, as in %s[0]", s.Text, s.Text)
		return nil
	}
	return s
}

// named checks parent and name: a child has a parent and a simple name, or a name with
// those of its ancestors before it.
func (u *unit) named(d *Resource, known *locals) {
	depth := strings.Count(d.Type, "/") - 1
	parent := d.Body.Property("parent")
	if parent != nil {
		if s := u.deployable(parent, known, "parent", false); s != nil {
			of := s.declaration.(*Resource)
			if above := d.Type[:strings.LastIndex(d.Type, "/")]; !strings.EqualFold(of.Type, above) {
				u.find(parent.Value.At(), "reference", "the parent of %s is %s, but %s is %s", d.Type, above, s.Text, of.Type)
			}
		}
		depth = 0
	}
	value := d.Body.Value("name")
	if reference, is := value.(*Reference); is && u.symbols[reference.Text] != nil {
		if variable, is := u.symbols[reference.Text].declaration.(*Variable); is {
			value = variable.Value
		}
	}
	name, is := value.(*String)
	if !is {
		if value != nil && depth > 0 {
			u.find(value.At(), "name", "%s has no parent: give it one, or write the names of its parents before its own, with /", d.Type)
		}
		return
	}
	slashes := 0
	for _, segment := range name.Segments {
		slashes += strings.Count(segment, "/")
	}
	switch {
	case parent != nil && slashes > 0:
		u.find(name.At(), "name", "the name of a resource with a parent has no /")
	case parent == nil && slashes != depth:
		u.find(name.At(), "name", "%s has no parent: its name begins with those of its parents, and holds / as many times as there are parents: %d", d.Type, depth)
	}
}

// existing checks what is said of a resource that is there already.
func (u *unit) existing(d *Resource, resource *ResourceType, known *locals) {
	for _, property := range d.Body.Properties {
		if !slices.Contains([]string{"name", "parent", "scope"}, property.Text) {
			u.find(property.Position, "existing", "%s exists already: it has a name, and may have parent and scope, but not %s", d.Text, property.Text)
		}
	}
	name := d.Body.Property("name")
	if name == nil {
		u.find(d.Body.At(), "missing-property", "%s needs name", d.Type)
		return
	}
	u.early(name.Value, "name")
	if field := resource.Body.Properties["name"]; field != nil {
		u.assign(name.Value, field.Type, known)
	}
}

// references checks dependsOn, and leaves parent and scope to deployable.
func (u *unit) references(body *Object) {
	u.placedIn[body.Value("parent")], u.placedIn[body.Value("scope")] = true, true
	property := body.Property("dependsOn")
	if property == nil {
		return
	}
	array, is := property.Value.(*Array)
	if !is {
		u.find(property.Value.At(), "reference", "dependsOn is an array of resources and modules")
		return
	}
	for _, item := range array.Items {
		u.placedIn[item] = true
		if u.deployed(item) == nil {
			u.find(item.At(), "reference", "dependsOn is an array of resources and modules")
		}
	}
}
