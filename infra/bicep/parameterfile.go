package bicep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// isParameterFile tells whether a file is one of parameters: deploy.parameters.dev.json
// and main.parameters.json belong to deploy.bicep and main.bicep beside them.
func isParameterFile(name string) bool {
	return strings.Contains(name, ".parameters.") && path.Ext(name) == ".json"
}

// azdVariable is what azd replaces in a parameter file: ${NAME}, or ${NAME=default}.
var azdVariable = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*(=[^}]*)?\}`)

// parameterFile holds a parameter file against the file of Bicep that it belongs to.
func (p *program) parameterFile(name string) {
	base, _, _ := strings.Cut(path.Base(name), ".parameters.")
	target := p.units[path.Join(path.Dir(name), base+".bicep")]
	data, err := fs.ReadFile(p.fsys, name)
	c := &parameterFile{program: p, name: name, text: string(data)}
	switch {
	case err != nil:
		c.find("", "parameters", "%v", err)
		return
	case target == nil:
		c.find("", "parameters", "there is no %s.bicep beside it", base)
		return
	}
	var content struct {
		Schema         string `json:"$schema"`
		ContentVersion string `json:"contentVersion"`
		Parameters     map[string]struct {
			Value     any            `json:"value"`
			Reference map[string]any `json:"reference"`
		} `json:"parameters"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		why := err.Error()
		if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
			why = "a parameter is written {\"value\": …} or {\"reference\": …}, not as " + kind.Value
		}
		c.find("", "parameters", "%s", why)
		return
	}
	if _, err := decoder.Token(); err != io.EOF {
		c.find("", "parameters", "something follows the parameters")
	}
	for _, name := range twiceInJSON(data) {
		c.find(name, "duplicate", "%s is there twice", name)
	}
	if !strings.Contains(content.Schema, "deploymentParameters.json") {
		c.find("", "parameters", "$schema does not name deploymentParameters.json")
	}
	if content.ContentVersion == "" {
		c.find("", "parameters", "contentVersion is missing")
	}
	if target.broken {
		return
	}
	declared := map[string]*Parameter{}
	for _, parameter := range target.Parameters {
		declared[parameter.Text] = parameter
	}
	for _, given := range slices.Sorted(maps.Keys(content.Parameters)) {
		parameter := declared[given]
		if parameter == nil {
			c.find(given, "unknown-param", "%s has no parameter %s%s", target.Path, given, nearest(given, slices.Collect(maps.Keys(declared))))
			continue
		}
		value := content.Parameters[given]
		switch vault, _ := value.Reference["keyVault"].(map[string]any); {
		case value.Reference == nil:
			c.value(given, value.Value, parameter.declared())
			c.secret(given, value.Value, parameter)
		case value.Value != nil:
			c.find(given, "param-value", "parameter %s has either a value or a reference", given)
		case vault["id"] == nil || value.Reference["secretName"] == nil:
			c.find(given, "param-value", "the reference of parameter %s holds keyVault with an id, and secretName", given)
		}
	}
	given := &givenParameters{file: c, to: target, names: map[string]bool{}}
	for parameter := range content.Parameters {
		given.names[parameter] = true
	}
	p.given = append(p.given, given)
}

// givenParameters are what one parameter file gives.
type givenParameters struct {
	file  *parameterFile
	to    *unit
	names map[string]bool
}

// ungiven looks for parameters that are not given. Where a file of Bicep has several
// parameter files, one for each environment, a parameter that none of them gives is for
// whoever deploys, as it belongs to neither: it is listed, by file. A parameter that one
// of them gives is missing in the others; and a single parameter file is complete.
func (p *program) ungiven() map[string][]string {
	byTarget := map[*unit][]*givenParameters{}
	for _, given := range p.given {
		byTarget[given.to] = append(byTarget[given.to], given)
	}
	open := map[string][]string{}
	for target, all := range byTarget {
		for _, parameter := range target.Parameters {
			if parameter.Default != nil {
				continue
			}
			var without []*givenParameters
			for _, given := range all {
				if !given.names[parameter.Text] {
					without = append(without, given)
				}
			}
			if len(all) > 1 && len(without) == len(all) {
				open[target.Path] = append(open[target.Path], parameter.Text)
				continue
			}
			for _, given := range without {
				given.file.find("", "missing-param", "%s needs %s", target.Path, parameter.Text)
			}
		}
	}
	return open
}

type parameterFile struct {
	*program
	name, text string
}

// find reports at the line where a parameter is given.
func (c *parameterFile) find(parameter, code, format string, values ...any) {
	at := Position{1, 1}
	if offset := strings.Index(c.text, `"`+parameter+`"`); parameter != "" && offset >= 0 {
		before := c.text[:offset]
		at = Position{1 + strings.Count(before, "\n"), 1 + offset - (strings.LastIndex(before, "\n") + 1)}
	}
	c.findings = append(c.findings, Finding{File: c.name, Position: at, Code: code, Message: fmt.Sprintf(format, values...)})
}

// value checks a JSON value. A text that azd replaces may become anything: it is read
// as JSON after that where the parameter is not a string.
func (c *parameterFile) value(name string, value any, wanted *Type) {
	why := ""
	if text, is := value.(string); is && strings.Contains(text, "${") {
		switch rest := azdVariable.ReplaceAllString(text, ""); {
		case strings.Contains(rest, "${"):
			c.find(name, "param-value", "parameter %s: a variable is written ${NAME} or ${NAME=default}", name)
		case rest != "" && wanted.Kind != KindString:
			c.find(name, "param-value", "parameter %s is %s: the variable has to be all of it", name, wanted)
		case strings.Count(path.Base(c.name), ".") != 2:
			c.find(name, "param-value", "parameter %s: only azd replaces variables, and it reads main.parameters.json", name)
		}
		return
	}
	switch value := value.(type) {
	case string:
		why = fits(&Type{Kind: KindString, Values: []string{value}}, wanted)
	case bool:
		why = fits(someBool, wanted)
	case json.Number:
		n, err := value.Int64()
		if err != nil {
			why = fmt.Sprintf("%s is not a whole number", value)
			break
		}
		why = fits(&Type{Kind: KindInt, Numbers: []int64{n}}, wanted)
	case []any:
		why = fits(someArray, wanted)
		if why == "" {
			why = wanted.items(len(value))
		}
		for _, item := range value {
			text, is := item.(string)
			if is && wanted.Kind == KindArray && wanted.Values != nil && !slices.Contains(wanted.Values, text) {
				why = quote(text) + " is not among the values that are allowed: " + list(quoteAll(wanted.Values))
			}
		}
	case map[string]any:
		why = fits(someObject, wanted)
	case nil:
		why = "it has neither a value nor a reference"
	}
	if why != "" {
		c.find(name, "param-value", "parameter %s: %s", name, why)
	}
}

// secret checks that no secret stands in the file.
func (c *parameterFile) secret(name string, value any, parameter *Parameter) {
	text, is := value.(string)
	if !secure(parameter.Decorators) || value == nil || is && (text == "" || azdVariable.MatchString(text)) {
		return
	}
	c.find(name, "secret", "%s is @secure: a secret does not stand in a file, but a reference to a vault", name)
}

// twiceInJSON are the names that an object of JSON has twice, of which readers take one or
// the other.
func twiceInJSON(data []byte) []string {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var twice []string
	var value func() bool
	value = func() bool {
		token, err := decoder.Token()
		open, is := token.(json.Delim)
		if err != nil || !is {
			return err == nil
		}
		seen := map[string]bool{}
		for decoder.More() {
			if open == '{' {
				token, err := decoder.Token()
				name, _ := token.(string)
				if err != nil {
					return false
				}
				if seen[name] {
					twice = append(twice, name)
				}
				seen[name] = true
			}
			if !value() {
				return false
			}
		}
		_, err = decoder.Token()
		return err == nil
	}
	value()
	return twice
}
