package bicep

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

// deploy evaluates main.bicep, which has one module beside it.
func deploy(source string, parameters map[string]any) (*Deployment, error) {
	return Deploy(fstest.MapFS{
		"dir/main.bicep":   {Data: []byte(source)},
		"dir/module.bicep": {Data: []byte("param one string\n@maxLength(3)\nparam two string = 'b'\noutput both string = '${one}${two}'\n")},
		"dir/self.bicep":   {Data: []byte("module m 'self.bicep' = {\n  name: 'm'\n}\n")},
		"dir/data.json":    {Data: []byte(`{"n": 7, "half": 0.5, "names": ["b", "a"]}`)},
	}, "dir/main.bicep", parameters)
}

func TestValues(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]any{
		`'a${1 + 2 * 3}${true}'`:                             "a7true",
		`[-1, 7 / 2, 7 - 2]`:                                 []any{int64(-1), int64(3), int64(5)},
		`list[1] == 'two' && list[0] != '1'`:                 true,
		`{ a: null }.?a ?? list[?9] ?? 'none'`:               "none",
		`!empty(list) || fail('not evaluated')`:              true,
		`map(loaded.names, (name, i) => '${i}${name}')`:      []any{"0b", "1a"},
		`filter([1, 2, 3], n => n >= 2)`:                     []any{int64(2), int64(3)},
		`toObject(loaded.names, name => name, name => 1)`:    map[string]any{"a": int64(1), "b": int64(1)},
		`[for (item, i) in items({ b: 1, a: 2 }): item.key]`: []any{"a", "b"},
		`union({ a: 1, b: 1 }, { b: 2 })`:                    map[string]any{"a": int64(1), "b": int64(2)},
		`union([1], [1, 2])`:                                 []any{int64(1), int64(2)},
		`contains([1], '1')`:                                 false,
		`json('{"a": [1]}').a[0] + loaded.n`:                 int64(8),
		`string({ a: [ 1 ] })`:                               `{"a":[1]}`,
		`string(json('0.5')) == string(loaded.half)`:         true,
		`max(1, 3, 2) - min(3)`:                              int64(0),
		`length('ä') + length({ a: 1 })`:                     int64(2),
		`environment().suffixes.storage`:                     "core.windows.net",
		`'in ${resourceGroup().location}'`:                   "in <resourceGroup().location>",
		`empty(tenant().tenantId)`:                           false,
		`guid('a', account.id) == guid('a', account.id)`:     true,
		`'${guid('a', tenant().tenantId)}'`:                  "<guid()>",
		`account.id`:                                         "Microsoft.Storage/storageAccounts/st",
		`blobs.name`:                                         "default",
		`'${account.properties.endpoint}'`:                   "<Microsoft.Storage/storageAccounts/st.properties.endpoint>",
		`module1.outputs.both`:                               "ab",
	} {
		d, err := deploy(declarations+"var it = "+expression+"\noutput it object = { is: it }\n", nil)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if got := d.Outputs["it"].(map[string]any)["is"]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", expression, got, want)
		}
	}
}

const declarations = `param list array = [1, 'two', true]
var loaded = loadJsonContent('data.json')
resource account 'Microsoft.Storage/storageAccounts@2025-01-01' existing = {
  name: 'st'
}
resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' existing = {
  parent: account
  name: 'default'
}
module module1 'module.bicep' = {
  name: 'm'
  params: {
    one: 'a'
  }
}
module absent 'module.bicep' = if (false) {
  name: 'm'
}
`

// TestErrors: each names the place and the cause.
func TestErrors(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"var it = nothing":                              "nothing is not declared",
		"var it = 1 / 0":                                "/ has no value",
		"var it = 'a' + 1":                              "a is not a number",
		"var it = list[3]":                              "no such item",
		"var it = { a: 1 }.b":                           "no b in",
		"var it = utcNow()":                             "utcNow() is not supported",
		"var it = length()":                             "length() with 0 arguments",
		"var it = account.listKeys()":                   "listKeys() needs Azure",
		"var it = fail('because')":                      "because",
		"var it = json('{')":                            "not JSON",
		"var it = map('a', x => x)":                     "a is not an array",
		"var it = map(list, 'a')":                       "map() needs a lambda",
		"var it = loadJsonContent('b')":                 "dir/b",
		"var it = that\nvar that = it":                  "depends on itself",
		"var it = absent!.outputs.both":                 "no outputs in",
		"var it = [":                                    "expected",
		"param it string":                               "the parameter it has no value",
		"param it string = 1":                           "parameter it: expected string, not 1",
		"@allowed([\n  'b'\n])\nparam it string = 'a'":  "a is not one of [b]",
		"@maxLength(2)\nparam it string = 'abc'":        "abc has a length above 2",
		"@minValue(2)\nparam it int = 1":                "1 has a value below 2",
		"module it 'self.bicep' = {\n  name: 'm'\n}":    "the module deploys itself",
		"module it 'none.bicep' = {\n  name: 'm'\n}":    "none.bicep",
		"module it 'module.bicep' = {\n  name: 'm'\n}":  "the parameter one has no value",
		"module it 'module.bicep' = {}":                 "the module has no name",
		"#disable-next-line no-unused-vars\nvar it = 1": "unsupported directive",
		"output it int = 'a'":                           "output it: expected int, not a",
		"resource it 'A.b/c@1' = {}":                    "it has no name",
		"resource it 'A.b/c/d@1' = {\n  name: 'n'\n}":   "needs the names of 1 parents",
		"resource it 'A.b/c@1' = {\n  name: 'n'\n  scope: subscription()\n}":                     "the scope is outside of the resource group",
		"resource it 'A.b/c@1' = {\n  name: 'n'\n  scope: resourceGroup('other')\n}":             "the scope is outside of the resource group",
		"resource it 'A.b/c@1' = {\n  name: 'n'\n  scope: tenant()\n}":                           "the scope is outside of the resource group",
		"targetScope = 'subscription'":                                                           "the templates deploy to a resource group",
		"param it 'string'":                                                                      "expected",
		"resource it 'A.b/c@1' = {\n  name: 'n'\n  scope: 1\n}":                                  "expected the name of one resource",
		"resource it 'A.b/c/d@1' = {\n  name: 'n'\n  parent: account\n}":                         "the parent of A.b/c/d is a A.b/c",
		"module it 'module.bicep' = {\n  name: 'm'\n  params: {\n    one: 'a', three: 1\n  }\n}": "unknown parameter three",
	} {
		source = declarations + source + "\n"
		if !strings.Contains(source, "output it") && strings.Contains(source, "var it") {
			source += "output it object = { is: it }\n"
		}
		if _, err := deploy(source, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "dir/") {
			t.Errorf("%s\n%v, want %q", strings.TrimPrefix(source, declarations), err, want)
		}
	}
	if _, err := deploy("", map[string]any{"a": 1}); err == nil || !strings.Contains(err.Error(), "unknown parameter a") {
		t.Error(err)
	}
}

// TestResourceThatDoesNotFitItsType: each mistake is found, by the name of the property.
func TestResourceThatDoesNotFitItsType(t *testing.T) {
	t.Parallel()
	types, err := KnownTypes()
	if err != nil {
		t.Fatal(err)
	}
	topic := func(version, name, properties string) string {
		return "resource bus 'Microsoft.ServiceBus/namespaces@2026-01-01' existing = {\n  name: 'bus'\n}\nresource topic 'Microsoft.ServiceBus/namespaces/topics@" +
			version + "' = {\n  parent: bus\n  " + name + ": 'topic'\n  name: 'topic'\n  properties: {\n    " + properties + "\n  }\n}\n"
	}
	for source, want := range map[string]string{
		topic("2026-01-01", "tag", "enablePartitioning: true"):                                     "topic.tag: unknown property",
		topic("2020-01-01", "id", "enablePartitioning: true"):                                      "no schema of Microsoft.ServiceBus/namespaces/topics@2020-01-01",
		topic("2026-01-01", "id", "enablePartitioning: true"):                                      "topic.id: the property is read-only",
		topic("2026-01-01", "location", "enablePartition: true"):                                   "topic.properties.enablePartition: unknown property",
		topic("2026-01-01", "location", "enablePartitioning: 'a'"):                                 "topic.properties.enablePartitioning: expected bool, not a",
		topic("2026-01-01", "location", "status: 'string'"):                                        "topic.properties.status: string is not one of",
		"resource v 'Microsoft.KeyVault/vaults@2025-05-01' = {\n  name: 'v'\n  location: 'x'\n}\n": "v.properties: the property is required",
	} {
		d, err := deploy(source, nil)
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Join(types.Check(d.Resources[0]), "\n"); !strings.Contains(found, want) {
			t.Errorf("%s\n%s, want %s", source, found, want)
		}
	}
}
