package bicep

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// functions are those without lambdas that infra/ uses, with the least and the largest number
// of their arguments.
var functions = map[string][2]int{
	"any": {1, 1}, "concat": {1, 99}, "contains": {2, 2}, "empty": {1, 1}, "endsWith": {2, 2}, "fail": {1, 1}, "guid": {1, 99},
	"items": {1, 1}, "join": {2, 2}, "json": {1, 1}, "length": {1, 1}, "max": {1, 99}, "min": {1, 99}, "range": {2, 2}, "replace": {3, 3},
	"resourceGroup": {0, 0}, "resourceId": {2, 99}, "string": {1, 1}, "subscriptionResourceId": {2, 99}, "substring": {3, 3},
	"take": {2, 2}, "tenant": {0, 0}, "toLower": {1, 1}, "union": {1, 99}, "uniqueString": {1, 99},
}

// simple evaluates a function without lambdas.
func (v *evaluator) simple(e *Call, arguments []any) any {
	takes, known := functions[e.Text]
	if !known {
		return v.unknown(e, "%s() is not supported", e.Text)
	}
	if n := len(arguments); n < takes[0] || n > takes[1] {
		return v.unknown(e, "%s() with %d arguments", e.Text, n)
	}
	text := func(i int) string { return fmt.Sprint(arguments[i]) }
	switch e.Text {
	case "concat":
		all := []any{}
		for i := range arguments {
			all = append(all, v.array(e.Arguments[i], arguments[i])...)
		}
		return all
	case "union":
		return v.unionOf(e, arguments)
	case "contains":
		return contains(arguments[0], arguments[1])
	case "empty":
		_, runtime := arguments[0].(Runtime)
		return !runtime && length64(arguments[0]) == 0
	case "length":
		return length64(arguments[0])
	case "string":
		if kind := kindOf(arguments[0]); kind == "array" || kind == "object" {
			data, err := json.Marshal(arguments[0])
			if err != nil {
				return v.unknown(e, "%v", err)
			}
			return string(data)
		}
		return text(0)
	case "any":
		return arguments[0]
	case "resourceGroup", "tenant":
		return Runtime(e.Text + "()")
	case "resourceId", "subscriptionResourceId":
		return joined(arguments, "/")
	case "guid":
		if strings.ContainsRune(joined(arguments, ""), '<') { // of a value that only Azure knows
			return Runtime("guid()")
		}
		return uuid.NewSHA1(uuid.NameSpaceURL, []byte(joined(arguments, "-"))).String()
	case "uniqueString": // the form of Azure's value, which is another one
		if strings.ContainsRune(joined(arguments, ""), '<') {
			return Runtime("uniqueString()")
		}
		sum := sha256.Sum256([]byte(joined(arguments, "-")))
		return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:13]
	case "range":
		all := []any{}
		for i := range v.number64(e.Arguments[1], arguments[1]) {
			all = append(all, v.number64(e.Arguments[0], arguments[0])+i)
		}
		return all
	case "substring":
		all := []rune(text(0))
		start, count := int(v.number64(e.Arguments[1], arguments[1])), int(v.number64(e.Arguments[2], arguments[2]))
		if start < 0 || count < 0 || start+count > len(all) {
			return v.unknown(e, "substring(%q, %d, %d)", text(0), start, count)
		}
		return string(all[start : start+count])
	case "endsWith":
		return strings.HasSuffix(text(0), text(1))
	case "fail":
		return v.unknown(e, "%s", text(0))
	case "take":
		all := []rune(text(0))
		return string(all[:min(max(0, int(v.number64(e.Arguments[1], arguments[1]))), len(all))])
	case "toLower":
		return strings.ToLower(text(0))
	case "replace":
		return strings.ReplaceAll(text(0), text(1), text(2))
	case "json":
		return v.parsed(e.Arguments[0], text(0))
	case "min", "max":
		var all []int64
		for i, argument := range arguments {
			all = append(all, v.number64(e.Arguments[i], argument))
		}
		if e.Text == "min" {
			return slices.Min(all)
		}
		return slices.Max(all)
	case "join":
		var words []string
		for _, word := range v.array(e.Arguments[0], arguments[0]) {
			words = append(words, fmt.Sprint(word))
		}
		return strings.Join(words, text(1))
	case "items":
		object, _ := arguments[0].(map[string]any)
		all := []any{}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			all = append(all, map[string]any{"key": name, "value": object[name]})
		}
		return all
	}
	return v.unknown(e, "%s() is not supported", e.Text)
}

func joined(values []any, separator string) string {
	var texts []string
	for _, value := range values {
		texts = append(texts, fmt.Sprint(value))
	}
	return strings.Join(texts, separator)
}

func (v *evaluator) unionOf(e *Call, arguments []any) any {
	if _, is := arguments[0].(map[string]any); !is {
		all := []any{}
		for i := range arguments {
			for _, item := range v.array(e.Arguments[i], arguments[i]) {
				if !contains(all, item) {
					all = append(all, item)
				}
			}
		}
		return all
	}
	all := map[string]any{}
	for _, argument := range arguments {
		object, _ := argument.(map[string]any)
		maps.Copy(all, object)
	}
	return all
}

func contains(in, what any) bool {
	switch in := in.(type) {
	case string:
		return strings.Contains(in, fmt.Sprint(what))
	case map[string]any:
		_, is := in[fmt.Sprint(what)]
		return is
	case []any:
		return slices.ContainsFunc(in, func(item any) bool { return reflect.DeepEqual(item, what) })
	}
	return false
}

func length64(value any) int64 {
	switch value := value.(type) {
	case string:
		return int64(len([]rune(value)))
	case []any:
		return int64(len(value))
	case map[string]any:
		return int64(len(value))
	}
	return 0
}
