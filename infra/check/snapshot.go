package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// described is what azmcp tells of a resource type: a list of types, of which the one of
// kind Resource is the resource itself.
type described struct {
	Results struct {
		Types []azureType `json:"BicepSchemaResult"`
	} `json:"results"`
}

type azureType struct {
	Kind           string          `json:"$type"`
	Name           string          `json:"name"`
	Body           *azureType      `json:"bodyType"`
	WritableScopes string          `json:"writableScopes"`
	Properties     []azureProperty `json:"properties"`
	BaseProperties []azureProperty `json:"baseProperties"`
	Additional     string          `json:"additionalPropertiesType"`
	Elements       []azureType     `json:"elements"`
	Discriminator  string          `json:"discriminator"`
}

type azureProperty struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Flags     string `json:"flags"`
	Modifiers string `json:"modifiers"`
}

// describe asks azmcp for a resource type. It needs no network and no account.
func describe(ctx context.Context, azmcp, resource string) (*bicep.Snapshot, error) {
	command := exec.CommandContext(ctx, azmcp, "bicepschema", "get", "--resource-type", resource)
	command.Env = append(os.Environ(), "AZURE_MCP_COLLECT_TELEMETRY=false", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1")
	var problems bytes.Buffer
	command.Stderr = &problems
	answer, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("ask azmcp for %s: %w: %s", resource, err, firstLine(problems.String()))
	}
	snapshot, err := snapshotOf(answer)
	if err != nil {
		return nil, fmt.Errorf("ask azmcp for %s: %w", resource, err)
	}
	return snapshot, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// snapshotOf keeps the facts of an answer of azmcp.
func snapshotOf(answer []byte) (*bicep.Snapshot, error) {
	var all described
	if err := json.Unmarshal(answer, &all); err != nil {
		return nil, errors.New("the answer is not what was expected; azmcp knows some types by name only")
	}
	c := &converter{known: map[string]bool{}}
	for _, t := range all.Results.Types {
		c.known[t.Name] = t.Kind == "Object" || t.Kind == "DiscriminatedObject"
	}
	var snapshot *bicep.Snapshot
	types := map[string]*bicep.SnapshotType{}
	for _, t := range all.Results.Types {
		switch t.Kind {
		case "Object", "DiscriminatedObject":
			types[t.Name] = c.object(t)
		case "Resource":
			name, version, _ := strings.Cut(t.Name, "@")
			types[name] = c.object(*t.Body)
			snapshot = &bicep.Snapshot{Type: name, APIVersion: version, Scopes: t.WritableScopes, Types: types}
		}
	}
	if snapshot == nil {
		return nil, errors.New("the answer has no resource")
	}
	return snapshot, nil
}

type converter struct{ known map[string]bool }

func (c *converter) object(t azureType) *bicep.SnapshotType {
	object := &bicep.SnapshotType{Properties: map[string]string{}, Discriminator: t.Discriminator}
	for _, property := range slices.Concat(t.Properties, t.BaseProperties) {
		object.Properties[property.Name] = c.property(property)
	}
	if t.Additional != "" {
		object.Additional = c.kind(t.Additional)
	}
	for _, element := range t.Elements {
		if object.Variants == nil {
			object.Variants = map[string]*bicep.SnapshotType{}
		}
		for _, property := range element.Properties {
			if property.Name == t.Discriminator {
				object.Variants[property.Type] = c.object(element)
			}
		}
	}
	return object
}

// flags are azmcp's names of what a property is, and those of the snapshot.
var flags = map[string]string{"Required": "required", "ReadOnly": "readOnly", "WriteOnly": "writeOnly", "DeployTimeConstant": "constant"}

func (c *converter) property(p azureProperty) string {
	parts := []string{c.kind(p.Type)}
	for flag := range strings.SplitSeq(p.Flags, ", ") {
		if flag != "" {
			parts = append(parts, flags[flag])
		}
	}
	modifiers, pattern, patterned := strings.Cut(p.Modifiers, "pattern: ")
	for modifier := range strings.SplitSeq(modifiers, ", ") {
		if modifier != "" {
			parts = append(parts, modifier)
		}
	}
	if patterned {
		parts = append(parts, "pattern: "+pattern)
	}
	return strings.Join(parts, "; ")
}

// kind writes a type as the snapshot does: values in quotes, names without.
func (c *converter) kind(text string) string {
	if item, is := strings.CutSuffix(text, "[]"); is {
		if strings.Contains(item, " | ") {
			return "(" + c.kind(item) + ")[]"
		}
		return c.kind(item) + "[]"
	}
	if c.known[text] || slices.Contains([]string{"any", "string", "int", "bool", "array", "object"}, text) {
		return text
	}
	var values []string
	for value := range strings.SplitSeq(text, " | ") {
		switch {
		case c.known[value]:
			return "any"
		case value == "string":
			values = append(values, value)
		default:
			values = append(values, "'"+value+"'")
		}
	}
	return strings.Join(values, " | ")
}

// reachable drops the types that nothing in the resource refers to, and what Azure only
// gives back below the first level: nobody reads that deep, and it is most of all.
func reachable(snapshot *bicep.Snapshot) {
	full, shallow := map[string]bool{}, map[string]bool{}
	var visit func(t *bicep.SnapshotType, given bool)
	enter := func(text string, given bool) {
		name, _, _ := strings.Cut(text, ";")
		name = strings.TrimRight(name, "[]")
		t := snapshot.Types[name]
		switch {
		case t == nil || full[name] || given && shallow[name]:
		case given:
			shallow[name] = true
		default:
			full[name] = true
			visit(t, false)
		}
	}
	visit = func(t *bicep.SnapshotType, given bool) {
		for _, text := range t.Properties {
			enter(text, given || strings.Contains(text, "; readOnly"))
		}
		if t.Additional != "" {
			enter(t.Additional, given)
		}
		for _, variant := range t.Variants {
			visit(variant, given)
		}
	}
	enter(snapshot.Type, false)
	dropped := map[string]bool{}
	for name := range snapshot.Types {
		if !full[name] && !shallow[name] {
			dropped[name] = true
			delete(snapshot.Types, name)
		}
	}
	for _, t := range snapshot.Types {
		for property, text := range t.Properties {
			t.Properties[property] = flattened(dropped, text)
		}
		t.Additional = flattened(dropped, t.Additional)
	}
}

// flattened writes object for a type that is not kept.
func flattened(dropped map[string]bool, text string) string {
	kind, rest, more := strings.Cut(text, "; ")
	if name := strings.TrimRight(kind, "[]"); dropped[name] {
		kind = strings.Replace(kind, name, "object", 1)
	}
	if more {
		return kind + "; " + rest
	}
	return kind
}

// written is the text of a snapshot file: always the same for the same facts, with one
// line for each property.
func written(snapshot *bicep.Snapshot) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(snapshot); err != nil {
		panic(err) // It holds nothing but texts.
	}
	return b.Bytes()
}

// fileOf is the name of a snapshot's file.
func fileOf(resource string) string { return strings.ReplaceAll(resource, "/", "_") + ".json" }
