package runbook

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseList(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ format, text, want string }{
		"parts are trimmed":         {FormatSemicolonDelimited, " a ;b c;;\t;d,e ", `["a","b c","d,e"]`},
		"other separator":           {FormatCommaDelimited, "smtp:a@x.org, b;c", `["smtp:a@x.org","b;c"]`},
		"one part":                  {FormatCommaDelimited, "a", `["a"]`},
		"nothing":                   {FormatSemicolonDelimited, "", `[]`},
		"separators only":           {FormatSemicolonDelimited, " ; ;", `[]`},
		"the same part twice":       {FormatSemicolonDelimited, "a;a", `["a","a"]`},
		"numbers stay text":         {FormatCommaDelimited, "1,true", `["1","true"]`},
		"marks of HTML stay":        {FormatCommaDelimited, `<a> & "b"`, `["<a> & \"b\""]`},
		"array":                     {FormatJSONArray, ` [ "a" , 1 , null, true ] `, `["a",1,null,true]`},
		"no text is no array":       {FormatJSONArray, " \n", `[]`},
		"empty array":               {FormatJSONArray, "[ ]", `[]`},
		"escapes":                   {FormatJSONArray, `["\u00e9\u003c\/"]`, `["é</"]`},
		"fields are sorted":         {FormatJSONArray, `[{"b":{"d":1,"c":2},"a":[{}]}]`, `[{"a":[{}],"b":{"c":2,"d":1}}]`},
		"numbers keep their digits": {FormatJSONArray, `[12345678901234567890, -2.50, 1e3]`, `["12345678901234567890",-2.50,1e3]`},
	} {
		if got, err := ParseList(tc.format, tc.text); err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, tc.want)
		}
	}
}

func TestParseListRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ format, text, says string }{
		{FormatJSONArray, "a;b", `"a;b" is not a JSON array`},
		{FormatJSONArray, `{"a":1}`, "is not a JSON array"},
		{FormatJSONArray, "null", "is not a JSON array"},
		{FormatJSONArray, `"a"`, "is not a JSON array"},
		{FormatJSONArray, `["a"`, "is not a JSON array"},
		{FormatJSONArray, `["a"] x`, "has text after the JSON array"},
		{FormatJSONArray, `["a"]]`, "has text after the JSON array"},
		{FormatJSONArray, `["a"]["b"]`, "has text after the JSON array"},
		{FormatJSONArray, "[" + strings.Repeat("x", 1000), "xxx…"},
		{FormatCommaDelimited, "a,\xff", `"a,\xff" is not UTF-8`},
		{"", "a", `the invalid format ""`},
		{"pipe_delimited", "a|b", `the invalid format "pipe_delimited"; use one of semicolon_delimited, comma_delimited, json_array`},
	} {
		got, err := ParseList(tc.format, tc.text)
		if err == nil || got != nil || !strings.Contains(err.Error(), tc.says) || len(err.Error()) > 200 {
			t.Errorf("%s %q: %s, %v", tc.format, tc.text, got, err)
		}
	}
}

// A list is a compact array, and stays what it is however it is written.
func FuzzParseList(f *testing.F) {
	for _, seed := range []string{"", "a;b,c", `["a", {"b": [1.0, null]}, "\u2028"]`, `[{"a":1,"a":2}]`, "[[[[", `["\ud800"]`, "\xff;"} {
		for i := range columnFormats {
			f.Add(uint8(i), seed)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		format := columnFormats[int(which)%len(columnFormats)]
		list, err := ParseList(format, text)
		if err != nil {
			if format != FormatJSONArray && utf8.ValidString(text) {
				t.Fatal(err)
			}
			return
		}
		var compact, spaced bytes.Buffer
		if err := json.Compact(&compact, list); err != nil || !bytes.Equal(compact.Bytes(), list) || list[0] != '[' {
			t.Fatalf("%q gives %s, %v", text, list, err)
		}
		if err := json.Indent(&spaced, list, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		if again, err := ParseList(FormatJSONArray, spaced.String()); err != nil || !bytes.Equal(again, list) {
			t.Fatalf("%s is read back as %s, %v", list, again, err)
		}
		if format == FormatJSONArray {
			return
		}
		var parts []string
		if err := json.Unmarshal(list, &parts); err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if part == "" || strings.TrimSpace(part) != part {
				t.Errorf("%q has the part %q", text, part)
			}
		}
	})
}
