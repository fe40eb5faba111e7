// Package condition parses, checks and evaluates the conditions of steps and phases, such as
// Department == "Sales". The language is that of github.com/expr-lang/expr, without its loops,
// variables and functions: a condition takes time in proportion to its length and to the values
// that it uses, and the same values give the same result.
//
// It is pure. It must not know where the values come from.
package condition

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

// Limits of one condition.
const (
	MaxText  = 1000 // bytes
	maxNodes = 200
	// memoryBudget bounds the lists that the language itself makes. Its literals cannot come near.
	memoryBudget = 10_000
)

// Type describes the values of a name, as far as they are known.
type Type int

// The types of names.
const (
	Unknown Type = iota
	Text
	Number
	Boolean
	List
)

// TypeOf is the type of a value, as encoding/json gives it.
func TypeOf(value any) Type {
	switch normalize(value).(type) {
	case string:
		return Text
	case int, float64:
		return Number
	case bool:
		return Boolean
	case []any:
		return List
	}
	return Unknown
}

// Error says why a text is not a condition.
type Error struct {
	Offset  int // in bytes from the start of the text
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("bad condition at character %d: %s", e.Offset+1, e.Message)
}

// Reference is a name that a condition uses.
type Reference struct {
	Name   string
	Offset int // of its first use, in bytes
}

// Condition is a parsed condition. It does not change and may be used by many goroutines.
type Condition struct {
	text       string
	references []Reference    // without constants, in their order in the text
	names      []string       // of them
	constants  map[string]any // that it uses
	program    *vm.Program
}

// Parse reads a condition that may use constants by their names. The error is an *[Error].
func Parse(text string, constants map[string]any) (*Condition, error) {
	if len(text) > MaxText {
		return nil, &Error{0, fmt.Sprintf("the condition has %d bytes; at most %d are allowed", len(text), MaxText)}
	}
	if at := strings.Index(text, "{{"); at >= 0 {
		return nil, &Error{at, `write names without braces, such as Department == "Sales"`}
	}
	config := conf.CreateNew()
	expr.MaxNodes(maxNodes)(config)
	for _, option := range functions() {
		option(config)
	}
	for name := range config.Disabled {
		delete(config.Builtins, name)
	}
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return nil, explain(text, err)
	}
	s := survey{at: map[string]int{}}
	s.node(tree.Node)
	if s.fault != nil {
		return nil, s.error(text)
	}
	c := &Condition{text: text, constants: map[string]any{}}
	for name, offset := range s.at {
		if value, constant := constants[name]; constant {
			c.constants[name] = normalize(value)
			continue
		}
		c.references = append(c.references, Reference{name, byteOffset(text, offset)})
	}
	slices.SortFunc(c.references, func(a, b Reference) int { return a.Offset - b.Offset })
	for _, r := range c.references {
		c.names = append(c.names, r.Name)
	}
	unknown := func(string) Type { return Unknown }
	if err := c.Check(unknown); err != nil {
		return nil, err
	}
	if c.program, err = c.compile(unknown, expr.Patch(strict{})); err != nil {
		return nil, explain(text, err)
	}
	return c, nil
}

// Text is the condition as it was written.
func (c *Condition) Text() string {
	if c == nil {
		return ""
	}
	return c.text
}

// String is the condition as it was written, with the values of its constants; empty for nil.
func (c *Condition) String() string {
	text := c.Text()
	for i, name := range c.Constants() {
		value, _ := json.Marshal(c.constants[name])
		if i == 0 {
			text += " with "
		} else {
			text += ", "
		}
		text += fmt.Sprintf("%s = %s", name, value)
	}
	return text
}

// Names are the names that the condition uses, without its constants. There are none of a nil condition.
func (c *Condition) Names() []string {
	if c == nil {
		return nil
	}
	return c.names
}

// References are the names with their places.
func (c *Condition) References() []Reference { return c.references }

// Constants are the names of the constants that the condition uses, sorted.
func (c *Condition) Constants() []string {
	if c == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(c.constants))
}

// Check compares the condition with the types of its names. The error is an *[Error].
func (c *Condition) Check(typeOf func(name string) Type) error {
	if _, err := c.compile(typeOf); err != nil {
		return explain(c.text, err)
	}
	return nil
}

func (c *Condition) compile(typeOf func(name string) Type, more ...expr.Option) (*vm.Program, error) {
	env := types.Map{}
	for _, r := range c.references {
		env[r.Name] = exprType(typeOf(r.Name))
	}
	for name, value := range c.constants {
		env[name] = exprType(TypeOf(value))
		if _, whole := value.(int); whole {
			env[name] = types.Int
		}
	}
	options := append(functions(), expr.Env(env), expr.AsBool(), expr.MaxNodes(maxNodes))
	return expr.Compile(c.text, append(options, more...)...)
}

func exprType(t Type) types.Type {
	switch t {
	case Text:
		return types.String
	case Number:
		return types.Float64
	case Boolean:
		return types.Bool
	case List:
		return types.Array(types.Any)
	}
	return types.Any
}

// Holds evaluates the condition. values has a value, as encoding/json gives it, for each of Names;
// nil stands for no value. The error names no value.
func (c *Condition) Holds(values map[string]any) (bool, error) {
	env := make(map[string]any, len(values)+len(c.constants))
	for _, name := range c.names {
		env[name] = normalize(values[name])
	}
	maps.Copy(env, c.constants)
	machine := vm.VM{MemoryBudget: memoryBudget}
	result, err := machine.Run(c.program, env)
	if holds, ok := result.(bool); ok && err == nil {
		return holds, nil
	}
	if err != nil {
		var fault *Error
		errors.As(explain(c.text, err), &fault)
		return false, fmt.Errorf("the condition cannot be evaluated: character %d: %s", fault.Offset+1, fault.Message)
	}
	return false, fmt.Errorf("the condition is %s, and must be true or false", describe(result))
}

// explain makes an *Error of an error of the library.
func explain(text string, err error) error {
	var fault *file.Error
	if !errors.As(err, &fault) {
		return &Error{0, reword(err.Error())}
	}
	return &Error{min(byteOffset(text, fault.From), max(0, len(text)-1)), reword(fault.Message)}
}

// byteOffset is the place in bytes of the rune with this number.
func byteOffset(text string, number int) int {
	for i := range text {
		if number == 0 {
			return i
		}
		number--
	}
	return len(text)
}

var goTypes = strings.NewReplacer(
	"interface conversion: interface {} is ", "a value is ", "interface conversion: interface is ", "a value is ", ", not bool", " and must be true or false", ", not string", " and must be text",
	"[]interface {}", "list", "map[string]interface {}", "object", "interface {}", "value", "string", "text", "float64", "number", "bool", "true or false",
	"int", "number", "<nil>", "null", "nil", "null",
)

// reword writes the types of Go in an error of the library as those of a runbook.
func reword(message string) string {
	if strings.HasPrefix(message, `unexpected token Operator("=")`) {
		return "= does not compare two values; write =="
	}
	if of, ok := strings.CutPrefix(message, "invalid operation: bool("); ok {
		return fmt.Sprintf("the condition is of the type %s, and must be true or false", goTypes.Replace(strings.TrimSuffix(of, ")")))
	}
	for _, prefix := range []string{"unexpected token", "unknown", "invalid operation", "cannot", "mismatched", "interface conversion", "expected bool", "type "} {
		if strings.HasPrefix(message, prefix) {
			// names in quotes stay as they are; the library quotes none of its types
			return humanize.Clip(goTypes.Replace(message), 300)
		}
	}
	return humanize.Clip(message, 300)
}
