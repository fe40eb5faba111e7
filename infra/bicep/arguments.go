package bicep

import (
	"slices"
	"strings"
)

// takes are the kinds of a function's arguments, one word for each; the last word is
// that of all further ones. Functions that are not here take anything. Source: as that
// of functions.
var takes = map[string]string{
	"base64": "string", "base64ToJson": "string", "base64ToString": "string",
	"cidrHost": "string int", "cidrSubnet": "string int int", "parseCidr": "string",
	"concat":       "array|string|int|bool",
	"contains":     "array|object|string any",
	"dataUri":      "any",
	"dateTimeAdd":  "string",
	"empty":        "array|object|string|null",
	"endsWith":     "string",
	"fail":         "string",
	"filter":       "array any",
	"first":        "array|string",
	"flatten":      "array",
	"format":       "string any",
	"groupBy":      "array any",
	"guid":         "string",
	"indexOf":      "string",
	"int":          "string|int",
	"intersection": "array|object",
	"items":        "object",
	"join":         "array string",
	"json":         "string",
	"last":         "array|string",
	"lastIndexOf":  "string",
	"length":       "array|object|string",
	"map":          "array any",
	"mapValues":    "object any",
	"max":          "int|array",
	"min":          "int|array",
	"objectKeys":   "object",
	"padLeft":      "string|int int string",
	"range":        "int",
	"reduce":       "array any",
	"replace":      "string",
	"resourceId":   "string", "subscriptionResourceId": "string", "tenantResourceId": "string", "extensionResourceId": "string",
	"resourceGroup": "string",
	"shallowMerge":  "array",
	"skip":          "array|string int",
	"sort":          "array any",
	"split":         "string string|array",
	"startsWith":    "string",
	"subscription":  "string",
	"substring":     "string int",
	"take":          "array|string int",
	"toLower":       "string",
	"toObject":      "array any",
	"toUpper":       "string",
	"trim":          "string",
	"union":         "array|object",
	"uniqueString":  "string",
	"uri":           "string", "uriComponent": "string", "uriComponentToString": "string",
	"utcNow": "string",
}

// answers are what the lambdas of functions have to give.
var answers = map[string]Kind{"filter": KindBool, "groupBy": KindString, "sort": KindBool, "toObject": KindString}

// argumentKinds checks the kinds of a function's arguments, as far as they are known.
func (u *unit) argumentKinds(e *Call, known *locals) {
	written, is := takes[e.Text]
	if !is {
		return
	}
	words := strings.Fields(written)
	var first Kind
	for i, argument := range e.Arguments {
		if lambda, is := argument.(*Lambda); is {
			if i == 1 {
				u.answer(e, lambda, known)
			}
			continue
		}
		t := u.typeOf(argument, known)
		possible := words[min(i, len(words)-1)]
		switch kind := t.kind(); {
		case kind == KindAny || possible == "any":
		case !slices.Contains(strings.Split(possible, "|"), string(kind)):
			u.find(argument.At(), "kind", "argument %d of %s is %s, not %s", i+1, e.Text, strings.ReplaceAll(possible, "|", " or "), t)
		case !slices.Contains([]string{"concat", "union", "intersection"}, e.Text):
		case first == "":
			first = kind
		case (first == KindArray) != (kind == KindArray):
			u.find(argument.At(), "kind", "%s puts together what is of one kind, not %s and %s", e.Text, indefinite(first), indefinite(kind))
		}
	}
}

// answer checks what the lambda of a function gives.
func (u *unit) answer(e *Call, lambda *Lambda, known *locals) {
	wanted, is := answers[e.Text]
	if bounds := lambdas[e.Text][1]; !is || len(lambda.Parameters) < bounds[0] || len(lambda.Parameters) > bounds[1] {
		return
	}
	if t := u.typeOf(lambda.Body, u.lambda(e, lambda, known)); t.kind() != KindAny && t.kind() != wanted {
		u.find(lambda.Body.At(), "kind", "the lambda of %s gives %s, not %s", e.Text, indefinite(wanted), t)
	}
}
