package bicep

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed types/*.json
var embedded embed.FS

// ResourceTypes are the schemas of Azure's resource types, by type@version.
type ResourceTypes map[string]*schema

// schema is one file of the directory types: the facts of Azure's schema of one resource
// type, without descriptions.
type schema struct {
	// Source says where the facts come from if a person wrote them down.
	Source     string
	Type       string
	APIVersion string
	// Types are the object types by name. The resource itself has the name of its type.
	Types map[string]*objectType
}

type objectType struct {
	// Properties by name, each as its type and its limits: "string; required; minLength: 1".
	// A type is any, string, int, bool, object, the name of an object type, values
	// ('a' | 'b'), or one of these followed by [].
	Properties map[string]string
	// Additional is the type of properties that are not listed.
	Additional string
	// Discriminator is the property whose value selects one of Variants.
	Discriminator string
	Variants      map[string]*objectType
}

// KnownTypes returns the schemas in the directory types.
var KnownTypes = sync.OnceValues(func() (ResourceTypes, error) {
	files, err := fs.Glob(embedded, "types/*.json")
	if err != nil {
		return nil, err
	}
	types := ResourceTypes{}
	for _, name := range files {
		data, err := embedded.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var s schema
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", path.Base(name), err)
		}
		types[s.Type+"@"+s.APIVersion] = &s
	}
	return types, nil
})

// Check returns the ways in which a resource does not fit the schema of its type: a property
// that is unknown, read-only or missing, or a value of another type or outside of its limits.
func (t ResourceTypes) Check(r *Instance) []string {
	c := &checker{where: r.File + ": " + r.Symbol, schema: t[r.Type+"@"+r.APIVersion]}
	if c.schema == nil {
		c.find("", "no schema of %s@%s", r.Type, r.APIVersion)
		return c.found
	}
	c.object("", c.schema.Types[r.Type], r.Body)
	return c.found
}

type checker struct {
	where  string
	schema *schema
	found  []string
}

func (c *checker) find(at, format string, values ...any) {
	c.found = append(c.found, c.where+at+": "+fmt.Sprintf(format, values...))
}

func (c *checker) object(at string, t *objectType, value map[string]any) {
	properties := maps.Clone(t.Properties)
	if t.Discriminator != "" {
		chosen, _ := value[t.Discriminator].(string)
		variant := t.Variants[chosen]
		if variant == nil {
			c.find(at+"."+t.Discriminator, "%q is not one of %q", chosen, slices.Sorted(maps.Keys(t.Variants)))
			return
		}
		if properties == nil {
			properties = map[string]string{}
		}
		maps.Copy(properties, variant.Properties)
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		text, known := properties[name]
		switch {
		case !known && t.Additional == "":
			c.find(at+"."+name, "unknown property")
		case !known:
			c.value(at+"."+name, t.Additional, value[name])
		default:
			c.value(at+"."+name, text, value[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if _, given := value[name]; !given && slices.Contains(strings.Split(properties[name], "; "), "required") {
			c.find(at+"."+name, "the property is required")
		}
	}
}

// value compares a value with the text of a property.
func (c *checker) value(at, text string, value any) {
	text, pattern, _ := strings.Cut(text, "; pattern: ")
	parts := strings.Split(text, "; ")
	if slices.Contains(parts, "readOnly") {
		c.find(at, "the property is read-only")
		return
	}
	if is := kindOf(value); is == "null" || is == "any" {
		return
	}
	c.kind(at, parts[0], value)
	size, is := length64(value), true
	number, numeric := value.(int64)
	if text, plain := value.(string); plain {
		is = !strings.ContainsRune(text, '<') // Azure knows the rest of it.
		if compiled, err := regexp.Compile(pattern); err == nil && is && !compiled.MatchString(text) {
			c.find(at, "%q does not match %s", text, pattern)
		}
	}
	for _, part := range parts[1:] {
		name, limit, _ := strings.Cut(part, ": ")
		n, _ := strconv.ParseInt(limit, 10, 64)
		if is && !numeric && (name == "minLength" && size < n || name == "maxLength" && size > n) || numeric && (name == "minValue" && number < n || name == "maxValue" && number > n) {
			c.find(at, "%v violates %s", value, part)
		}
	}
}

// kind compares a value with the type of a property.
func (c *checker) kind(at, kind string, value any) {
	is := kindOf(value)
	if is == "any" || kind == "any" {
		return
	}
	if item, array := strings.CutSuffix(kind, "[]"); array {
		items, is := value.([]any)
		if !is {
			c.find(at, "expected an array, not %v", value)
		}
		for i, one := range items {
			c.kind(fmt.Sprintf("%s[%d]", at, i), strings.TrimSuffix(strings.TrimPrefix(item, "("), ")"), one)
		}
		return
	}
	if strings.HasPrefix(kind, "'") {
		// Values that end with string are those known today. A value that is not among
		// them is more often a mistake than new.
		text, plain := value.(string)
		if !plain || !strings.ContainsRune(text, '<') && !slices.Contains(strings.Split(kind, " | "), "'"+text+"'") {
			c.find(at, "%v is not one of %s", value, kind)
		}
		return
	}
	if t := c.schema.Types[kind]; t != nil {
		object, is := value.(map[string]any)
		if !is {
			c.find(at, "expected an object, not %v", value)
			return
		}
		c.object(at, t, object)
		return
	}
	if is != kind && (kind != "int" || is != "null") {
		c.find(at, "expected %s, not %v", kind, value)
	}
}
