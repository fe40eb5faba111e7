package template

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestFilters(t *testing.T) {
	t.Parallel()
	vars := Variables{
		"Mail": "Ada.Lovelace@Contoso.Example", "Name": " Ada ", "Middle": nil, "Empty": "", "Count": json.Number("3"),
		"Groups": []any{"a", json.Number("1")}, "Text": "a; b;;c", "Nothing": []any{},
		"Link": `<a href="https://evil.example">Ada & Eve's</a>`,
	}
	for tmpl, want := range map[string]any{
		"{{Mail | lower}}":                            "ada.lovelace@contoso.example",
		"{{Mail|upper}}":                              "ADA.LOVELACE@CONTOSO.EXAMPLE",
		"{{ Name | trim }}":                           "Ada",
		"{{Mail | domain | lower}}":                   "contoso.example",
		"{{Mail | replace('@', '_')}}#EXT#":           "Ada.Lovelace_Contoso.Example#EXT#",
		`{{Mail | replace("Ada.", "")}}`:              "Lovelace@Contoso.Example",
		"{{Text | split(';')}}":                       []any{"a", "b", "c"},
		"{{Groups | join(', ')}}":                     "a, 1",
		"{{Nothing | join(', ')}}":                    "",
		"{{Text | split(';') | join('-')}}":           "a-b-c",
		"{{Count | lower}}":                           "3",
		"<p>{{Link | html}}</p>":                      "<p>&lt;a href=&#34;https://evil.example&#34;&gt;Ada &amp; Eve&#39;s&lt;/a&gt;</p>",
		"{{Groups | join('<') | html}}":               "a&lt;1",
		"{{Count | html}}{{Middle | html}}":           "3",
		"{{Middle}}":                                  nil,
		"{{Middle | lower}}":                          nil,
		"{{Middle | default('x')}}":                   "x",
		"{{Middle | default(\"\")}}":                  "",
		"{{Empty | default(3)}}":                      json.Number("3"),
		"{{Absent | default(false)}}":                 false,
		"{{Absent?}}":                                 nil,
		"{{ Absent ? }}":                              nil,
		"{{Absent? | lower}}":                         nil,
		"{{Name | trim | default('x')}} {{Middle?}}.": "Ada .",
		"{{Name}}{{Middle}}!":                         " Ada !",
		"<{{Absent | default('}} | {{')}}>":           "<}} | {{>",
		`{{Absent | default('it\'s \\ "')}}`:          `it's \ "`,
	} {
		got, err := ResolveParams(map[string]any{"P": tmpl}, vars)
		if err != nil || !reflect.DeepEqual(got["P"], want) {
			t.Errorf("%s = %#v, %v; want %#v", tmpl, got["P"], err, want)
		}
	}
}

func TestFiltersRefuseWhatTheyCannotChange(t *testing.T) {
	t.Parallel()
	vars := Variables{"Groups": []any{"a", map[string]any{}}, "Name": "Ada", "Password": Secret("Password"), "Long": strings.Repeat("a", maxFiltered)}
	for tmpl, want := range map[string]string{
		"{{Groups | lower}}":            "P: {{Groups}} is a list, which has no text, and the filter lower cannot change it",
		"{{Groups | join(' ')}}":        "P: {{Groups}} has an element that is an object, which has no text, and the filter join cannot change it",
		"{{Name | join(' ')}}":          "P: {{Name}} is not a list, and the filter join cannot change it",
		"{{Name | domain}}":             "P: {{Name}} is not an address with a domain, and the filter domain cannot change it",
		"{{Password | lower}}":          "P: {{Password}} is secret, and the filter lower cannot change it",
		"x {{Password | default('')}}":  "P: {{Password}} is secret, and the filter default cannot change it",
		"{{Long | replace('a', 'bb')}}": "P: {{Long}} would have 524288 bytes where at most 262144 are allowed, and the filter replace cannot change it",
		"{{Absent | lower}}":            "P: {{Absent}} is not known",
		"{{Password | html}}":           "P: {{Password}} is secret, and the filter html cannot change it",
		"{{Groups | html}}":             "P: {{Groups}} is a list, which has no text, and the filter html cannot change it",
	} {
		if _, err := ResolveParams(map[string]any{"P": tmpl}, vars); err == nil || err.Error() != "cannot resolve "+want {
			t.Errorf("%s: %v; want %s", tmpl, err, want)
		}
	}
}

func TestMalformedFilters(t *testing.T) {
	t.Parallel()
	for tmpl, want := range map[string]string{
		"{{a | }}":                   "bad template at character 7: | is followed by no filter; write for example {{Name | lower}}",
		"{{a | lowr}}":               `bad template at character 7: there is no filter "lowr"; use one of default, lower, upper, trim, replace, split, join, domain, html; did you mean "lower"?`,
		"{{a | default}}":            "bad template at character 7: the filter default has 0 arguments; write default('x')",
		"{{a | replace('x')}}":       "bad template at character 7: the filter replace has 1 argument; write replace('old', 'new')",
		"{{a | replace('', 'x')}}":   "bad template at character 7: the first argument of replace is empty; write replace('old', 'new')",
		"{{a | split(3)}}":           "bad template at character 7: the arguments of split are texts; write split(',')",
		"{{a | default(b)}}":         "bad template at character 15: an argument of a filter is a text in quotes, such as 'none', a number, true or false",
		"{{a | default('x}}":         "bad template at character 15: the text in quotes is never closed",
		"{{a | default('x'}}":        "bad template at character 18: the arguments of default are not closed; write )",
		"{{a | lower upper}}":        "bad template at character 13: a filter ends here; write | before the next one, or }}",
		"{{a | split(',') | lower}}": "bad template at character 20: lower needs text, and the filter before it gives a list",
		"{{a | lower | join(',')}}":  "bad template at character 15: join needs a list, and the filter before it gives text",
		"{{ | lower}}":               "bad template at character 1: {{ }} has no variable",
		"{{?}}":                      "bad template at character 1: {{ }} has no variable",
		"{{a?b}}":                    "bad template at character 1: a variable name cannot contain '?'; use letters, digits, spaces and _ - .",
		"{{a | default('}}')":        "bad template at character 20: {{ is never closed; write {{{{ for a literal {{",
	} {
		if _, err := Parse(tmpl); err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", tmpl, err, want)
		}
	}
}
