package bicep

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed types/*.json
var embedded embed.FS

// Types are Azure's resource types, by provider/type and then by version.
type Types struct {
	resources map[string]map[string]*ResourceType
}

// ResourceType is one version of a resource type.
type ResourceType struct {
	Type, APIVersion string
	// Scopes are where it may be made: ResourceGroup, Subscription and so on;
	// AllExceptExtension and Unknown are resources that extend others.
	Scopes []string
	Body   *Type
}

// Snapshot is the file form of a resource type, as it is kept in the directory types:
// the facts of Azure's schema without its descriptions.
type Snapshot struct {
	// Source tells where the facts are from if a person wrote them down.
	Source     string `json:"source,omitempty"`
	Type       string `json:"type"`
	APIVersion string `json:"apiVersion"`
	Scopes     string `json:"scopes"`
	// Types are the object types, by name; the resource itself is the one named like
	// its type.
	Types map[string]*SnapshotType `json:"types"`
}

// SnapshotType is one object type of a Snapshot.
type SnapshotType struct {
	// Properties by name. A property is written as its type and what else is known of
	// it, separated by semicolons: "string; required; minLength: 1". The type is any,
	// string, int, bool, object, a name, values ('a' | 'b'), or one of them followed
	// by [].
	Properties map[string]string `json:"properties,omitempty"`
	// Additional is the type of properties that are not listed.
	Additional string `json:"additional,omitempty"`
	// Discriminator and Variants: what the object is depends on the value of a property.
	Discriminator string                   `json:"discriminator,omitempty"`
	Variants      map[string]*SnapshotType `json:"variants,omitempty"`
}

// Embedded gives the types in the directory types.
var Embedded = sync.OnceValues(func() (*Types, error) { return LoadTypes(embedded, "types") })

// LoadTypes reads the snapshots of a directory.
func LoadTypes(fsys fs.FS, dir string) (*Types, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("types of resources: %w", err)
	}
	types := &Types{resources: map[string]map[string]*ResourceType{}}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("types of resources: %w", err)
		}
		var snapshot Snapshot
		if err := json.Unmarshal(data, &snapshot); err != nil {
			return nil, fmt.Errorf("types of resources: %s: %w", name, err)
		}
		resource, err := snapshot.resource()
		if err != nil {
			return nil, fmt.Errorf("types of resources: %s: %w", name, err)
		}
		key := strings.ToLower(resource.Type)
		if types.resources[key] == nil {
			types.resources[key] = map[string]*ResourceType{}
		}
		types.resources[key][resource.APIVersion] = resource
	}
	return types, nil
}

// versions are those of a resource type that are known.
func (t *Types) versions(resource string) []string {
	var all []string
	for version := range t.resources[strings.ToLower(resource)] {
		all = append(all, version)
	}
	slices.Sort(all)
	return all
}

// names are the resource types that are known.
func (t *Types) names() []string {
	var all []string
	for _, versions := range t.resources {
		for _, resource := range versions {
			all = append(all, resource.Type)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// find gives nil if the resource type is not known in that version.
func (t *Types) find(resource, version string) *ResourceType {
	return t.resources[strings.ToLower(resource)][version]
}

// resource makes the tree of types out of the file form. An object type may hold itself.
func (s *Snapshot) resource() (*ResourceType, error) {
	r := &reader{snapshot: s, types: map[string]*Type{}}
	body := r.named(s.Type)
	if body == nil {
		return nil, fmt.Errorf("the type %s itself is missing", s.Type)
	}
	return &ResourceType{Type: s.Type, APIVersion: s.APIVersion, Scopes: strings.Split(s.Scopes, ", "), Body: body}, r.err
}

type reader struct {
	snapshot *Snapshot
	types    map[string]*Type
	err      error
}

// named gives an object type, or nil if there is none of that name.
func (r *reader) named(name string) *Type {
	if t, done := r.types[name]; done {
		return t
	}
	written, is := r.snapshot.Types[name]
	if !is {
		return nil
	}
	t := &Type{}
	r.types[name] = t
	r.object(t, name, written)
	return t
}

func (r *reader) object(t *Type, name string, written *SnapshotType) {
	*t = Type{Kind: KindObject, Name: name, Properties: map[string]*Field{}, Discriminator: written.Discriminator}
	for property, text := range written.Properties {
		t.Properties[property] = r.field(name+"."+property, text)
	}
	switch written.Additional {
	case "":
	case "any":
		t.open = true
	default:
		t.Additional = r.kind(name, written.Additional)
	}
	for value, variant := range written.Variants {
		if t.Variants == nil {
			t.Variants = map[string]*Type{}
		}
		of := &Type{}
		r.object(of, name, variant)
		for property, field := range t.Properties {
			of.Properties[property] = field
		}
		t.Variants[value] = of
	}
}

func (r *reader) fail(where, format string, values ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %s", where, fmt.Sprintf(format, values...))
	}
}

// field reads "type; flag; limit: value". A pattern comes last, as it may hold anything.
func (r *reader) field(where, text string) *Field {
	text, pattern, _ := strings.Cut(text, "; pattern: ")
	parts := strings.Split(text, "; ")
	f := &Field{Type: r.kind(where, parts[0])}
	limits := Limits{Pattern: pattern}
	if pattern != "" {
		if _, err := regexp.Compile(pattern); err != nil {
			limits.Pattern = "" // .NET's patterns are not all Go's.
		}
	}
	for _, part := range parts[1:] {
		switch name, value, _ := strings.Cut(part, ": "); name {
		case "required":
			f.Required = true
		case "readOnly":
			f.ReadOnly = true
		case "constant":
			f.Constant = true
		case "writeOnly", "sensitive":
		case "minLength":
			limits.MinLength = whole[int](r, where, value)
		case "maxLength":
			limits.MaxLength = whole[int](r, where, value)
		case "minValue":
			limits.Min = whole[int64](r, where, value)
		case "maxValue":
			limits.Max = whole[int64](r, where, value)
		default:
			r.fail(where, "%q means nothing", part)
		}
	}
	if limits != (Limits{}) && f.Type != nil {
		limited := *f.Type
		limited.Limits = limits
		f.Type = &limited
	}
	return f
}

func whole[T int | int64](r *reader, where, text string) *T {
	var value T
	if _, err := fmt.Sscan(text, &value); err != nil {
		r.fail(where, "%q is not a number", text)
	}
	return &value
}

// kind reads a type as it stands in a property.
func (r *reader) kind(where, text string) *Type {
	if item, is := strings.CutSuffix(text, "[]"); is {
		return &Type{Kind: KindArray, Item: r.kind(where, strings.TrimSuffix(strings.TrimPrefix(item, "("), ")"))}
	}
	switch text {
	case "any":
		return nil
	case "string":
		return someString
	case "int":
		return someInt
	case "bool":
		return someBool
	case "array":
		return someArray
	case "object":
		return someObject
	}
	if strings.HasPrefix(text, "'") {
		var values []string
		for value := range strings.SplitSeq(text, " | ") {
			// Values that end with string are those known today; Azure may take
			// others. Here they are all that is taken: one that is not known is more
			// often a mistake than new.
			if value != "string" {
				values = append(values, strings.Trim(value, "'"))
			}
		}
		return &Type{Kind: KindString, Values: values}
	}
	t := r.named(text)
	if t == nil {
		r.fail(where, "there is no type %s", text)
	}
	return t
}

var patterns sync.Map

// matches tells whether a text matches a pattern; no pattern matches everything.
func matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	compiled, _ := patterns.LoadOrStore(pattern, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) }))
	return compiled.(func() *regexp.Regexp)().MatchString(text)
}
