package bicep

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// simple works out functions of values only.
func simple(e *Call, arguments []any) any {
	text := func(i int) string { return fmt.Sprint(arguments[i]) }
	switch e.Text {
	case "concat":
		all := []any{}
		for i := range arguments {
			all = append(all, array(e.Arguments[i], arguments[i])...)
		}
		return all
	case "union":
		return unionOf(e, arguments)
	case "contains":
		return contains(arguments[0], arguments[1])
	case "empty":
		return arguments[0] == nil || arguments[0] == "" || length64(arguments[0]) == 0
	case "length":
		return length64(arguments[0])
	case "string":
		return text(0)
	case "any":
		return arguments[0]
	case "endsWith":
		return strings.HasSuffix(text(0), text(1))
	case "fail":
		return unknown(e, "%s", text(0))
	case "toLower":
		return strings.ToLower(text(0))
	case "replace":
		return strings.ReplaceAll(text(0), text(1), text(2))
	case "json":
		return parsed(e.Arguments[0], text(0))
	case "min", "max":
		var all []int64
		for i, argument := range arguments {
			all = append(all, number64(e.Arguments[i], argument))
		}
		if e.Text == "min" {
			return slices.Min(all)
		}
		return slices.Max(all)
	case "join":
		var words []string
		for _, word := range array(e.Arguments[0], arguments[0]) {
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
	return unknown(e, "%s() is not worked out", e.Text)
}

func unionOf(e *Call, arguments []any) any {
	if _, is := arguments[0].(map[string]any); !is {
		all := []any{}
		for i := range arguments {
			for _, item := range array(e.Arguments[i], arguments[i]) {
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
