package bicep

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Report is what Check found.
type Report struct {
	// Files are all files of Bicep, by path.
	Files []*File
	// Findings are in the order of files and lines; none is good.
	Findings []Finding
	// ParameterFiles are the parameter files that were held against a file of Bicep.
	ParameterFiles []string
	// GivenWhenDeployed are the parameters, by file of Bicep, that are required and that
	// none of several parameter files gives.
	GivenWhenDeployed map[string][]string
}

// ResourceTypes are the resource types that are used, as type@version, in order.
func (r *Report) ResourceTypes() []string {
	var all []string
	for _, file := range r.Files {
		for _, resource := range file.Resources {
			all = append(all, resource.Type+"@"+resource.APIVersion)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Check reads every .bicep file and every parameter file below a directory of fsys and
// holds them against each other and against Azure's types. What the files load (JSON,
// text) may be anywhere in fsys. An error means that something could not be read.
func Check(fsys fs.FS, dir string, types *Types) (*Report, error) {
	p := &program{fsys: fsys, types: types, units: map[string]*unit{}}
	var parameterFiles []string
	err := fs.WalkDir(fsys, dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules") && name != dir:
			return fs.SkipDir
		case entry.IsDir():
		case path.Ext(name) == ".bicep":
			return p.read(name)
		case isParameterFile(entry.Name()):
			parameterFiles = append(parameterFiles, name)
		case overlooked(entry.Name()):
			p.findings = append(p.findings, Finding{
				File: name, Position: Position{1, 1}, Code: "file",
				Message: "this file is not read: there are name.bicep, and name.parameters.json or name.parameters.environment.json beside it",
			})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", dir, err)
	}
	report := &Report{ParameterFiles: parameterFiles}
	for _, unit := range p.ordered() {
		report.Files = append(report.Files, unit.File)
		unit.check()
	}
	p.moduleCycles()
	for _, name := range parameterFiles {
		p.parameterFile(name)
	}
	report.GivenWhenDeployed = p.ungiven()
	report.Findings = sorted(p.findings)
	return report, nil
}

// overlooked are files that look as if they were meant for a deployment, but have a name
// by which nobody finds them.
func overlooked(name string) bool {
	name = strings.ToLower(name)
	return path.Ext(name) == ".bicep" || path.Ext(name) == ".bicepparam" || path.Ext(name) == ".json" && strings.Contains(name, ".param")
}

// program is everything that is checked together.
type program struct {
	fsys     fs.FS
	types    *Types
	units    map[string]*unit
	given    []*givenParameters
	findings []Finding
}

// ordered are the files by path.
func (p *program) ordered() []*unit {
	var all []*unit
	for _, name := range slices.Sorted(maps.Keys(p.units)) {
		all = append(all, p.units[name])
	}
	return all
}

// read parses a file and enters its symbols.
func (p *program) read(name string) error {
	source, err := fs.ReadFile(p.fsys, name)
	if err != nil {
		return err
	}
	file, findings := Parse(name, string(source))
	p.findings = append(p.findings, findings...)
	u := &unit{program: p, File: file, broken: len(findings) > 0, symbols: map[string]*symbol{}, told: map[Expression]*Type{}, placedIn: map[Expression]bool{}}
	u.enter()
	p.units[name] = u
	return nil
}

// unit is one file that is checked.
type unit struct {
	*program
	*File
	// broken is a file with syntax errors: declarations may be missing, so that
	// nothing is said of names that are unknown or unused.
	broken  bool
	symbols map[string]*symbol
	// told are the types of expressions, as typeOf found them.
	told map[Expression]*Type
	// placedIn are references that may be to all of a loop's resources: what stands
	// around them says which one is meant, or takes all.
	placedIn map[Expression]bool
	// user is the symbol whose declaration is looked at, for dependencies.
	user *symbol
}

// symbol is a name that a file declares.
type symbol struct {
	Name
	// declaration is *Parameter, *Variable, *Resource or *Module.
	declaration any
	used        bool
	uses        []*symbol
	// typ is what typeOf found for a variable; typing is set while it looks.
	typ           *Type
	typed, typing bool
}

// loop is what a resource or module is made in, or nil.
func (s *symbol) loop() *Loop {
	switch d := s.declaration.(type) {
	case *Resource:
		return d.Loop
	case *Module:
		return d.Loop
	}
	return nil
}

func (u *unit) find(at Position, code, format string, values ...any) {
	u.findings = append(u.findings, Finding{File: u.Path, Position: at, Code: code, Message: fmt.Sprintf(format, values...)})
}

// enter makes the table of symbols.
func (u *unit) enter() {
	for _, d := range u.Parameters {
		u.declare(d.Name, d)
	}
	for _, d := range u.Variables {
		u.declare(d.Name, d)
	}
	for _, d := range u.Resources {
		u.declare(d.Name, d)
	}
	for _, d := range u.Modules {
		u.declare(d.Name, d)
	}
	outputs := map[string]Position{}
	for _, output := range u.Outputs {
		if first, twice := outputs[output.Text]; twice {
			u.find(output.Position, "duplicate", "output %s is declared twice: first in line %d", output.Text, first.Line)
			continue
		}
		outputs[output.Text] = output.Position
	}
}

func (u *unit) declare(name Name, declaration any) {
	if first, twice := u.symbols[name.Text]; twice {
		earlier, later := first.Name, name
		if later.before(earlier.Position) {
			earlier, later = later, earlier
		}
		u.find(later.Position, "duplicate", "%s is declared twice: first in line %d", name.Text, earlier.Line)
		return
	}
	u.symbols[name.Text] = &symbol{Name: name, declaration: declaration}
}

// check looks at everything that a file declares.
func (u *unit) check() {
	for _, d := range u.Parameters {
		u.within(d.Name, func() { u.parameter(d) })
	}
	for _, d := range u.Variables {
		u.within(d.Name, func() {
			u.decorated("var", d.Decorators)
			u.expression(d.Value, nil, asValue)
			if loop, is := d.Value.(*For); is {
				u.early(loop.List, "the list of a loop")
				u.early(loop.Body, "a loop in a variable")
			}
		})
	}
	for _, d := range u.Resources {
		u.within(d.Name, func() { u.resource(d) })
	}
	for _, d := range u.Modules {
		u.within(d.Name, func() { u.module(d) })
	}
	for _, d := range u.Outputs {
		u.output(d)
	}
	u.twice()
	u.asked()
	if !u.broken {
		u.unused()
	}
	u.cycles()
}

// within notes what is used by a declaration.
func (u *unit) within(name Name, look func()) {
	if s := u.symbols[name.Text]; s != nil && s.Position == name.Position {
		u.user = s
	}
	look()
	u.user = nil
}

func (u *unit) output(d *Output) {
	u.decorated("output", d.Decorators)
	u.described("output", d.Name, d.Decorators)
	u.expression(d.Value, nil, asValue)
	u.assign(d.Value, declaredAs(d.Type.Text), nil)
	if d.Type.Text != "int" && d.Type.Text != "bool" {
		u.kept(d.Value, "output "+d.Text, d.Decorators)
	}
}

// unused reports parameters, variables and existing resources that nothing refers to.
func (u *unit) unused() {
	for _, s := range u.symbols {
		if s.used {
			continue
		}
		switch d := s.declaration.(type) {
		case *Parameter:
			u.find(s.Position, "unused", "parameter %s is not used", s.Text)
		case *Variable:
			u.find(s.Position, "unused", "variable %s is not used", s.Text)
		case *Resource:
			if d.Existing {
				u.find(s.Position, "unused", "resource %s exists already, and is not used", s.Text)
			}
		}
	}
}

// cycles reports declarations that need themselves.
func (u *unit) cycles() {
	const looking, done = 1, 2
	state := map[*symbol]int{}
	var trail []*symbol
	var look func(s *symbol)
	look = func(s *symbol) {
		switch state[s] {
		case done:
			return
		case looking:
			from := slices.Index(trail, s)
			names := []string{}
			for _, on := range append(slices.Clone(trail[from:]), s) {
				names = append(names, on.Text)
			}
			u.find(s.Position, "cycle", "%s needs itself: %s", s.Text, strings.Join(names, " → "))
			return
		}
		state[s] = looking
		trail = append(trail, s)
		for _, next := range s.uses {
			look(next)
		}
		trail = trail[:len(trail)-1]
		state[s] = done
	}
	all := slices.SortedFunc(maps.Values(u.symbols), func(a, b *symbol) int {
		if a.before(b.Position) {
			return -1
		}
		return 1
	})
	for _, s := range all {
		look(s)
	}
}

// described reports a declaration without @description.
func (u *unit) described(what string, name Name, decorators []*Decorator) {
	for _, d := range decorators {
		if d.Text != "description" {
			continue
		}
		if len(d.Arguments) == 1 {
			if text, literal := Literal(d.Arguments[0]); literal && strings.TrimSpace(text) != "" {
				return
			}
		}
		u.find(d.Position, "description", "the description of %s %s is a text that is not empty", what, name.Text)
		return
	}
	u.find(name.Position, "description", "%s %s has no @description", what, name.Text)
}

// decorated checks the decorators of a declaration.
func (u *unit) decorated(on string, all []*Decorator) {
	seen := map[string]bool{}
	for _, d := range all {
		known, is := decorators[d.Text]
		switch {
		case !is:
			u.find(d.Position, "decorator", "there is no decorator @%s%s", d.Text, nearest(d.Text, slices.Collect(maps.Keys(decorators))))
		case !slices.Contains(known.on, on):
			u.find(d.Position, "decorator", "@%s does not go with %s", d.Text, on)
		case seen[d.Text]:
			u.find(d.Position, "decorator", "@%s is there twice", d.Text)
		case len(d.Arguments) < known.least || len(d.Arguments) > known.most:
			u.find(d.Position, "decorator", "@%s takes %s, not %d", d.Text, count(known.least, known.most), len(d.Arguments))
		}
		seen[d.Text] = true
		for _, argument := range d.Arguments {
			u.constant(d, argument)
		}
	}
}

// constant reports what is not a literal in a decorator.
func (u *unit) constant(d *Decorator, argument Expression) {
	Walk(argument, func(e Expression) bool {
		switch e.(type) {
		case *String, *Integer, *Boolean, *Array, *Object, *Null, *Unary:
			return true
		}
		u.find(e.At(), "decorator", "the argument of @%s is a literal", d.Text)
		return false
	})
}

// count writes a number of arguments.
func count(least, most int) string {
	switch {
	case least == most && least == 1:
		return "1 argument"
	case least == most:
		return fmt.Sprintf("%d arguments", least)
	case most < 0:
		return fmt.Sprintf("at least %d", least)
	}
	return fmt.Sprintf("%d to %d arguments", least, most)
}
