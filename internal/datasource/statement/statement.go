// Package statement looks at the words of a runbook's query: it has to be one statement,
// and one that reads. It keeps a query that was meant otherwise from being run; it is not
// what keeps a database safe.
//
// It knows a little of several kinds of SQL and must not know where queries are run.
package statement

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// Dialect describes a SQL dialect to the check of a query.
type Dialect struct {
	begins []string // the words that a query may begin with
	// words are those that only occur in statements that do more than read. They have to
	// be reserved, so that nothing can be called by them without quotation marks.
	words []string
	// but are the words after which some of them stand for something else.
	but            map[string][]string
	nestedComments bool
	brackets       bool // [name]
	backticks      bool // `name`
	backslashes    bool // 'it\'s'
	escapes        bool // E'it\'s'
	dollars        bool // $$it's$$ and $name$it's$name$
}

// The dialects.
var (
	// TransactSQL is of SQL Server, Azure SQL and Dataverse.
	TransactSQL = Dialect{
		begins: []string{"SELECT", "WITH"},
		words: []string{
			"ALTER", "BACKUP", "BEGIN", "CHECKPOINT", "COMMIT", "CREATE", "DBCC", "DECLARE", "DELETE", "DENY", "DROP", "EXEC",
			"EXECUTE", "GRANT", "IF", "INSERT", "INTO", "KILL", "MERGE", "OPENDATASOURCE", "OPENQUERY", "RECONFIGURE", "RESTORE", "REVERT",
			"REVOKE", "ROLLBACK", "SAVE", "SET", "SHUTDOWN", "TRUNCATE", "UPDATE", "USE", "WAITFOR", "WHILE",
		},
		but:            map[string][]string{"MERGE": {"JOIN", "UNION"}, "USE": {"HINT", "PLAN"}}, // hints
		nestedComments: true,
		brackets:       true,
	}
	// SQLite is of SQLite.
	SQLite = Dialect{begins: []string{"SELECT", "WITH", "VALUES"}, brackets: true, backticks: true}
	// Postgres is of PostgreSQL. A transaction that only reads refuses what the words do not
	// tell: those of most statements can be names.
	Postgres = Dialect{begins: []string{"SELECT", "WITH", "VALUES"}, words: []string{"INTO"}, nestedComments: true, escapes: true, dollars: true}
	// Databricks is of Databricks' warehouses, where what begins with WITH may write.
	Databricks = Dialect{
		begins: []string{"SELECT", "WITH", "VALUES"}, words: []string{"DELETE", "INSERT", "MERGE", "UPDATE"},
		nestedComments: true, backticks: true, backslashes: true,
	}
	// Other is of databases of which no more is known.
	Other = Dialect{begins: []string{"SELECT", "WITH", "VALUES"}, backticks: true}
)

// Check gives a query without what surrounds it and without a semicolon at the end. The
// error is a [*datasource.QueryError]: the query is not one statement that reads, as far
// as its words tell.
func (g Dialect) Check(query string) (string, error) {
	statement, reason := g.check(query)
	if reason != "" {
		return "", &datasource.QueryError{Reason: reason}
	}
	return statement, nil
}

func (g Dialect) check(query string) (statement, reason string) {
	tokens, reason := g.scan(query)
	if reason != "" {
		return "", "the query: " + reason
	}
	for len(tokens) > 0 && tokens[0].text == ";" { // as in ";WITH"
		tokens = tokens[1:]
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].text == ";" {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 {
		return "", "the query is empty"
	}
	first := slices.IndexFunc(tokens, func(t token) bool { return t.text != "(" })
	if first < 0 || !slices.Contains(g.begins, tokens[first].text) {
		return "", fmt.Sprintf("the query must be one statement that begins with %s", strings.Join(g.begins, " or "))
	}
	for i, t := range tokens {
		if t.text == ";" {
			return "", "the query is more than one statement: something follows a semicolon"
		}
		if !slices.Contains(g.words, t.text) {
			continue
		}
		if i+1 < len(tokens) && slices.Contains(g.but[t.text], tokens[i+1].text) {
			continue
		}
		return "", fmt.Sprintf("the query must only read, but it contains %s (quote a column of that name)", t.text)
	}
	return query[tokens[0].start:tokens[len(tokens)-1].end], ""
}

// token is a word in capitals, a single other character, or "'" for any quoted text.
type token struct {
	text       string
	start, end int // bytes in the query
}

func (g Dialect) scan(query string) (tokens []token, reason string) {
	for at := 0; at < len(query); {
		text, length, reason := g.first(query[at:])
		if reason != "" {
			return nil, reason
		}
		if text != "" {
			tokens = append(tokens, token{text: text, start: at, end: at + length})
		}
		at += length
	}
	return tokens, ""
}

// first gives the text of the token that s begins with, empty for a space or a comment,
// and its length in s; or the reason why there is none.
func (g Dialect) first(s string) (text string, length int, reason string) {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case unicode.IsSpace(r):
		return "", size, ""
	case strings.HasPrefix(s, "--"):
		if length = strings.IndexByte(s, '\n'); length < 0 {
			length = len(s)
		}
		return "", length, ""
	case strings.HasPrefix(s, "/*"):
		if length = g.comment(s); length < 0 {
			return "", 0, "a comment is not closed"
		}
		return "", length, ""
	case g.dollars && dollar.MatchString(s):
		mark := dollar.FindString(s)
		if length = strings.Index(s[len(mark):], mark); length < 0 {
			return "", 0, fmt.Sprintf("a quotation with %s is not closed", mark)
		}
		return "'", length + 2*len(mark), ""
	case g.escapes && len(s) > 1 && (r == 'E' || r == 'e') && s[1] == '\'':
		g.backslashes = true
		if length = g.quoted(s[1:]); length < 0 {
			return "", 0, "a quotation with ' is not closed"
		}
		return "'", length + 1, ""
	case g.quotes(r):
		if length = g.quoted(s); length < 0 {
			return "", 0, fmt.Sprintf("a quotation with %c is not closed", r)
		}
		return "'", length, ""
	case isWord(r):
		if length = strings.IndexFunc(s, func(r rune) bool { return !isWord(r) }); length < 0 {
			length = len(s)
		}
		return strings.ToUpper(s[:length]), length, ""
	}
	return s[:size], size, ""
}

// dollar is the mark of a quotation in dollars. A parameter such as $1 is none.
var dollar = regexp.MustCompile(`^\$(\pL[\pL\d_]*|_[\pL\d_]*)?\$`)

// quotes reports whether a character is a quotation mark.
func (g Dialect) quotes(r rune) bool {
	return r == '\'' || r == '"' || r == '`' && g.backticks || r == '[' && g.brackets
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_@#$", r)
}

// comment is the length of the comment that s begins with, or -1.
func (g Dialect) comment(s string) int {
	depth := 1
	for i := 2; i+1 < len(s); i++ {
		switch {
		case s[i:i+2] == "*/":
			if depth--; depth == 0 {
				return i + 2
			}
			i++
		case s[i:i+2] == "/*" && g.nestedComments:
			depth++
			i++
		}
	}
	return -1
}

// quoted is the length of what s begins with in quotation marks, or -1. The mark is
// doubled where it stands for itself.
func (g Dialect) quoted(s string) int {
	mark := s[0]
	if mark == '[' {
		mark = ']'
	}
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && g.backslashes && mark != '`':
			i++
		case s[i] != mark:
		case i+1 < len(s) && s[i+1] == mark:
			i++
		default:
			return i + 1
		}
	}
	return -1
}
