package bicep

import (
	"fmt"
	"slices"
	"strings"
)

// Description returns the text of @description, "" without one.
func (p *Parameter) Description() string { return description(p.Decorators) }

// Description returns the text of @description, "" without one.
func (o *Output) Description() string { return description(o.Decorators) }

func description(all []*Decorator) string {
	text, _ := argument(all, "description").(string)
	return strings.TrimSpace(text)
}

// Allowed returns the values of @allowed, nil if every value is allowed.
func (p *Parameter) Allowed() []any {
	all, _ := argument(p.Decorators, "allowed").([]any)
	return all
}

// Limit returns the number of a decorator: minValue, maxValue, minLength or maxLength.
func (p *Parameter) Limit(name string) (limit int64, has bool) {
	limit, has = argument(p.Decorators, name).(int64)
	return limit, has
}

// DefaultLiteral returns the default of a parameter if it is a literal, else nil.
func (p *Parameter) DefaultLiteral() (value any) {
	if p.Default != nil {
		defer func() {
			if _, mine := recover().(evaluationError); mine {
				value = nil
			}
		}()
		value = (&evaluator{file: &File{}, pending: map[string]bool{}}).of(p.Default, nil)
	}
	return value
}

// argument returns the literal that a decorator is given, nil without that decorator.
func argument(all []*Decorator, name string) any {
	for _, d := range all {
		if d.Text == name && len(d.Arguments) == 1 {
			return (&evaluator{file: &File{}, pending: map[string]bool{}}).of(d.Arguments[0], nil)
		}
	}
	return nil
}

// refuse says why a parameter cannot have a value, "" if it can.
func (p *Parameter) refuse(value any) string {
	if _, is := value.(Runtime); is {
		return ""
	}
	if allowed := p.Allowed(); allowed != nil && !slices.Contains(allowed, value) {
		return fmt.Sprintf("%v is not one of %v", value, allowed)
	}
	n, what := length64(value), "a length"
	unit := "Length"
	if number, is := value.(int64); is {
		n, what, unit = number, "a value", "Value"
	}
	if least, has := p.Limit("min" + unit); has && n < least {
		return fmt.Sprintf("%v has %s below %d", value, what, least)
	}
	if most, has := p.Limit("max" + unit); has && n > most {
		return fmt.Sprintf("%v has %s above %d", value, what, most)
	}
	return ""
}
