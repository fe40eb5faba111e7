package runbook

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

// curlyQuotes are the quotes that word processors write.
const curlyQuotes = "“”„‟‘’‚‛"

// marks warns of texts that begin with a curly quote. It follows no aliases: what they
// stand for is in the text, too.
func (p *parser) marks(n *yaml.Node, path string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			p.marks(n.Content[i], path)
			p.marks(n.Content[i+1], joinPath(path, n.Content[i].Value))
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			p.marks(item, fmt.Sprintf("%s[%d]", path, i))
		}
	case yaml.ScalarNode:
		if r, _ := utf8.DecodeRuneInString(n.Value); n.Style == 0 && strings.ContainsRune(curlyQuotes, r) {
			p.warnf(at(n), path, CodeCurlyQuotes, "begins with the curly quote %c, which YAML takes as part of the text; write \" instead", r)
		}
	}
}

// curly finds a curly quote where a value begins.
func curly(line string) (column int, ok bool) {
	before := ' '
	column = 1
	for _, r := range line {
		if strings.ContainsRune(curlyQuotes, r) && strings.ContainsRune(" {[,", before) {
			return column, true
		}
		before = r
		column++
	}
	return 0, false
}

// dollar warns of ${{Name}}, which other programs write for a template.
func (p *parser) dollar(text string, offset int, pos position, path, variable string) {
	if offset > 0 && text[offset-1] == '$' {
		p.warnf(pos, path, CodeDollarTemplate, "the $ stays in the text: a template is {{%s}}, without $", clip(variable))
	}
}

// nearMiss warns of a variable that is neither an output nor a column of the data source, and has nearly
// the name of one. Short names are near to many others.
func (v *validator) nearMiss(u use) {
	const short = 5
	if len(u.variable) < short {
		return
	}
	var names []string
	for _, name := range slices.Concat(slices.Collect(maps.Keys(v.outputs)), slices.Collect(maps.Keys(v.columns))) {
		if len(name) >= short {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	near := humanize.Nearest(u.variable, names)
	if near == "" {
		return
	}
	meant := fmt.Sprintf("the column {{%s}} of data_source", clip(near))
	if out, ok := v.outputs[near]; ok {
		meant = fmt.Sprintf("the output {{%s}} of line %d", clip(near), out.pos.line)
	}
	v.nearMisses[u.variable] = true
	v.p.warnf(u.pos, u.path, CodeNearMiss, "{{%s}} is taken as another column; did you mean %s?", clip(u.variable), meant)
}

// elsewhere says which mapping of the format has a field that is unknown here.
func elsewhere(name string, here Object) string {
	var homes []string
	for _, o := range Format() {
		if o.Name != here.Name && slices.Contains(o.names(false), name) {
			homes = append(homes, o.Name)
		}
	}
	const few = 4 // of a field such as name, nothing is said
	if len(homes) == 0 || len(homes) >= few {
		return ""
	}
	return fmt.Sprintf("; it is a field of %s: check the indentation", strings.Join(homes, " and "))
}

// wrongIndent finds the first line, up to a last one, whose indentation fits none of the lines
// above it. Lines count from 1; 0 means that there is none.
func wrongIndent(lines []string, last int) (line int, message string) {
	levels := []int{0} // of the mappings and lists that are open
	opens := true      // the line before begins a deeper level
	skipped := -1      // the indent of the line with a block of text
	flow := 0          // brackets that are open
	for i, text := range lines[:min(last, len(lines))] {
		content := strings.TrimLeft(text, " ")
		indent := len(text) - len(content)
		content = strings.TrimRight(content, " \r")
		switch {
		case content == "" || strings.HasPrefix(content, "#") || strings.HasPrefix(content, "---"):
			continue
		case skipped >= 0 && indent > skipped, flow > 0:
			flow += brackets(content)
			continue
		}
		skipped = -1
		open := levels
		for levels[len(levels)-1] > indent {
			levels = levels[:len(levels)-1]
		}
		closes := len(levels) < len(open)
		if deeper := levels[len(levels)-1] < indent; deeper && (closes || !opens && isField(content)) {
			return i + 1, fmt.Sprintf("this line is indented by %s; the lines above it have %s", humanize.Count(indent, "space"), listed(open))
		} else if deeper {
			levels = append(slices.Clone(levels), indent)
		}
		for strings.HasPrefix(content, "- ") {
			rest := strings.TrimLeft(content[2:], " ")
			indent += len(content) - len(rest)
			levels = append(levels, indent)
			content = rest
		}
		value := strings.TrimSpace(withoutComment(content))
		opens = strings.HasSuffix(value, ":") || value == "-"
		if strings.HasSuffix(value, "|") || strings.HasSuffix(value, ">") || strings.HasSuffix(value, "|-") || strings.HasSuffix(value, ">-") {
			skipped = indent
		}
		flow = max(0, flow+brackets(value))
	}
	return 0, ""
}

// isField reports whether a line begins a field or an element, and does not continue a text.
func isField(content string) bool {
	return strings.HasPrefix(content, "- ") || strings.HasSuffix(content, ":") || strings.Contains(content, ": ")
}

func withoutComment(text string) string {
	before, _, _ := strings.Cut(text, " #")
	return before
}

// brackets counts the brackets that a line opens and does not close, outside of quotes.
func brackets(text string) int {
	open, quote := 0, rune(0)
	for _, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '{' || r == '[':
			open++
		case r == '}' || r == ']':
			open--
		}
	}
	return open
}

func listed(levels []int) string {
	var words []string
	for _, level := range slices.Compact(levels) {
		words = append(words, fmt.Sprint(level))
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
