package document

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"id":"a"}`:                "",
		" \n{}\t":                   "",
		`{"n":-1.5E+3,"m":1e308}`:   "",
		``:                          "not valid JSON",
		`[]`:                        "not a JSON object",
		`"x"`:                       "not a JSON object",
		`{"a":1,}`:                  "not valid JSON",
		`{"a":1} {}`:                "not valid JSON",
		"{\"a\":\"\xff\"}":          "not valid UTF-8",
		`{"a":[1e309]}`:             "outside the range",
		`{"a":"1e309"}`:             "",
		nested(MaxDepth):            "",
		nested(MaxDepth + 1):        "deeper than 128",
		`{"a":"` + `[[[[` + `\"["}`: "",
	} {
		err := Check([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

func nested(levels int) string {
	return `{"a":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}`
}

func TestEachMemberLocatesMembers(t *testing.T) {
	t.Parallel()
	const text = ` { "a" : {"x":"}"} , "b\n":[1,"]"],"c" : true }`
	var got []string
	EachMember([]byte(text), func(m Member) bool {
		got = append(got, m.Name, string(m.Value), text[m.Start:m.End])
		return m.Name != "c"
	})
	want := []string{"a", `{"x":"}"}`, `"a" : {"x":"}"}`, "b\n", `[1,"]"]`, `"b\n":[1,"]"]`, "c", "true", `"c" : true`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// A quote in a text ends it only where it is not escaped.
func TestLookupPassesEscapedQuotes(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"a\"b":"\\","c":"\\\"d\":\"","e":{"":"\\\\"},"f":[1,"\"]"],"é":"\u00e9"}`)
	for path, want := range map[string]string{
		`a"b`: `"\\"`, `c`: `"\\\"d\":\""`, `e`: `{"":"\\\\"}`, `f`: `[1,"\"]"]`, `é`: `"\u00e9"`, `d`: "",
	} {
		if got, ok := Lookup(doc, []string{path}); string(got) != want || ok != (want != "") {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func TestEachElementLocatesElements(t *testing.T) {
	t.Parallel()
	for array, want := range map[string]string{
		`[]`: "", "[ \n ]": "", `[1]`: "1;", ` [ 1 , "a,]" ,[2, 3], {"b": [4]} , null ] `: `1;"a,]";[2, 3];{"b": [4]};null;`,
	} {
		got := ""
		EachElement([]byte(array), func(value []byte) { got += string(value) + ";" })
		if got != want {
			t.Errorf("%s: got %s", array, got)
		}
	}
}

func TestNumbersKeepTheirText(t *testing.T) {
	t.Parallel()
	const text = `{"a":9007199254740993,"b":1.10,"c":[1E2,-0]}`
	v := testenv.Must(Parse([]byte(text)))(t)
	if got := string(v.Append(nil)); got != text {
		t.Errorf("got %s", got)
	}
}

// repeatsName says whether an object has two members of one name: there the
// first counts here, and the last for encoding/json.
func repeatsName(text []byte) bool {
	repeats := false
	switch skipped := skipSpace(text, 0); text[skipped] {
	case '{':
		seen := map[string]bool{}
		EachMember(text, func(m Member) bool {
			repeats = repeats || seen[m.Name] || repeatsName(m.Value)
			seen[m.Name] = true
			return true
		})
	case '[':
		for i := 0; ; i++ {
			e := element(text, i)
			if e == nil {
				return repeats
			}
			repeats = repeats || repeatsName(e)
		}
	}
	return repeats
}

func TestFirstOfARepeatedNameCounts(t *testing.T) {
	t.Parallel()
	text := []byte(`{"a":1,"b":0,"a":2}`)
	v, err := Parse(text)
	if raw, _ := Lookup(text, []string{"a"}); err != nil || string(raw) != "1" || string(v.Append(nil)) != `{"a":1,"b":0}` {
		t.Errorf("Lookup gives %s, Parse %s, error %v", raw, v.Append(nil), err)
	}
}

// Valid JSON means the same to this package and to encoding/json.
func FuzzParseAgreesWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5e3,{"b":null}],"c":"\u00e9\ud83d\ude00\ud800x\\\/\b\f","a":false}`, `[]`, `{}`, `"x"`, `-0.0`, ` [ 1 , { } ] `, `"\ud800\ud800\udc00"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want any
		if json.Unmarshal(text, &want) != nil || repeatsName(text) {
			return
		}
		v, err := Parse(text)
		if err != nil {
			t.Fatalf("Parse refuses %q: %v", text, err)
		}
		again := v.Append(nil)
		var got any
		if err := json.Unmarshal(again, &got); err != nil {
			t.Fatalf("%q became %q: %v", text, again, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %q: %v, want %v", text, again, got, want)
		}
		object, ok := want.(map[string]any)
		if !ok {
			return
		}
		for name, value := range object {
			raw, found := Lookup(text, []string{name})
			var member any
			if !found || json.Unmarshal(raw, &member) != nil || !reflect.DeepEqual(member, value) {
				t.Fatalf("the member %q of %q is %q, want %v", name, text, raw, value)
			}
		}
	})
}

// Valid agrees with encoding/json on every text.
func FuzzValidAgreesWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5e-3,{"b":null}],"c":"\u00e9\\\/\b\f","a":false}`, ` [ ] `, `{"a":}`, `[1,]`, `{,}`, `-0.0E+1`, `01`, `1.`, `-`, `.5`, `tru`, `nullx`, "\"\x1f\"", `"\u12G4"`, `"\x"`, `"a`, `[[]`,
		`{"a" 1}`, `{a:1}`, `1 2`, ``, "\xff", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := Valid(text), json.Valid(text); got != want {
			t.Fatalf("%q is valid: %t, want %t", text, got, want)
		}
	})
}
