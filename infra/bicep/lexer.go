package bicep

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind int

const (
	endOfFile tokenKind = iota
	lineBreak
	identifier
	number
	// A string without inserts is stringWhole; otherwise it is a stringStart, as many
	// stringMiddle as there are further inserts, and a stringEnd.
	stringWhole
	stringStart
	stringMiddle
	stringEnd
	operator
)

// token is a word of the source. Text is the value of a string, otherwise as written.
type token struct {
	Position
	kind tokenKind
	text string
}

// lexer cuts a source into tokens. Line breaks are tokens, several in a row one of them;
// comments are nothing.
type lexer struct {
	rest string
	Position
	tokens   []token
	comment  *string
	findings []Finding
	// open are the braces that are open: '$' stands for an insert in a string.
	open []byte
}

// operators are tried from the longest.
var operators = []string{"...", "=>", "==", "!=", "<=", ">=", "=~", "!~", "&&", "||", "??", "::"}

// lex gives all tokens, with one for the end of the file.
func lex(path, source string) ([]token, string, []Finding) {
	// Some editors mark a file of UTF-8 at its beginning, which Bicep takes.
	l := &lexer{rest: strings.TrimPrefix(source, "\ufeff"), Position: Position{1, 1}}
	for l.rest != "" {
		l.next()
	}
	l.add(endOfFile, "end of the file", l.Position)
	for i := range l.findings {
		l.findings[i].File = path
	}
	comment := ""
	if l.comment != nil {
		comment = *l.comment
	}
	return l.tokens, comment, l.findings
}

func (l *lexer) add(kind tokenKind, text string, at Position) {
	l.tokens = append(l.tokens, token{at, kind, text})
}

func (l *lexer) fail(at Position, format string, values ...any) {
	l.findings = append(l.findings, Finding{Position: at, Message: fmt.Sprintf(format, values...)})
}

// take moves over n bytes and gives them.
func (l *lexer) take(n int) string {
	text := l.rest[:n]
	l.rest = l.rest[n:]
	for _, c := range text {
		if c == '\n' {
			l.Line, l.Column = l.Line+1, 1
		} else {
			l.Column++
		}
	}
	return text
}

func (l *lexer) next() {
	at := l.Position
	switch c := l.rest[0]; {
	case c == '\n' || strings.HasPrefix(l.rest, "\r\n"):
		l.take(1 + strings.Index(l.rest, "\n"))
		if len(l.tokens) > 0 && l.tokens[len(l.tokens)-1].kind != lineBreak {
			l.add(lineBreak, "line break", at)
		}
	case c == ' ' || c == '\t':
		l.take(1)
	case strings.HasPrefix(l.rest, "//"):
		l.lineComment()
	case strings.HasPrefix(l.rest, "/*"):
		l.blockComment(at)
	case strings.HasPrefix(l.rest, "'''"):
		l.multiLine(at)
	case c == '\'':
		l.take(1)
		l.text(at, stringStart, stringWhole)
	case letter(c):
		l.add(identifier, l.take(length(l.rest, func(c byte) bool { return letter(c) || digit(c) })), at)
	case digit(c):
		l.add(number, l.take(length(l.rest, digit)), at)
	case c == '}' && len(l.open) > 0 && l.open[len(l.open)-1] == '$':
		l.open = l.open[:len(l.open)-1]
		l.take(1)
		l.text(at, stringMiddle, stringEnd)
	default:
		l.operator(at)
	}
}

// allowedDirective is the only compiler directive: diagnosticSettings has no recent API version.
const allowedDirective = "#disable-next-line use-recent-api-versions"

func (l *lexer) operator(at Position) {
	for _, text := range operators {
		if strings.HasPrefix(l.rest, text) {
			l.add(operator, l.take(len(text)), at)
			return
		}
	}
	switch c := l.rest[0]; {
	case strings.IndexByte("@{}[]().,:?!+-*/%=<>^", c) < 0:
		r, size := utf8.DecodeRuneInString(l.rest)
		l.take(size)
		switch r {
		case '"', '‘', '’', '“', '”':
			l.fail(at, "use straight single quotes for strings")
		case '#':
			line := "#" + l.take(length(l.rest, func(c byte) bool { return c != '\n' && c != '\r' }))
			if line != allowedDirective {
				l.fail(at, "unsupported directive: only %s is allowed", allowedDirective)
			}
		default:
			l.fail(at, "unexpected character %q", r)
		}
		return
	case c == '{':
		l.open = append(l.open, '{')
	case c == '}' && len(l.open) > 0:
		l.open = l.open[:len(l.open)-1]
	}
	l.add(operator, l.take(1), at)
}

func (l *lexer) lineComment() {
	end := strings.IndexByte(l.rest, '\n')
	if end < 0 {
		end = len(l.rest)
	}
	text := strings.TrimSpace(strings.TrimPrefix(l.take(end), "//"))
	l.remember(text)
}

func (l *lexer) blockComment(at Position) {
	end := strings.Index(l.rest, "*/")
	if end < 0 {
		l.take(len(l.rest))
		l.fail(at, "unterminated comment: */ is missing")
		return
	}
	l.remember(strings.TrimSpace(strings.TrimPrefix(l.take(end), "/*")))
	l.take(2)
}

// remember keeps the first comment if nothing stands before it.
func (l *lexer) remember(text string) {
	if l.comment == nil && len(l.tokens) == 0 {
		l.comment = &text
	}
}

// multiLine reads ”'text”': no escapes, no inserts, and a line break right after the
// opening marks does not count.
func (l *lexer) multiLine(at Position) {
	l.take(3)
	end := strings.Index(l.rest, "'''")
	if end < 0 {
		l.take(len(l.rest))
		l.fail(at, "unterminated string: ''' is missing")
		return
	}
	// Quotes at the end of the text belong to it.
	for end+3 < len(l.rest) && l.rest[end+3] == '\'' {
		end++
	}
	text := l.take(end)
	l.take(3)
	text = strings.TrimPrefix(strings.TrimPrefix(text, "\r"), "\n")
	l.add(stringWhole, text, at)
}

// text reads a part of a string up to an insert (one kind of token) or to its end
// (another).
func (l *lexer) text(at Position, insert, end tokenKind) {
	var text strings.Builder
	for {
		here := l.Position
		switch {
		case l.rest == "" || l.rest[0] == '\n' || l.rest[0] == '\r':
			l.fail(at, "unterminated string: ' is missing on this line")
			l.add(end, text.String(), at)
			return
		case l.rest[0] == '\'':
			l.take(1)
			l.add(end, text.String(), at)
			return
		case strings.HasPrefix(l.rest, "${"):
			l.take(2)
			l.add(insert, text.String(), at)
			l.open = append(l.open, '$')
			return
		case l.rest[0] == '\\':
			text.WriteString(l.escape(here))
		default:
			_, size := utf8.DecodeRuneInString(l.rest)
			text.WriteString(l.take(size))
		}
	}
}

// escapes are the characters that may follow a backslash, and what they stand for.
var escapes = map[byte]string{'\\': `\`, '\'': `'`, 'n': "\n", 'r': "\r", 't': "\t", '$': "$"}

func (l *lexer) escape(at Position) string {
	if len(l.rest) > 1 {
		if text, known := escapes[l.rest[1]]; known {
			l.take(2)
			return text
		}
	}
	if end := strings.IndexByte(l.rest, '}'); strings.HasPrefix(l.rest, `\u{`) && end > 3 {
		code, err := strconv.ParseUint(l.rest[3:end], 16, 21)
		if err == nil && utf8.ValidRune(rune(code)) {
			l.take(end + 1)
			return string(rune(code))
		}
	}
	l.take(1)
	l.fail(at, `invalid escape: use \\, \', \n, \r, \t, \$ or \u{hexadecimal}`)
	return ""
}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// length is how many bytes at the start of a text are all of a kind.
func length(text string, of func(byte) bool) int {
	n := 0
	for n < len(text) && of(text[n]) {
		n++
	}
	return n
}
