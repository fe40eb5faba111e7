package filter

import (
	"fmt"
	"slices"
)

// Action is a compiled SQL action of a rule: it sets and removes properties.
type Action struct{ steps []step }

// step sets a property, or removes it where there is no value.
type step struct {
	property propertyNode
	value    node
}

// Changes are the properties that an action changed. A value of nil removes one.
type Changes struct {
	System map[string]string // by documented name; empty removes one
	User   map[string]any
}

// settable are the system properties that an action may change.
var settable = []string{"ContentType", "CorrelationId", "Label", "MessageId", "ReplyTo", "ReplyToSessionId", "SessionId", "To"}

// ParseAction compiles statements of the grammar documented as "Subscription rule SQL
// action syntax". The error names the position, counted in bytes from 1.
func ParseAction(text string) (*Action, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p, a := &parser{tokens: tokens}, &Action{}
	for {
		s, err := p.step()
		if err != nil {
			return nil, err
		}
		a.steps = append(a.steps, s)
		separated := p.accept(";") || p.accept(",")
		if p.peek().kind == tokenEnd {
			return a, nil
		}
		if !separated {
			return nil, p.peek().unexpected("the end of the action")
		}
	}
}

func (p *parser) step() (s step, err error) {
	word := p.take()
	if !word.is("SET") && !word.is("REMOVE") {
		return s, word.unexpected("SET or REMOVE")
	}
	at := p.peek()
	n, err := p.property()
	if err != nil {
		return s, err
	}
	s.property = n.(propertyNode)
	if s.property.system && !slices.Contains(settable, s.property.name) {
		return s, fmt.Errorf("position %d: a change of sys.%s %w", at.pos, s.property.name, ErrUnsupported)
	}
	if word.is("REMOVE") {
		return s, nil
	}
	if err := p.expect("="); err != nil {
		return s, err
	}
	s.value, err = p.value("SET")
	return s, err
}

// Apply evaluates the action on a message. A statement sees the changes of those before
// it. A value that is unknown removes its property.
func (a *Action) Apply(m Message) Changes {
	c := Changes{System: map[string]string{}, User: map[string]any{}}
	for _, s := range a.steps {
		var v any
		if s.value != nil {
			v = s.value.value(changed{m, c})
		}
		switch {
		case !s.property.system:
			c.User[s.property.name] = v
		case v == nil:
			c.System[s.property.name] = ""
		default:
			c.System[s.property.name] = fmt.Sprint(v)
		}
	}
	return c
}

// changed is a message with the changes of the statements so far.
type changed struct {
	Message
	changes Changes
}

// User is an application property.
func (c changed) User(name string) any {
	if v, ok := c.changes.User[name]; ok {
		return v
	}
	return c.Message.User(name)
}

// System is a system property by its documented name.
func (c changed) System(name string) any {
	v, ok := c.changes.System[name]
	switch {
	case !ok:
		return c.Message.System(name)
	case v == "":
		return nil
	}
	return v
}
