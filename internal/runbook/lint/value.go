package lint

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/signature"
)

var guid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// misfit tells why a value of a runbook cannot be a parameter's; nothing where it can,
// or where a template decides. It takes what the workers of this repository take: what
// is empty is as good as not given, and each type is read from its text too.
func misfit(p signature.Parameter, value any) string {
	if len(template.References(value)) > 0 {
		return ""
	}
	if value == nil || value == "" {
		if p.Required {
			return "is required and is empty"
		}
		return ""
	}
	text, isText := value.(string)
	switch {
	case p.Type == "string":
		if _, number := value.(json.Number); !isText && !number {
			return "has to be text"
		}
	case p.Type == "boolean":
		if _, is := value.(bool); !is && !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
			return "has to be true or false"
		}
	case p.Type == "guid":
		if !guid.MatchString(text) {
			return "has to be a GUID"
		}
	case p.Type == "string list":
		if !isText && !texts(value) {
			return "has to be a list of texts"
		}
	case strings.Contains(p.Type, "|"):
		words := strings.Split(p.Type, "|")
		if !slices.ContainsFunc(words, func(w string) bool { return isText && strings.EqualFold(w, text) }) {
			return "has to be one of " + strings.Join(words, ", ")
		}
	}
	return ""
}

func texts(value any) bool {
	list, ok := value.([]any)
	return ok && !slices.ContainsFunc(list, func(item any) bool { _, text := item.(string); return !text })
}
