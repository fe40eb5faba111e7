package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/signature"
)

// memberMail is the function whose mails can be HTML.
const memberMail = "Send-MemberMail"

// markup warns of variables in the HTML of a mail whose values are not escaped.
func (c *check) markup(f signature.Function, s runbook.Step, at []any) {
	if !strings.EqualFold(f.Name, memberMail) {
		return
	}
	_, format := parameter(s.Params, "Format")
	if text, _ := format.(string); !strings.EqualFold(text, "html") {
		return
	}
	name, value := parameter(s.Params, "Texts")
	read, _ := signature.Object.Read(value)
	texts, _ := read.(map[string]any) // none if a variable gives them
	inside := append(slices.Clone(at), "params")
	for _, language := range slices.Sorted(maps.Keys(texts)) {
		parts, _ := texts[language].(map[string]any)
		part, body := parameter(parts, "Body")
		variables := unescaped(body)
		if len(variables) == 0 {
			continue
		}
		says := fmt.Sprintf("the mail is HTML, and a value of %s in it can add markup, such as a link: end each variable with the filter html, such as {{Name | html}}, or send text", strings.Join(variables, " and "))
		if _, object := value.(map[string]any); object {
			c.warn(codeUnescapedHTML, says, part, append(slices.Clone(inside), name, language)...)
		} else {
			c.warn(codeUnescapedHTML, says, name, inside...) // of JSON, which has no places in the runbook
		}
	}
}

// parameter finds a value by its name in any case.
func parameter(values map[string]any, name string) (found string, value any) {
	for found, value := range values {
		if strings.EqualFold(found, name) {
			return found, value
		}
	}
	return "", nil
}

// unescaped are the variables of a template whose last filter is not html, each once.
func unescaped(value any) (variables []string) {
	template.EachVariable(value, func(v template.Segment) {
		if n := len(v.Filters); n == 0 || v.Filters[n-1].Name != "html" {
			variables = append(variables, "{{"+v.Text+"}}")
		}
	})
	slices.Sort(variables)
	return slices.Compact(variables)
}
