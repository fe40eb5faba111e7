package bicep

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"strings"
)

// Values works out what expressions of a file come to, so that a test can compare what
// is deployed with what the programs expect. A value is a string, an int64, a bool, nil,
// []any or map[string]any. The language's functions that infra/ does not need here are
// not there: they are an error, as is everything that only Azure knows. environment() is
// the public cloud. The file has to be one in which Check finds nothing.
type Values struct {
	File *File
	// FS is what loadJsonContent reads from; File.Path is a path in it.
	FS fs.FS
	// Given are the values of parameters, and of resources and modules as far as they
	// are read: {"account": {"id": …}}. Parameters that are not given have their default.
	Given map[string]any
}

// Of gives the value of an expression.
func (v Values) Of(e Expression) (value any, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			unknown, mine := caught.(unknownValue)
			if !mine {
				panic(caught)
			}
			err = fmt.Errorf("%s:%d:%d: %s", v.File.Path, unknown.at.Line, unknown.at.Column, unknown.why)
		}
	}()
	return v.of(e, nil), nil
}

type unknownValue struct {
	at  Position
	why string
}

func unknown(e Expression, format string, values ...any) any {
	panic(unknownValue{e.At(), fmt.Sprintf(format, values...)})
}

// valueScope are the names of loops and lambdas.
type valueScope struct {
	name  string
	value any
	outer *valueScope
}

func (v Values) of(e Expression, local *valueScope) any {
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
		return property(e, v.of(e.On, local), e.Member.Text, e.Safe)
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
		return -number64(e, v.of(e.Operand, local))
	case *Binary:
		return v.ofBinary(e, local)
	case *Call:
		return v.ofCall(e, local)
	}
	return unknown(e, "this has no value")
}

func (v Values) ofObject(e *Object, local *valueScope) any {
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

func (v Values) ofFor(e *For, local *valueScope) any {
	all := []any{}
	for i, item := range array(e.List, v.of(e.List, local)) {
		inner := &valueScope{e.Item.Text, item, local}
		if e.Loop.Index.Text != "" {
			inner = &valueScope{e.Loop.Index.Text, int64(i), inner}
		}
		all = append(all, v.of(e.Body, inner))
	}
	return all
}

func (v Values) ofReference(e *Reference, local *valueScope) any {
	for ; local != nil; local = local.outer {
		if local.name == e.Text {
			return local.value
		}
	}
	if value, given := v.Given[e.Text]; given {
		return value
	}
	for _, variable := range v.File.Variables {
		if variable.Text == e.Text {
			return v.of(variable.Value, nil)
		}
	}
	for _, parameter := range v.File.Parameters {
		if parameter.Text == e.Text && parameter.Default != nil {
			return v.of(parameter.Default, nil)
		}
	}
	return unknown(e, "%s is not given", e.Text)
}

func property(e Expression, on any, name string, safe bool) any {
	object, is := on.(map[string]any)
	value, has := object[name]
	if (!is || !has) && !safe {
		return unknown(e, "there is no %s in %v", name, on)
	}
	return value
}

func (v Values) ofIndex(e *Index, local *valueScope) any {
	switch index := v.of(e.Index, local).(type) {
	case string:
		return property(e, v.of(e.On, local), index, e.Safe)
	case int64:
		items := array(e, v.of(e.On, local))
		if index >= 0 && index < int64(len(items)) {
			return items[index]
		}
		if e.Safe {
			return nil
		}
	}
	return unknown(e, "there is no such item")
}

func (v Values) ofBinary(e *Binary, local *valueScope) any {
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
	a, b := number64(e.Left, left), number64(e.Right, v.of(e.Right, local))
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
	return unknown(e, "%s has no value here", e.Operator)
}

func number64(e Expression, value any) int64 {
	n, is := value.(int64)
	if !is {
		unknown(e, "%v is not a number", value)
	}
	return n
}

func array(e Expression, value any) []any {
	items, is := value.([]any)
	if !is {
		unknown(e, "%v is not an array", value)
	}
	return items
}

// ofCall works out the functions that take lambdas, and leaves the others to simple.
func (v Values) ofCall(e *Call, local *valueScope) any {
	if e.On != nil {
		return unknown(e, "%s() asks Azure", e.Text)
	}
	if e.Text == "environment" {
		return publicCloud
	}
	if e.Text == "loadJsonContent" {
		return v.load(e)
	}
	if lambdas[e.Text] == nil {
		arguments := make([]any, len(e.Arguments))
		for i, argument := range e.Arguments {
			arguments[i] = v.of(argument, local)
		}
		return simple(e, arguments)
	}
	apply := func(argument int, item any, index int) any {
		lambda := e.Arguments[argument].(*Lambda)
		inner := &valueScope{lambda.Parameters[0].Text, item, local}
		if len(lambda.Parameters) > 1 {
			inner = &valueScope{lambda.Parameters[1].Text, int64(index), inner}
		}
		return v.of(lambda.Body, inner)
	}
	list, object := []any{}, map[string]any{}
	for i, item := range array(e.Arguments[0], v.of(e.Arguments[0], local)) {
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
		default:
			unknown(e, "%s() is not worked out", e.Text)
		}
	}
	if e.Text == "toObject" {
		return object
	}
	return list
}

// publicCloud is what environment() tells in Azure's public cloud, as far as infra/ reads
// it.
var publicCloud = map[string]any{
	"authentication": map[string]any{"loginEndpoint": "https://login.microsoftonline.com/"},
	"suffixes":       map[string]any{"acrLoginServer": ".azurecr.io", "keyvaultDns": ".vault.azure.net", "storage": "core.windows.net"},
}

func (v Values) load(e *Call) any {
	name, _ := Literal(e.Arguments[0])
	data, err := fs.ReadFile(v.FS, path.Join(path.Dir(v.File.Path), name))
	if err != nil {
		return unknown(e.Arguments[0], "%v", err)
	}
	return parsed(e.Arguments[0], string(data))
}

// parsed is the value of a text of JSON.
func parsed(e Expression, text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return unknown(e, "this is not JSON: %v", err)
	}
	return whole64(value)
}

// whole64 turns the numbers of JSON into those of Bicep. A fraction, which Bicep does not
// calculate with, stays what it is.
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
