package bicep

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
)

// evaluator evaluates the expressions of one file. A value is a string, an int64, a bool,
// nil, []any, map[string]any, *Instance or Runtime. Functions of Bicep that infra/ does not
// need are an error. environment() is the public cloud.
type evaluator struct {
	file       *File
	fs         fs.FS
	deployment *Deployment
	callers    []string
	// values are those of declarations that are evaluated, pending the ones under way.
	values  map[string]any
	pending map[string]bool
}

// evaluationError is the panic value of an evaluation; Deploy returns it.
type evaluationError Finding

func (e evaluationError) Error() string { return Finding(e).String() }

func (v *evaluator) fail(at Position, format string, values ...any) {
	panic(evaluationError{File: v.file.Path, Position: at, Message: fmt.Sprintf(format, values...)})
}

// unknown fails at an expression. It returns any, so that callers can return it.
func (v *evaluator) unknown(e Expression, format string, values ...any) any {
	v.fail(e.At(), format, values...)
	return nil
}

// valueScope are the names of loops and lambdas.
type valueScope struct {
	name  string
	value any
	outer *valueScope
}

func (v *evaluator) of(e Expression, local *valueScope) any {
	switch e := e.(type) {
	case *String:
		text := e.Segments[0]
		for i, insert := range e.Inserts {
			text += fmt.Sprint(v.of(insert, local)) + e.Segments[i+1]
		}
		return text
	case *Integer:
		return e.Value
	case *Boolean:
		return e.Value
	case *Null:
		return nil
	case *Array:
		all := []any{}
		for _, item := range e.Items {
			all = append(all, v.of(item, local))
		}
		return all
	case *Object:
		return v.ofObject(e, local)
	case *For:
		return v.ofFor(e, local)
	case *Reference:
		return v.ofReference(e, local)
	case *Member:
		return v.property(e, v.of(e.On, local), e.Member.Text, e.Safe)
	case *Index:
		return v.ofIndex(e, local)
	case *NotNull:
		return v.of(e.Operand, local)
	case *Ternary:
		if v.of(e.Condition, local) == true {
			return v.of(e.Then, local)
		}
		return v.of(e.Otherwise, local)
	case *Unary:
		if e.Operator == "!" {
			return v.of(e.Operand, local) != true
		}
		return -v.number64(e, v.of(e.Operand, local))
	case *Binary:
		return v.ofBinary(e, local)
	case *Call:
		return v.ofCall(e, local)
	}
	return v.unknown(e, "this has no value")
}

func (v *evaluator) ofObject(e *Object, local *valueScope) any {
	all := map[string]any{}
	for _, p := range e.Properties {
		name := p.Text
		if p.Key != nil {
			name = fmt.Sprint(v.of(p.Key, local))
		}
		all[name] = v.of(p.Value, local)
	}
	return all
}

func (v *evaluator) ofFor(e *For, local *valueScope) any {
	all := []any{}
	for i, item := range v.array(e.List, v.of(e.List, local)) {
		all = append(all, v.of(e.Body, e.bind(item, i, local)))
	}
	return all
}

func (v *evaluator) ofReference(e *Reference, local *valueScope) any {
	for ; local != nil; local = local.outer {
		if local.name == e.Text {
			return local.value
		}
	}
	return v.symbol(e.Name)
}

func (v *evaluator) property(e Expression, on any, name string, safe bool) any {
	switch on := on.(type) {
	case Runtime:
		return on + Runtime("."+name)
	case *Instance:
		switch name {
		case "id":
			return on.ID
		case "name":
			return path.Base(on.Name)
		}
		return Runtime(on.ID + "." + name)
	}
	object, is := on.(map[string]any)
	value, has := object[name]
	if (!is || !has) && !safe {
		return v.unknown(e, "no %s in %v", name, on)
	}
	return value
}

func (v *evaluator) ofIndex(e *Index, local *valueScope) any {
	switch index := v.of(e.Index, local).(type) {
	case string:
		return v.property(e, v.of(e.On, local), index, e.Safe)
	case int64:
		items := v.array(e, v.of(e.On, local))
		if index >= 0 && index < int64(len(items)) {
			return items[index]
		}
		if e.Safe {
			return nil
		}
	}
	return v.unknown(e, "no such item")
}

func (v *evaluator) ofBinary(e *Binary, local *valueScope) any {
	left := v.of(e.Left, local)
	switch e.Operator {
	case "&&":
		return left == true && v.of(e.Right, local) == true
	case "||":
		return left == true || v.of(e.Right, local) == true
	case "??":
		if left != nil {
			return left
		}
		return v.of(e.Right, local)
	case "==":
		return reflect.DeepEqual(left, v.of(e.Right, local))
	case "!=":
		return !reflect.DeepEqual(left, v.of(e.Right, local))
	}
	a, b := v.number64(e.Left, left), v.number64(e.Right, v.of(e.Right, local))
	switch e.Operator {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		if b != 0 {
			return a / b
		}
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	}
	return v.unknown(e, "%s has no value here", e.Operator)
}

func (v *evaluator) number64(e Expression, value any) int64 {
	n, is := value.(int64)
	if !is {
		v.unknown(e, "%v is not a number", value)
	}
	return n
}

func (v *evaluator) array(e Expression, value any) []any {
	items, is := value.([]any)
	if !is {
		v.unknown(e, "%v is not an array", value)
	}
	return items
}

// ofCall evaluates the functions that take lambdas, and calls simple for the others.
func (v *evaluator) ofCall(e *Call, local *valueScope) any {
	if e.On != nil {
		return v.unknown(e, "%s() needs Azure", e.Text)
	}
	if e.Text == "environment" {
		return publicCloud
	}
	if e.Text == "loadJsonContent" || e.Text == "loadTextContent" {
		return v.load(e)
	}
	if !slices.Contains([]string{"map", "filter", "toObject"}, e.Text) {
		arguments := make([]any, len(e.Arguments))
		for i, argument := range e.Arguments {
			arguments[i] = v.of(argument, local)
		}
		return v.simple(e, arguments)
	}
	apply := func(argument int, item any, index int) any {
		lambda, is := e.Arguments[argument].(*Lambda)
		if !is {
			v.unknown(e, "%s() needs a lambda", e.Text)
		}
		inner := &valueScope{lambda.Parameters[0].Text, item, local}
		if len(lambda.Parameters) > 1 {
			inner = &valueScope{lambda.Parameters[1].Text, int64(index), inner}
		}
		return v.of(lambda.Body, inner)
	}
	list, object := []any{}, map[string]any{}
	for i, item := range v.array(e.Arguments[0], v.of(e.Arguments[0], local)) {
		switch e.Text {
		case "map":
			list = append(list, apply(1, item, i))
		case "filter":
			if apply(1, item, i) == true {
				list = append(list, item)
			}
		case "toObject":
			value := item
			if len(e.Arguments) > 2 {
				value = apply(2, item, i)
			}
			object[fmt.Sprint(apply(1, item, i))] = value
		}
	}
	if e.Text == "toObject" {
		return object
	}
	return list
}

// publicCloud is the result of environment() in Azure's public cloud, as far as infra/ reads it.
var publicCloud = map[string]any{
	"authentication": map[string]any{"loginEndpoint": "https://login.microsoftonline.com/"},
	"suffixes":       map[string]any{"acrLoginServer": ".azurecr.io", "keyvaultDns": ".vault.azure.net", "storage": "core.windows.net"},
}

func (v *evaluator) load(e *Call) any {
	name, _ := Literal(e.Arguments[0])
	data, err := fs.ReadFile(v.fs, path.Join(path.Dir(v.file.Path), name))
	if err != nil {
		return v.unknown(e.Arguments[0], "%v", err)
	}
	if e.Text == "loadTextContent" {
		return string(data)
	}
	return v.parsed(e.Arguments[0], string(data))
}

// parsed is the value of a text of JSON.
func (v *evaluator) parsed(e Expression, text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return v.unknown(e, "this is not JSON: %v", err)
	}
	return whole64(value)
}

// whole64 turns the numbers of JSON into those of Bicep. A fraction, which Bicep does not
// calculate with, stays as it is.
func whole64(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n
		}
	case []any:
		for i, item := range value {
			value[i] = whole64(item)
		}
	case map[string]any:
		for name, item := range value {
			value[name] = whole64(item)
		}
	}
	return value
}
