package template

import (
	"errors"
	"strings"
	"testing"
)

// A text is a template or has an Error inside it; a template resolves when
// its references are known, and a text without references and doubled braces is
// itself.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		"", "{{a}}", "{{{{a}}}}", "a {{ b.c }} }}}}", "{{", "}}", "{{}}", "{{{a}}}", "{{é ü}}{{b}}", "\xff{{\xff}}",
		"{{a?}}", "{{a | default('}}')}}", `{{a? | lower|replace("x", '\'')}}`, "{{a | split(',') | join(';')}}", "{{a | domain",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, tmpl string) {
		vars := Variables{}
		for _, name := range References(tmpl) {
			vars[name] = "v"
		}
		got, err := ResolveString(tmpl, vars)
		var bad *Error
		switch {
		case errors.As(err, &bad):
			if bad.Offset < 0 || bad.Offset >= len(tmpl) {
				t.Errorf("fault at byte %d of %d", bad.Offset, len(tmpl))
			}
		case strings.Contains(tmpl, "|") && errors.As(err, new(*UnresolvedError)): // a filter may refuse the value
		case err != nil:
			t.Errorf("ResolveString(%q): %v", tmpl, err)
		case !strings.Contains(tmpl, "{{") && !strings.Contains(tmpl, "}}") && got != tmpl:
			t.Errorf("ResolveString(%q) = %q", tmpl, got)
		}
		escaped := strings.NewReplacer("{{", "{{{{", "}}", "}}}}").Replace(tmpl)
		if back, err := ResolveString(escaped, nil); err != nil || back != tmpl {
			t.Errorf("escaped %q resolves to %q, %v", escaped, back, err)
		}
	})
}
