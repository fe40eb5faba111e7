package filter

import (
	"fmt"
	"strings"
)

type tokenKind int

const (
	tokenEnd       tokenKind = iota
	tokenWord                // regular identifier or keyword
	tokenDelimited           // [identifier] or "identifier"
	tokenString
	tokenNumber
	tokenOperator
)

type token struct {
	kind tokenKind
	text string
	pos  int
}

// is compares with an operator, or with a keyword in any case.
func (t token) is(text string) bool {
	return t.kind == tokenOperator && t.text == text || t.kind == tokenWord && strings.EqualFold(t.text, text)
}

func (t token) unexpected(wanted string) error {
	if t.kind == tokenEnd {
		return fmt.Errorf("position %d: the expression ends where %s is expected", t.pos, wanted)
	}
	return fmt.Errorf("position %d: %q where %s is expected", t.pos, t.text, wanted)
}

func (t token) mustBeCondition(operator string) error {
	return fmt.Errorf("position %d: an operand of %s is a value, not a condition", t.pos, operator)
}

func (t token) mustBeValue(operator string) error {
	return fmt.Errorf("position %d: an operand of %s is a condition, not a value", t.pos, operator)
}

func scan(s string) ([]token, error) {
	var out []token
	for i := 0; ; {
		for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
			i++
		}
		if i == len(s) {
			return append(out, token{tokenEnd, "", i + 1}), nil
		}
		t, n, err := scanToken(s[i:])
		if err != nil {
			return nil, fmt.Errorf("position %d: %w", i+1, err)
		}
		t.pos = i + 1
		out = append(out, t)
		i += n
	}
}

func scanToken(s string) (token, int, error) {
	switch c := s[0]; {
	case c == '\'':
		text, n, err := quoted(s, '\'')
		return token{kind: tokenString, text: text}, n, err
	case c == '"':
		text, n, err := quoted(s, '"')
		return token{kind: tokenDelimited, text: text}, n, err
	case c == '[':
		text, n, err := quoted(s, ']')
		return token{kind: tokenDelimited, text: text}, n, err
	case isLetter(c):
		n := 1
		for n < len(s) && (isLetter(s[n]) || isDigit(s[n]) || s[n] == '_') {
			n++
		}
		return token{kind: tokenWord, text: s[:n]}, n, nil
	case isDigit(c) || c == '.' && len(s) > 1 && isDigit(s[1]):
		n := number(s)
		if n < len(s) && (isLetter(s[n]) || s[n] == '_') {
			return token{}, 0, fmt.Errorf("%q is not a number", s[:n+1])
		}
		return token{kind: tokenNumber, text: s[:n]}, n, nil
	case len(s) > 1 && (s[:2] == "<=" || s[:2] == ">=" || s[:2] == "<>" || s[:2] == "!="):
		return token{kind: tokenOperator, text: s[:2]}, 2, nil
	case strings.IndexByte("=<>()+-*/%,.;", c) >= 0:
		return token{kind: tokenOperator, text: s[:1]}, 1, nil
	default:
		return token{}, 0, fmt.Errorf("unexpected character %q", c)
	}
}

// quoted reads up to the closing character, which stands for itself when doubled.
func quoted(s string, end byte) (string, int, error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != end {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == end {
			b.WriteByte(end)
			i++
			continue
		}
		if end != '\'' && b.Len() == 0 {
			return "", 0, fmt.Errorf("empty identifier")
		}
		return b.String(), i + 1, nil
	}
	return "", 0, fmt.Errorf("%q is not closed", s[:1])
}

// number is the length of the integer, decimal or floating constant that s starts with.
func number(s string) int {
	n := 0
	digits := func() {
		for n < len(s) && isDigit(s[n]) {
			n++
		}
	}
	digits()
	if n < len(s) && s[n] == '.' {
		n++
		digits()
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		mark := n
		n++
		if n < len(s) && (s[n] == '+' || s[n] == '-') {
			n++
		}
		if n == len(s) || !isDigit(s[n]) {
			return mark
		}
		digits()
	}
	return n
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
