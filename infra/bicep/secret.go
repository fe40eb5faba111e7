package bicep

import (
	"slices"
	"strings"
)

// What a deployment was given and what it gives can be read afterwards by whoever may
// read the resource group. So a secret goes only where @secure says that it is one.

// secret names the secret that an expression holds: a parameter that is @secure, or what
// Azure is asked for. Whether it is empty or how long it is tells nothing.
func (u *unit) secret(e Expression) string {
	return u.secretWithin(e, map[*symbol]bool{})
}

func (u *unit) secretWithin(e Expression, seen map[*symbol]bool) string {
	found := ""
	Walk(e, func(e Expression) bool {
		switch e := e.(type) {
		case *Reference:
			s := u.symbols[e.Text]
			if s == nil || seen[s] || found != "" {
				return false
			}
			seen[s] = true
			switch d := s.declaration.(type) {
			case *Parameter:
				if secure(d.Decorators) {
					found = d.Text
				}
			case *Variable:
				found = u.secretWithin(d.Value, seen)
			}
		case *Call:
			if slices.Contains([]string{"empty", "length", "contains"}, e.Text) {
				return false
			}
			if e.On != nil && (e.Text == "getSecret" || strings.HasPrefix(e.Text, "list")) || e.Text == "listKeys" {
				found = e.Text + "()"
			}
		case *Binary:
			return e.Operator == "??"
		case *Ternary:
			found = first(found, u.secretWithin(e.Then, seen), u.secretWithin(e.Otherwise, seen))
			return false
		}
		return found == ""
	})
	return found
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func secure(decorators []*Decorator) bool {
	return slices.ContainsFunc(decorators, func(d *Decorator) bool { return d.Text == "secure" })
}

// kept checks that what is handed on stays secret.
func (u *unit) kept(e Expression, to string, decorators []*Decorator) {
	if name := u.secret(e); name != "" && !secure(decorators) {
		u.find(e.At(), "secret", "%s is a secret, and %s is not @secure: whoever reads the deployment reads it", name, to)
	}
}

// secureDefault checks that a secret does not stand in the file.
func (u *unit) secureDefault(d *Parameter) {
	if !secure(d.Decorators) {
		return
	}
	switch e := d.Default.(type) {
	case *String:
		if text, literal := e.Literal(); !literal || text == "" {
			return
		}
	case *Object:
		if len(e.Properties) == 0 {
			return
		}
	default:
		return
	}
	u.find(d.Default.At(), "secret", "%s is @secure: a secret does not stand in a file", d.Text)
}

// asked checks where secrets of a vault are asked for: only the value of a module's
// parameter may be one.
func (u *unit) asked() {
	possible := map[*Call]bool{}
	for _, module := range u.Modules {
		params, _ := module.Body.Value("params").(*Object)
		if params == nil {
			continue
		}
		for _, property := range params.Properties {
			values := []Expression{property.Value}
			if choice, is := property.Value.(*Ternary); is {
				values = []Expression{choice.Then, choice.Otherwise}
			}
			for _, value := range values {
				if call, is := value.(*Call); is {
					possible[call] = true
				}
			}
		}
	}
	u.Walk(func(e Expression) bool {
		call, is := e.(*Call)
		if !is || call.On == nil || call.Text != "getSecret" {
			return true
		}
		var vault *Resource
		if s := u.deployed(call.On); s != nil {
			vault, _ = s.declaration.(*Resource)
		}
		switch {
		case vault == nil || !strings.EqualFold(vault.Type, "Microsoft.KeyVault/vaults"):
			u.find(call.Position, "secret", "getSecret() is asked of a resource that is a Microsoft.KeyVault/vaults")
		case !possible[call]:
			u.find(call.Position, "secret", "getSecret() is possible only as the whole value of a module's parameter")
		}
		return true
	})
}
