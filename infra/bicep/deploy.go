package bicep

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Deployment is the result of a template with one set of parameters.
type Deployment struct {
	// Resources are those of the template and of its modules, without existing ones.
	Resources []*Instance
	// Existing are the resources that the templates refer to and do not create.
	Existing []*Instance
	// Modules are the names of the deployments of modules.
	Modules []string
	Outputs map[string]any

	// whatIf makes the outputs of modules unknown.
	whatIf bool
}

// Instance is one resource of a deployment.
type Instance struct {
	// File and Symbol are the template and the name of the declaration there.
	File, Symbol     string
	Type, APIVersion string
	// Name includes the names of the parents: bus/worker-jobs/worker-01.
	Name string
	// ID is the type and the name: Microsoft.ServiceBus/namespaces/bus.
	ID string
	// Scope is the resource that this one extends, such as the target of a role
	// assignment; nil if there is none.
	Scope *Instance
	// Body holds the properties of the declaration without parent, scope and dependsOn.
	Body map[string]any
}

// Of returns the resources of a type.
func (d *Deployment) Of(resourceType string) []*Instance {
	var all []*Instance
	for _, r := range d.Resources {
		if r.Type == resourceType {
			all = append(all, r)
		}
	}
	return all
}

// At returns a value in the body of a resource by the names of its properties, nil where
// one of them is missing. The last one may be in an array, by its index.
func (r *Instance) At(path ...any) any {
	var value any = r.Body
	for _, step := range path {
		switch of := value.(type) {
		case map[string]any:
			name, _ := step.(string)
			value = of[name]
		case []any:
			i, is := step.(int)
			if !is || i >= len(of) {
				return nil
			}
			value = of[i]
		default:
			return nil
		}
	}
	return value
}

// Runtime is a value that only Azure knows, such as the address of a resource that does
// not exist yet. Its text names the value.
type Runtime string

// String returns the name of the value in angle brackets.
func (r Runtime) String() string { return "<" + string(r) + ">" }

// Deploy evaluates a template and its modules. The paths of templates are in fsys. An error
// names the file, the place and the cause: a parameter that is missing, unknown or outside of
// its limits, a name that is not declared, a cycle, or a value that cannot be evaluated.
func Deploy(fsys fs.FS, template string, parameters map[string]any) (*Deployment, error) {
	return (&Deployment{}).evaluate(fsys, template, parameters)
}

// WhatIf evaluates a template like Deploy, and the outputs of modules are Runtime values. It also
// fails at a resource or module in a loop over such values, which what-if would not show.
func WhatIf(fsys fs.FS, template string, parameters map[string]any) (*Deployment, error) {
	return (&Deployment{whatIf: true}).evaluate(fsys, template, parameters)
}

func (d *Deployment) evaluate(fsys fs.FS, template string, parameters map[string]any) (deployment *Deployment, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			failure, mine := caught.(evaluationError)
			if !mine {
				panic(caught)
			}
			deployment, err = nil, failure
		}
	}()
	d.Outputs = d.deploy(fsys, template, parameters, nil)
	return d, nil
}

// deploy evaluates one file and returns its outputs. callers are the files that deploy it.
func (d *Deployment) deploy(fsys fs.FS, template string, parameters map[string]any, callers []string) map[string]any {
	if slices.Contains(callers, template) {
		panic(evaluationError{File: template, Message: "the module deploys itself: " + strings.Join(append(callers, template), ", ")})
	}
	source, err := fs.ReadFile(fsys, template)
	if err != nil {
		panic(evaluationError{File: template, Message: err.Error()})
	}
	file, findings := Parse(template, string(source))
	if len(findings) > 0 {
		panic(evaluationError(findings[0]))
	}
	if file.TargetScope != scopes[0] {
		panic(evaluationError{File: template, Position: Position{1, 1}, Message: "the templates deploy to a resource group, not to a " + file.TargetScope})
	}
	v := &evaluator{file: file, fs: fsys, deployment: d, callers: append(slices.Clone(callers), template), values: map[string]any{}, pending: map[string]bool{}}
	v.setParameters(parameters)
	for _, r := range file.Resources {
		v.symbol(r.Name)
	}
	for _, m := range file.Modules {
		v.symbol(m.Name)
	}
	outputs := map[string]any{}
	for _, o := range file.Outputs {
		outputs[o.Text] = v.of(o.Value, nil)
		v.checkKind(o.Position, "output "+o.Text, o.Type.Text, outputs[o.Text])
	}
	return outputs
}

func (v *evaluator) setParameters(given map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(v.file.Parameters, func(p *Parameter) bool { return p.Text == name }) {
			v.fail(Position{1, 1}, "unknown parameter %s", name)
		}
	}
	for _, p := range v.file.Parameters {
		value, is := given[p.Text]
		switch {
		case is:
			v.values[p.Text] = value
		case p.Default == nil:
			v.fail(p.Position, "the parameter %s has no value", p.Text)
		default:
			value = v.symbol(p.Name)
		}
		v.checkKind(p.Position, "parameter "+p.Text, p.Type.Text, value)
		if why := p.refuse(value); why != "" {
			v.fail(p.Position, "parameter %s: %s", p.Text, why)
		}
	}
}

func (v *evaluator) checkKind(at Position, what, kind string, value any) {
	if is := kindOf(value); is != kind && is != "any" {
		v.fail(at, "%s: expected %s, not %v", what, kind, value)
	}
}

// kindOf returns the name of the type of a value. A value that only Azure knows is any.
func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case int64:
		return "int"
	case bool:
		return "bool"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case Runtime:
		return "any"
	}
	return "null"
}

// symbol returns the value of a declaration: the value of a parameter or variable, the
// Instance of a resource (several in a loop), the outputs of a module.
func (v *evaluator) symbol(name Name) any {
	if value, known := v.values[name.Text]; known {
		return value
	}
	if v.pending[name.Text] {
		v.fail(name.Position, "%s depends on itself", name.Text)
	}
	v.pending[name.Text] = true
	value := v.declared(name)
	v.values[name.Text] = value
	return value
}

func (v *evaluator) declared(name Name) any {
	for _, p := range v.file.Parameters {
		if p.Text == name.Text && p.Default != nil {
			return v.of(p.Default, nil)
		}
	}
	for _, d := range v.file.Variables {
		if d.Text == name.Text {
			return v.of(d.Value, nil)
		}
	}
	for _, r := range v.file.Resources {
		if r.Text == name.Text {
			return v.each(r.Loop, func(local *valueScope) any { return v.resource(r, local) })
		}
	}
	for _, m := range v.file.Modules {
		if m.Text == name.Text {
			return v.each(m.Loop, func(local *valueScope) any { return v.module(m, local) })
		}
	}
	v.fail(name.Position, "%s is not declared", name.Text)
	return nil
}

// outputOfModule is the text of an output of a module that WhatIf does not know.
var outputOfModule = regexp.MustCompile(`<\w+\.outputs\.\w+>`)

// each calls do once, or for each item of a loop.
func (v *evaluator) each(loop *Loop, do func(*valueScope) any) any {
	if loop == nil {
		return do(nil)
	}
	all := []any{}
	for i, item := range v.array(loop.List, v.of(loop.List, nil)) {
		if text := fmt.Sprint(item); v.deployment.whatIf && outputOfModule.MatchString(text) {
			v.fail(loop.List.At(), "what-if does not know %s", outputOfModule.FindString(text))
		}
		all = append(all, do(loop.bind(item, i, nil)))
	}
	return all
}

// bind declares the variables of a loop.
func (l *Loop) bind(item any, index int, outer *valueScope) *valueScope {
	local := &valueScope{l.Item.Text, item, outer}
	if l.Index.Text != "" {
		local = &valueScope{l.Index.Text, int64(index), local}
	}
	return local
}

// scopes are the functions that return a scope. The templates use none, not even resourceGroup(),
// which is the scope of each resource.
var scopes = []string{"resourceGroup", "subscription", "managementGroup", "tenant"}

func (v *evaluator) resource(r *Resource, local *valueScope) *Instance {
	one := &Instance{File: v.file.Path, Symbol: r.Text, Type: r.Type, APIVersion: r.APIVersion}
	if r.Body.Value("name") == nil {
		v.fail(r.Position, "%s has no name", r.Text)
	}
	one.Name = fmt.Sprint(v.of(r.Body.Value("name"), local))
	parents := strings.Count(r.Type, "/") - 1
	if e := r.Body.Value("parent"); e != nil {
		parent := v.instance(e, local)
		if above := path.Dir(r.Type); parent.Type != above {
			v.fail(e.At(), "the parent of %s is a %s, not a %s", r.Type, above, parent.Type)
		}
		one.Name = parent.Name + "/" + one.Name
	}
	if strings.Count(one.Name, "/") != parents {
		v.fail(r.Body.Value("name").At(), "the name %s of a %s needs the names of %d parents", one.Name, r.Type, parents)
	}
	one.ID = r.Type + "/" + one.Name
	if e := r.Body.Value("scope"); e != nil {
		if call, is := e.(*Call); is && slices.Contains(scopes, call.Text) {
			v.fail(e.At(), "the scope is outside of the resource group that the template deploys to (BCP139)")
		}
		one.Scope = v.instance(e, local)
	}
	switch {
	case r.Existing:
		v.deployment.Existing = append(v.deployment.Existing, one)
	case r.Condition == nil || v.of(r.Condition, local) == true:
		one.Body = v.body(r.Body, local)
		v.deployment.Resources = append(v.deployment.Resources, one)
	}
	return one
}

// instance evaluates an expression that has to be one resource.
func (v *evaluator) instance(e Expression, local *valueScope) *Instance {
	one, is := v.of(e, local).(*Instance)
	if !is {
		v.fail(e.At(), "expected the name of one resource")
	}
	return one
}

// body evaluates an object without the properties that are about other declarations.
func (v *evaluator) body(of *Object, local *valueScope) map[string]any {
	body := map[string]any{}
	for _, p := range of.Properties {
		value := v.of(p.Value, local)
		if !slices.Contains([]string{"parent", "scope", "dependsOn"}, p.Text) {
			body[p.Text] = value
		}
	}
	return body
}

func (v *evaluator) module(m *Module, local *valueScope) any {
	result := map[string]any{}
	if m.Condition != nil && v.of(m.Condition, local) != true {
		return result // A template that reads its outputs fails: there are none.
	}
	body := v.body(m.Body, local)
	for name := range body {
		if name != "name" && name != "params" {
			v.fail(m.Position, "a module has no %s here", name)
		}
	}
	parameters, _ := body["params"].(map[string]any)
	maps.DeleteFunc(parameters, func(_ string, value any) bool { return value == nil })
	name, _ := body["name"].(string)
	if name == "" {
		v.fail(m.Position, "the module has no name")
	}
	result["name"] = name
	v.deployment.Modules = append(v.deployment.Modules, name)
	outputs := v.deployment.deploy(v.fs, path.Join(path.Dir(v.file.Path), m.Source), parameters, v.callers)
	for output := range outputs {
		if v.deployment.whatIf {
			outputs[output] = Runtime(m.Text + ".outputs." + output)
		}
	}
	result["outputs"] = outputs
	return result
}
