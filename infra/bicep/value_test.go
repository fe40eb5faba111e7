package bicep_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

// valueOf works out an expression of a file that has a parameter list and loads a file.
func valueOf(t *testing.T, expression string) (any, error) {
	t.Helper()
	source := "param list array = [1, 'two', true]\nvar loaded = loadJsonContent('data.json')\nvar it = " + expression + "\n"
	file, findings := bicep.Parse("dir/main.bicep", source)
	if len(findings) > 0 {
		t.Fatalf("%s: %s", expression, findings[0])
	}
	files := fstest.MapFS{"dir/data.json": {Data: []byte(`{"n": 7, "half": 0.5, "names": ["b", "a"]}`)}}
	return bicep.Values{File: file, FS: files}.Of(file.Variables[1].Value)
}

func TestValues(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]any{
		`'a${1 + 2 * 3}${true}'`:                             "a7true",
		`[-1, 7 / 2, 7 - 2]`:                                 []any{int64(-1), int64(3), int64(5)},
		`list[1] == 'two' && list[0] != '1'`:                 true,
		`{ a: null }.?a ?? list[?9] ?? 'none'`:               "none",
		`!empty(list) || fail('not asked')`:                  true,
		`map(loaded.names, (name, i) => '${i}${name}')`:      []any{"0b", "1a"},
		`filter([1, 2, 3], n => n >= 2)`:                     []any{int64(2), int64(3)},
		`toObject(loaded.names, name => name, name => 1)`:    map[string]any{"a": int64(1), "b": int64(1)},
		`[for (item, i) in items({ b: 1, a: 2 }): item.key]`: []any{"a", "b"},
		`union({ a: 1, b: 1 }, { b: 2 })`:                    map[string]any{"a": int64(1), "b": int64(2)},
		`union([1], [1, 2])`:                                 []any{int64(1), int64(2)},
		`contains([1], '1')`:                                 false,
		`json('{"a": [1]}').a[0] + loaded.n`:                 int64(8),
		`string(json('0.5')) == string(loaded.half)`:         true,
		`max(1, 3, 2) - min(3)`:                              int64(0),
		`length('ä') + length({ a: 1 })`:                     int64(2),
		`environment().suffixes.storage`:                     "core.windows.net",
	} {
		got, err := valueOf(t, expression)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v (%v), not %v", expression, got, err, want)
		}
	}
}

// What cannot be worked out is an error that names the place.
func TestValuesThatAreNotKnown(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		`nothing`:              "nothing is not given",
		`1 / 0`:                "/ has no value",
		`'a' + 1`:              "a is not a number",
		`list[3]`:              "no such item",
		`{ a: 1 }.b`:           "there is no b",
		`resourceGroup().id`:   "resourceGroup() is not worked out",
		`loaded.listKeys()`:    "listKeys() asks Azure",
		`fail('because')`:      "because",
		`json('{')`:            "not JSON",
		`map('a', x => x)`:     "a is not an array",
		`loadJsonContent('b')`: "dir/b",
	} {
		got, err := valueOf(t, expression)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "dir/main.bicep:3:") {
			t.Errorf("%s: %v, %s; not %q", expression, got, fmt.Sprint(err), want)
		}
	}
}
