package query

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenParameter
	tokenString
	tokenNumber
	tokenSymbol
)

type token struct {
	kind tokenKind
	text string // a string's content, else the source text
	at   int    // byte offset in the query
}

func (t token) String() string {
	if t.kind == tokenEnd {
		return "the end of the query"
	}
	return strconv.Quote(t.text)
}

// Error is a query that cannot be answered: malformed, or outside the subset.
type Error struct {
	At      int // byte offset in the query text
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("query, position %d: %s", e.At+1, e.Message)
}

func fail(at int, format string, args ...any) error {
	return &Error{At: at, Message: fmt.Sprintf(format, args...)}
}

func isNameStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func scan(text string) ([]token, error) {
	if !utf8.ValidString(text) {
		return nil, fail(0, "the query is not valid UTF-8")
	}
	var tokens []token
	for i := 0; i < len(text); {
		start, c := i, text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case strings.HasPrefix(text[i:], "--"):
			return nil, fail(i, "comments are not supported")
		case isNameStart(c):
			for i < len(text) && (isNameStart(text[i]) || isDigit(text[i])) {
				i++
			}
			tokens = append(tokens, token{tokenName, text[start:i], start})
		case c == '@':
			for i++; i < len(text) && (isNameStart(text[i]) || isDigit(text[i])); i++ {
			}
			if i == start+1 {
				return nil, fail(start, "a parameter has no name")
			}
			tokens = append(tokens, token{tokenParameter, text[start:i], start})
		case isDigit(c) || c == '.' && i+1 < len(text) && isDigit(text[i+1]):
			end, err := scanNumber(text, i)
			if err != nil {
				return nil, err
			}
			i = end
			tokens = append(tokens, token{tokenNumber, text[start:i], start})
		case c == '"' || c == '\'':
			content, end, err := scanString(text, i)
			if err != nil {
				return nil, err
			}
			i = end
			tokens = append(tokens, token{tokenString, content, start})
		default:
			symbol := ""
			for _, s := range []string{"!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", "[", "]", "{", "}", ",", ".", ":", "*", "-"} {
				if strings.HasPrefix(text[i:], s) {
					symbol = s
					break
				}
			}
			if symbol == "" {
				r, _ := utf8.DecodeRuneInString(text[i:])
				return nil, fail(i, "%q is not supported", r)
			}
			i += len(symbol)
			if symbol == "<>" {
				symbol = "!="
			}
			tokens = append(tokens, token{tokenSymbol, symbol, start})
		}
	}
	return append(tokens, token{kind: tokenEnd, at: len(text)}), nil
}

func scanNumber(text string, i int) (int, error) {
	start := i
	digits := func() {
		for i < len(text) && isDigit(text[i]) {
			i++
		}
	}
	digits()
	if i < len(text) && text[i] == '.' {
		i++
		digits()
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		digits()
	}
	if i < len(text) && isNameStart(text[i]) {
		return i, fail(start, "%q is not a number", text[start:i+1])
	}
	return i, nil
}

func scanString(text string, i int) (string, int, error) {
	start, quote := i, text[i]
	var out strings.Builder
	for i++; i < len(text); i++ {
		switch text[i] {
		case quote:
			return out.String(), i + 1, nil
		case '\\':
			i++
			if i == len(text) {
				return "", i, fail(start, "the string does not end")
			}
			switch text[i] {
			case '\\', '"', '\'', '/':
				out.WriteByte(text[i])
			case 'b':
				out.WriteByte('\b')
			case 'f':
				out.WriteByte('\f')
			case 'n':
				out.WriteByte('\n')
			case 'r':
				out.WriteByte('\r')
			case 't':
				out.WriteByte('\t')
			default:
				return "", i, fail(i-1, "the escape \\%c is not supported", text[i])
			}
		default:
			out.WriteByte(text[i])
		}
	}
	return "", i, fail(start, "the string does not end")
}
