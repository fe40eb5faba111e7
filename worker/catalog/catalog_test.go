package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

var sample = catalog.Function{
	Name: "Set-Sample",
	Params: []catalog.Param{
		{Name: "Name", Type: catalog.String, Required: true},
		{Name: "Enabled", Type: catalog.Boolean},
		{Name: "Id", Type: catalog.GUID},
		{Name: "Mails", Type: catalog.StringList},
	},
}

func TestCheckReadsParameters(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		note string
		in   string
		want catalog.Params
	}{
		{
			"native types", `{"Name":"a","Enabled":true,"Mails":["x","y"]}`,
			catalog.Params{"Name": "a", "Enabled": true, "Mails": []string{"x", "y"}},
		},
		{"names in any case", `{"NAME":"a","enabled":false}`, catalog.Params{"Name": "a", "Enabled": false}},
		{
			"text, as templates make it", `{"Name":"a","Enabled":"True","Mails":"[\"x\"]"}`,
			catalog.Params{"Name": "a", "Enabled": true, "Mails": []string{"x"}},
		},
		{"one text as a list", `{"Name":"a","Mails":"x"}`, catalog.Params{"Name": "a", "Mails": []string{"x"}}},
		{"a large number as text", `{"Name":1234567890123456789012}`, catalog.Params{"Name": "1234567890123456789012"}},
		{"null, empty text and empty list are not given", `{"Name":"a","Enabled":null,"Id":"","Mails":[]}`, catalog.Params{"Name": "a"}},
		{
			"a GUID in lower case", `{"Name":"a","Id":"0F8FAD5B-D9CB-469F-A165-70867728950E"}`,
			catalog.Params{"Name": "a", "Id": "0f8fad5b-d9cb-469f-a165-70867728950e"},
		},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			got, err := sample.Check([]byte(tc.in))
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Fatalf("got %#v, %v; want %#v", got, err, tc.want)
			}
		})
	}
}

func TestCheckNamesAllThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		note string
		in   string
		want []string
	}{
		{"missing", `{}`, []string{"required parameter Name is missing"}},
		{"nothing at all", ``, []string{"required parameter Name is missing"}},
		{"required but empty", `{"Name":""}`, []string{"required parameter Name is empty"}},
		{"required but null", `{"Name":null}`, []string{"required parameter Name is empty"}},
		{"unknown", `{"Name":"a","Nmae":"b"}`, []string{`unknown parameter "Nmae"`}},
		{"twice", `{"Name":"a","name":"b"}`, []string{"parameter Name is given twice"}},
		{"wrong types, all of them", `{"Name":{},"Enabled":"yes","Id":"123","Mails":["a",1]}`, []string{
			"parameter Name must be text, not an object",
			"parameter Enabled must be true or false, not this text",
			"parameter Id must be a GUID, not this text",
			"parameter Mails must be an array of strings, but item 2 is a number",
		}},
		{"no object", `["Name"]`, []string{"the parameters are not a JSON object"}},
		{"cut off", `{"Name":"a"`, []string{"the parameters are not a JSON object"}},
		{"list text that is no JSON", `{"Name":"a","Mails":"[x"}`, []string{"parameter Mails begins with [ but is not a JSON array"}},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			_, err := sample.Check([]byte(tc.in))
			var f *catalog.Failure
			if !errors.As(err, &f) || f.Type != catalog.FailureParameters {
				t.Fatalf("got %v, want a %s", err, catalog.FailureParameters)
			}
			if want := "Set-Sample: " + strings.Join(tc.want, "; "); f.Message != want {
				t.Fatalf("got  %s\nwant %s", f.Message, want)
			}
		})
	}
}

func TestCheckDoesNotRepeatValues(t *testing.T) {
	t.Parallel()
	_, err := sample.Check([]byte(`{"Name":["s3cret"],"Enabled":"s3cret","Id":"s3cret","Other":"s3cret"}`))
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Fatalf("got %v, want an error without the value", err)
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	echo := sample.With(func(_ context.Context, p catalog.Params) (any, error) { return p.String("Name"), nil })
	c := testenv.Must(catalog.New(echo))(t)
	if got, err := c.Call(t.Context(), "set-SAMPLE", []byte(`{"Name":"a"}`)); err != nil || got != "a" {
		t.Fatalf("got %v, %v", got, err)
	}
	var f *catalog.Failure
	if _, err := c.Call(t.Context(), "Set-Other", nil); !errors.As(err, &f) || f.Type != catalog.FailureUnknownFunction {
		t.Fatalf("got %v, want a %s", err, catalog.FailureUnknownFunction)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	run := func(context.Context, catalog.Params) (any, error) { return true, nil }
	for note, functions := range map[string][]catalog.Function{
		"nothing to run":            {{Name: "A"}},
		"no name":                   {{Run: run}},
		"a name twice, in any case": {{Name: "A", Run: run}, {Name: "a", Run: run}},
	} {
		if _, err := catalog.New(functions...); err == nil {
			t.Errorf("%s: no error", note)
		}
	}
}

func TestMismatchSaysWhatTheTenantHasAndWhatIsExpected(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		expected []string
		actual   string
		want     string
	}{
		{[]string{"Sales"}, `"sales"`, ""},
		{[]string{"Sales"}, `"Sale"`, `department is "Sale", expected "Sales"`},
		{nil, `null`, ""},
		{nil, `""`, ""},
		{nil, `[]`, ""},
		{nil, `"x"`, `department is "x", expected empty`},
		{[]string{"x"}, `null`, `department is empty, expected "x"`},
		{[]string{"true"}, `true`, ""},
		{[]string{"12"}, `12`, ""},
		{[]string{"a", "b"}, `["B","a","a"]`, ""},
		{[]string{"a"}, `["a","b"]`, `department is "a", "b", expected "a"`},
		{[]string{"a", "b"}, `["a"]`, `department is "a", expected "a", "b"`},
		{[]string{`a"b`}, `"` + strings.Repeat("x", 300) + `"`, `department is a value of 300 bytes, expected "a"b"`},
		{[]string{"z"}, `["a","b","c","d","e","f","g","h","i","j","k","l"]`, `department is "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", 2 more, expected "z"`},
	} {
		var actual any
		if err := json.Unmarshal([]byte(tc.actual), &actual); err != nil {
			t.Fatal(err)
		}
		if got := catalog.Mismatch("department", tc.expected, actual); got != tc.want {
			t.Errorf("%v and %s: got %q, want %q", tc.expected, tc.actual, got, tc.want)
		}
	}
}
