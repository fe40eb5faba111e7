package template

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

// Filter changes the value of a variable: {{Mail | lower}}.
type Filter struct {
	Name string
	Args []any // strings; of default also json.Number and bool
}

// maxFiltered bounds the text that a filter makes, in bytes. A chain of replace could grow
// beyond any memory.
const maxFiltered = 256 << 10

// kind is the type of a filter's input or output.
type kind string

const (
	anything kind = "a value"
	text     kind = "text"
	list     kind = "a list"
)

// FilterDoc describes a filter for the reference.
type FilterDoc struct{ Name, Usage, Doc string }

type filterDefinition struct {
	FilterDoc
	args        int
	takes, keep kind // keep: what it gives; anything: what it takes
	apply       func(value any, args []any) (result any, fault string)
}

var filters = []filterDefinition{
	{FilterDoc{"default", "default('x')", "The value, or `x` (text, a number, true or false) if the variable has none, or its value is null or empty text."}, 1, anything, anything, applyDefault},
	{FilterDoc{"lower", "lower", "The text in lower case."}, 0, text, text, onText(func(s string, _ []string) (any, string) { return strings.ToLower(s), "" })},
	{FilterDoc{"upper", "upper", "The text in upper case."}, 0, text, text, onText(func(s string, _ []string) (any, string) { return strings.ToUpper(s), "" })},
	{FilterDoc{"trim", "trim", "The text without spaces around it."}, 0, text, text, onText(func(s string, _ []string) (any, string) { return strings.TrimSpace(s), "" })},
	{FilterDoc{"replace", "replace('old', 'new')", "The text with each `old` replaced by `new`."}, 2, text, text, onText(replaceAll)},
	{FilterDoc{"split", "split(',')", "The list of the parts between commas. Spaces around a part and empty parts are dropped."}, 1, text, list, onText(splitText)},
	{FilterDoc{"join", "join(', ')", "The elements of a list as one text, with `, ` between them."}, 1, list, text, joinList},
	{FilterDoc{"domain", "domain", "The part of an address after its last `@`."}, 0, text, text, onText(domainOf)},
	{FilterDoc{"html", "html", "The text with angle brackets, ampersands and quotes escaped, so that HTML shows it as it is. It is the last filter of each variable in the body of an HTML mail."}, 0, text, text, onText(func(s string, _ []string) (any, string) { return html.EscapeString(s), "" })},
}

// Filters describes the filters.
func Filters() []FilterDoc {
	docs := make([]FilterDoc, len(filters))
	for i, f := range filters {
		docs[i] = f.FilterDoc
	}
	return docs
}

func findFilter(name string) (filterDefinition, bool) {
	for _, f := range filters {
		if f.Name == name {
			return f, true
		}
	}
	return filterDefinition{}, false
}

// checkFilter returns why a filter cannot stand behind a value of a kind, and what it gives.
func checkFilter(f Filter, value kind) (gives kind, fault string) {
	d, ok := findFilter(f.Name)
	if !ok {
		names := make([]string, len(filters))
		for i, d := range filters {
			names[i] = d.Name
		}
		return value, fmt.Sprintf("there is no filter %q; use one of %s%s", humanize.Clip(f.Name, 60), strings.Join(names, ", "), humanize.DidYouMean(f.Name, names))
	}
	if len(f.Args) != d.args {
		return value, fmt.Sprintf("the filter %s has %s; write %s", f.Name, humanize.Count(len(f.Args), "argument"), d.Usage)
	}
	for _, a := range f.Args {
		if _, isText := a.(string); !isText && d.Name != "default" {
			return value, fmt.Sprintf("the arguments of %s are texts; write %s", f.Name, d.Usage)
		}
	}
	if d.args > 0 && d.Name != "default" && d.Name != "join" && f.Args[0] == "" {
		return value, fmt.Sprintf("the first argument of %s is empty; write %s", f.Name, d.Usage)
	}
	if d.takes != anything && value != anything && d.takes != value {
		return value, fmt.Sprintf("%s needs %s, and the filter before it gives %s", f.Name, d.takes, value)
	}
	if d.keep == anything {
		return value, ""
	}
	return d.keep, ""
}

// apply changes a value, or says why it cannot. A filter leaves null as it is; only default
// gives another value for it.
func (f Filter) apply(value any) (any, string) {
	d, ok := findFilter(f.Name)
	if !ok {
		return nil, fmt.Sprintf("cannot go through %s, which is no filter", f.Name)
	}
	if _, secret := value.(Secret); secret {
		return nil, fmt.Sprintf("is secret, and the filter %s cannot change it", f.Name)
	}
	if len(f.Args) != d.args {
		return nil, fmt.Sprintf("cannot go through %s with %s", f.Name, humanize.Count(len(f.Args), "argument"))
	}
	for _, a := range f.Args {
		if _, isText := a.(string); !isText && d.Name != "default" {
			return nil, fmt.Sprintf("cannot go through %s, whose arguments are texts", f.Name)
		}
	}
	result, fault := d.apply(value, f.Args)
	if s, ok := result.(string); ok && len(s) > maxFiltered {
		return nil, fmt.Sprintf("would have %d bytes after the filter %s; at most %d are allowed", len(s), f.Name, maxFiltered)
	}
	if fault != "" {
		return nil, fmt.Sprintf("%s, and the filter %s cannot change it", fault, f.Name)
	}
	return result, ""
}

// Apply applies the filter of a name to a value, or says why it cannot.
func Apply(name string, value any, args []any) (result any, fault string) {
	return Filter{name, args}.apply(value)
}

// gives reports whether the filters give a value where the variable has none, and whether
// that value can be empty.
func gives(fs []Filter) (gives, empty bool) {
	for _, f := range fs {
		if f.Name == "default" && len(f.Args) == 1 {
			gives, empty = true, f.Args[0] == ""
		}
	}
	return gives, empty
}

func applyDefault(value any, args []any) (any, string) {
	if value == nil || value == "" {
		return args[0], ""
	}
	return value, ""
}

// onText makes the function of a filter for text. Numbers and booleans are written as text.
func onText(change func(s string, args []string) (any, string)) func(any, []any) (any, string) {
	return func(value any, args []any) (any, string) {
		if value == nil {
			return nil, ""
		}
		s, fault := scalarText(value)
		if fault != "" {
			return nil, fault
		}
		texts := make([]string, len(args))
		for i, a := range args {
			texts[i], _ = a.(string)
		}
		return change(s, texts)
	}
}

func replaceAll(s string, args []string) (any, string) {
	if n := len(s) + strings.Count(s, args[0])*(len(args[1])-len(args[0])); args[0] != "" && n > maxFiltered {
		return nil, fmt.Sprintf("would have %d bytes where at most %d are allowed", n, maxFiltered)
	}
	return strings.ReplaceAll(s, args[0], args[1]), ""
}

func splitText(s string, args []string) (any, string) {
	parts := []any{}
	for part := range strings.SplitSeq(s, args[0]) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts, ""
}

func joinList(value any, args []any) (any, string) {
	var elements []any
	switch v := value.(type) {
	case nil:
		return nil, ""
	case []any:
		elements = v
	case []string:
		for _, e := range v {
			elements = append(elements, e)
		}
	default:
		return nil, "is not a list"
	}
	separator, _ := args[0].(string)
	var b strings.Builder
	for i, e := range elements {
		s, fault := scalarText(e)
		if fault != "" {
			return nil, "has an element that " + fault
		}
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(s)
		if b.Len() > maxFiltered {
			return nil, fmt.Sprintf("would have more than %d bytes", maxFiltered)
		}
	}
	return b.String(), ""
}

func domainOf(s string, _ []string) (any, string) {
	if s == "" {
		return "", ""
	}
	at := strings.LastIndexByte(s, '@')
	if at < 0 || at == len(s)-1 {
		return nil, "is not an address with a domain"
	}
	return s[at+1:], ""
}

// scanner reads the filters of a variable. It reads each byte once.
type scanner struct {
	s string
	i int
}

// filters reads "| name(args) | name" up to the closing braces.
func (c *scanner) filters() ([]Filter, error) {
	var found []Filter
	value := anything
	for {
		c.spaces()
		if strings.HasPrefix(c.s[c.i:], "}}") {
			return found, nil
		}
		if c.i >= len(c.s) {
			return nil, &Error{c.i, "{{ is never closed; write {{{{ for a literal {{"}
		}
		if c.s[c.i] != '|' {
			return nil, &Error{c.i, "a filter ends here; write | before the next one, or }}"}
		}
		c.i++
		c.spaces()
		at := c.i
		f, err := c.filter()
		if err != nil {
			return nil, err
		}
		var fault string
		if value, fault = checkFilter(f, value); fault != "" {
			return nil, &Error{min(at, len(c.s)-1), fault}
		}
		found = append(found, f)
	}
}

func (c *scanner) spaces() {
	for c.i < len(c.s) && (c.s[c.i] == ' ' || c.s[c.i] == '\t' || c.s[c.i] == '\n') {
		c.i++
	}
}

// word reads letters and digits.
func (c *scanner) word() string {
	start := c.i
	for c.i < len(c.s) && (c.s[c.i] == '_' || c.s[c.i] >= '0' && c.s[c.i] <= '9' || c.s[c.i]|0x20 >= 'a' && c.s[c.i]|0x20 <= 'z') {
		c.i++
	}
	return c.s[start:c.i]
}

func (c *scanner) filter() (Filter, error) {
	f := Filter{Name: c.word()}
	if f.Name == "" {
		return f, &Error{min(c.i, len(c.s)-1), "| is followed by no filter; write for example {{Name | lower}}"}
	}
	c.spaces()
	if c.i >= len(c.s) || c.s[c.i] != '(' {
		return f, nil
	}
	c.i++
	for {
		c.spaces()
		if c.i < len(c.s) && c.s[c.i] == ')' && len(f.Args) == 0 {
			break
		}
		arg, err := c.argument()
		if err != nil {
			return f, err
		}
		f.Args = append(f.Args, arg)
		c.spaces()
		if c.i < len(c.s) && c.s[c.i] == ',' {
			c.i++
			continue
		}
		if c.i < len(c.s) && c.s[c.i] == ')' {
			break
		}
		return f, &Error{min(c.i, len(c.s)-1), "the arguments of " + humanize.Clip(f.Name, 60) + " are not closed; write )"}
	}
	c.i++
	return f, nil
}

// argument reads a text in quotes, a number, true or false.
func (c *scanner) argument() (any, error) {
	at := min(c.i, len(c.s)-1)
	if c.i < len(c.s) && (c.s[c.i] == '\'' || c.s[c.i] == '"') {
		return c.quoted()
	}
	start := c.i
	for c.i < len(c.s) && strings.IndexByte(" \t\n,()|{}", c.s[c.i]) < 0 {
		c.i++
	}
	switch word := c.s[start:c.i]; {
	case word == "true", word == "false":
		return word == "true", nil
	case IsNumber(word):
		return json.Number(word), nil
	}
	return nil, &Error{at, "an argument of a filter is a text in quotes, such as 'none', a number, true or false"}
}

// quoted reads a text in single or double quotes. A backslash stands before a quote or a
// backslash that is part of the text.
func (c *scanner) quoted() (string, error) {
	start, quote := c.i, c.s[c.i]
	var b strings.Builder
	for c.i++; c.i < len(c.s); {
		switch ch := c.s[c.i]; {
		case ch == quote:
			c.i++
			return b.String(), nil
		case ch == '\\' && c.i+1 < len(c.s) && strings.IndexByte(`\'"`, c.s[c.i+1]) >= 0:
			b.WriteByte(c.s[c.i+1])
			c.i += 2
		default:
			_, size := utf8.DecodeRuneInString(c.s[c.i:])
			b.WriteString(c.s[c.i : c.i+size])
			c.i += size
		}
	}
	return "", &Error{start, "the text in quotes is never closed"}
}
