package condition_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/runbook/condition"
)

var constants = map[string]any{"tenant": "contoso.example", "limit": json.Number("3"), "kinds": []any{"User", "Guest"}}

func parse(t *testing.T, text string) *condition.Condition {
	t.Helper()
	c, err := condition.Parse(text, constants)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

func TestHolds(t *testing.T) {
	t.Parallel()
	values := map[string]any{
		"Department": "Sales", "Mail": "Ada@Contoso.Example", "First name": "Ada", "Middle": nil, "Empty": "", "Seats": json.Number("3"), "Share": json.Number("2.5"),
		"Licensed": true, "Groups": []any{"a", "b"}, "Box": map[string]any{"kind": "User", "size": json.Number("7")},
	}
	for text, want := range map[string]bool{
		`Department == "Sales"`:                    true,
		`Department != 'Sales'`:                    false,
		`Department in ["Sales", "IT"]`:            true,
		`not (Department in ["IT"])`:               true,
		`Department not in ["IT"]`:                 true,
		`Mail | lower() | domain() == tenant`:      true,
		`domain(lower(Mail)) == tenant`:            true,
		`$env["First name"] startsWith "A"`:        true,
		`Middle == nil and Empty == ""`:            true,
		`Middle == "x"`:                            false,
		`Middle != "x"`:                            true,
		`default(Middle, "none") == "none"`:        true,
		`(Middle ?? "none") == "none"`:             true,
		`Seats >= limit && Share < 3`:              true,
		`Seats == 3 and Seats == 3.0`:              true,
		`Licensed`:                                 true,
		`!Licensed || Seats > 100`:                 false,
		`"a" in Groups and len(Groups) == 2`:       true,
		`join(Groups, "+") == "a+b"`:               true,
		`split("x;y", ";")[1] == "y"`:              true,
		`Box.kind in kinds and Box.size > 6`:       true,
		`Middle?.kind == nil`:                      true,
		`Mail matches "(?i)@contoso\\.example$"`:   true,
		`Department contains "ale"`:                true,
		`Licensed ? Seats == 3 : false`:            true,
		`Seats + 1 == 4 and "a" + "b" == "ab"`:     true,
		`"User" in kinds and limit == 3`:           true,
		`replace(Department, "S", "s") == "sales"`: true,
	} {
		got, err := parse(t, text).Holds(values)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// A value of another type fails the step: a step that is skipped because a function answers "3"
// and not 3 would go unnoticed.
func TestValuesOfOtherTypesAreErrorsWithoutTheValue(t *testing.T) {
	t.Parallel()
	values := map[string]any{"A": "confidential", "N": json.Number("7654321"), "L": []any{"confidential"}, "B": true, "O": map[string]any{"k": "confidential"}}
	for text, want := range map[string]string{
		`A == 3`:          "character 3: cannot compare text with a number",
		`B != "true"`:     "character 3: cannot compare true or false with text",
		`A in [1, 2]`:     "character 3: cannot compare a number with text",
		`N in A`:          "character 3: cannot look for a value in text; use contains for text",
		`A`:               "must be true or false",
		`A and B`:         "character 3: a value is text and must be true or false",
		`A < 3`:           "character 3: ",
		`A + N == 3`:      "character 3: ",
		`N contains "x"`:  "character 3: ",
		`lower(L) == ""`:  "a value is a list, which has no text, and the filter lower cannot change it",
		`L[3] == ""`:      "character 2: ",
		`O.k.m == ""`:     "character 5: ",
		`domain(A) == ""`: "a value is not an address with a domain",
		`A > B`:           "character 3: ",
	} {
		holds, err := parse(t, text).Holds(values)
		if err == nil || holds || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "confidential") || strings.Contains(err.Error(), "7654321") {
			t.Errorf("%s: %v, %v; want %q", text, holds, err, want)
		}
	}
}

func TestTextsThatAreNoConditions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                             "bad condition at character 1: ",
		`Department = "Sales"`:         "bad condition at character 12: ",
		`Department == "Sales`:         "bad condition at character 20: literal not terminated",
		`{{Department}} == "Sales"`:    `bad condition at character 1: write names without braces, such as Department == "Sales"`,
		`lowr(Name) == "x"`:            `bad condition at character 1: there is no function "lowr"; use one of default, lower, upper, trim, replace, split, join, domain, html, len; did you mean "lower"?`,
		`Name == now()`:                `bad condition at character 9: there is no function "now"`,
		`all(Groups, {# == "a"})`:      "bad condition at character ",
		`let x = 1; x == 1`:            "a condition compares values; it has no loops, variables, ranges and objects",
		`Seats in 1..1000000000`:       "there is no operator ..",
		`Seats ** 2 == 4`:              "there is no operator **",
		`{"a": 1}.a == 1`:              "a condition compares values",
		`Name matches Pattern`:         "matches needs a pattern in quotes",
		`Name matches "("`:             "bad condition at character ",
		`$env == 1`:                    "write a name after $env",
		`$env[Name] == 1`:              "write a name after $env",
		`_equal(Name, 1)`:              `there is no function "_equal"`,
		`Name.lower() == ""`:           `there is no function "…"`,
		`limit == "3"`:                 "mismatched types",
		`"a" + "b"`:                    "expected true or false",
		`upper(limit) == ""`:           "cannot use",
		strings.Repeat("x", 1001):      "the condition has 1001 bytes; at most 1000 are allowed",
		strings.Repeat("!", 900) + "x": "bad condition at character ",
	} {
		_, err := condition.Parse(text, constants)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

func TestCheckFindsWrongTypesWithTheirPlace(t *testing.T) {
	t.Parallel()
	known := map[string]condition.Type{"Mail": condition.Text, "Groups": condition.List, "_batch_id": condition.Number}
	typeOf := func(name string) condition.Type { return known[name] }
	for text, want := range map[string]string{
		`Mail == "x" and Groups != nil and Anything == 3 and _batch_id > 2 and "a" in Groups`: "",
		`Mail == nil`:               "",
		`Mail in ["a", "b"]`:        "",
		`Mail == 3`:                 "bad condition at character 6: invalid operation: == (mismatched types text and number)",
		`true and _batch_id == "3"`: "bad condition at character 20: invalid operation: == (mismatched types number and text)",
		`Mail < 3`:                  "mismatched types",
		`Mail in [1, 2]`:            "cannot use text as type number in array",
		`lower(Groups) == "x"`:      "bad condition at character 7: cannot use list as argument (type text) to call lower",
		`Mail`:                      "expected true or false, but got text",
		`Mail.domain == "x"`:        "bad condition at character 6: type text has no field domain",
		`Mail or true`:              "bad condition at character 6: invalid operation: or (mismatched types text and true or false)",
	} {
		err := parse(t, text).Check(typeOf)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	c := parse(t, `"é" == tenant or $env["First name"] == Mail or Mail == Box.kind or limit == 3`)
	if got := c.References(); !slices.Equal(got, []condition.Reference{{Name: "First name", Offset: 18}, {Name: "Mail", Offset: 40}, {Name: "Box", Offset: 56}}) {
		t.Errorf("%v", got)
	}
	if got := c.Constants(); !slices.Equal(got, []string{"limit", "tenant"}) {
		t.Errorf("%v", got)
	}
	if got := parse(t, `Mail == tenant or limit == 3`).String(); got != `Mail == tenant or limit == 3 with limit = 3, tenant = "contoso.example"` {
		t.Errorf("%s", got)
	}
	var none *condition.Condition
	if none.Text()+none.String() != "" || none.Names() != nil {
		t.Error("a nil condition has a text or names")
	}
}

// A condition holds or not, or says why it cannot tell; it never panics, and gives the same result twice.
func FuzzCondition(f *testing.F) {
	for _, seed := range []string{`a == "x"`, `a in [1, "b", nil]`, `lower(a) | domain() != tenant`, `a?.b[0] ?? c`, `len(a) % 2 == 0 ? a : b`, `$env["a b"] matches "^x"`, `1/0 == a`} {
		f.Add(seed, `{"a":"x","b":[1,{"c":null}],"c":2.5}`)
	}
	f.Fuzz(func(t *testing.T, text, data string) {
		c, err := condition.Parse(text, constants)
		if err != nil {
			return
		}
		var values map[string]any
		_ = json.Unmarshal([]byte(data), &values)
		first, err := c.Holds(values)
		again, errAgain := c.Holds(values)
		if first != again || (err == nil) != (errAgain == nil) {
			t.Errorf("%s is %v, %v and then %v, %v", text, first, err, again, errAgain)
		}
		_ = c.Check(func(string) condition.Type { return condition.Text })
	})
}
