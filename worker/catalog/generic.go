package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/signature"
)

// AnyField is the name of a field of a result that stands for fields of every name.
const AnyField = signature.AnyField

// InvokeGraphRequest is carried out by package graph.
var InvokeGraphRequest = Function{
	Name: "Invoke-GraphRequest",
	Description: "Makes one request of Microsoft Graph: for what no other function does. The worker makes the requests that its other functions make; GRAPH_REQUESTS allows it more. " +
		"With a check, the function reads first, writes only if the check does not show the result, and waits until it does. A DELETE of what does not exist succeeds.",
	Params: []Param{
		{Name: "Method", Type: OneOf("GET", "POST", "PATCH", "PUT", "DELETE"), Required: true, Description: "Method of the request."},
		{Name: "Path", Type: String, Required: true, Description: "Path from the version on, such as /v1.0/users/{{UserId}}, with query options. Percent-encode the # in names of guests as %23."},
		{Name: "Body", Type: Object, Description: "Body of the request. Default: none."},
		{Name: "CheckPath", Type: String, Description: "Path that is read before a write. If it shows CheckExpected, the function writes nothing and succeeds."},
		{Name: "CheckExpected", Type: Object, Description: "Properties that the read must have after the write; others do not count. Default: the path does not exist (404)."},
	},
	Result: []Field{{AnyField, "The properties of what CheckPath shows at the end, or, without a check, of the answer. Pages after the first are not read."}},
	Errors: []Error{
		{FailureParameters, "The path is none of the API, leads elsewhere, or the check does not fit the method.", "Correct the parameter."},
		{FailureNotConfigured, "The worker does not make the request, or writes no such property; or another function makes it alone.", "Use the function that the message names, or describe the request in GRAPH_REQUESTS."},
		{graphNotFound, "The object does not exist. Other codes are Graph's own.", "Correct the path, or wait until the object exists."},
		{graphBadRequest, "Graph refuses the request.", "Correct what the message names."},
		{FailureConflict, "A POST without CheckPath was delivered before, perhaps in part; or the check does not show the result.", "Give CheckPath, or look at the tenant and retry the step."},
	},
	Permissions: []string{"The application permissions of the request"},
	Repeated:    "GET, PATCH, PUT and DELETE are made again. A POST is made again only with CheckPath, after a read that does not show the result; without, the function fails.",
}

// InvokeExchangeCommand is carried out by package exchange.
var InvokeExchangeCommand = Function{
	Name: "Invoke-ExchangeCommand",
	Description: "Runs one cmdlet of Exchange Online: for what no other function does. The worker runs the cmdlets that its other functions run, with their parameters; EXCHANGE_CMDLETS allows it more. " +
		"With a check, the function reads first, writes only if the check does not show the result, and waits until it does.",
	Params: []Param{
		{Name: "Cmdlet", Type: String, Required: true, Description: "Name of the cmdlet, such as Set-Mailbox."},
		{Name: "Parameters", Type: Object, Description: "Parameters of the cmdlet. An object, such as {Add: [a], Remove: [b]}, is a hashtable. Default: none."},
		{Name: "CheckCmdlet", Type: String, Description: "A Get- cmdlet that runs before a write. If it shows CheckExpected, the function writes nothing and succeeds."},
		{Name: "CheckParameters", Type: Object, Description: "Parameters of CheckCmdlet."},
		{Name: "CheckExpected", Type: Object, Description: "Properties that the one object of CheckCmdlet must have after the write; others do not count. Default: there is no such object."},
	},
	Result: []Field{{AnyField, "The properties of the one object of the output, or value, the list of several objects. With a check, those of the output of CheckCmdlet at the end."}},
	Errors: []Error{
		{FailureParameters, "A name is no cmdlet, or the check does not fit it.", "Correct the parameter."},
		{FailureNotConfigured, "The worker does not run the cmdlet or takes no such parameter; or another function runs it alone.", "Use the function that the message names, or describe the cmdlet in EXCHANGE_CMDLETS."},
		{exchangeNotFound, "The object does not exist. Other types are the cmdlet's own.", "Correct Identity, or wait until the object exists."},
		notAccepted,
		{FailureConflict, "A cmdlet without CheckCmdlet was delivered before, perhaps in part; or the check does not show the result.", "Give CheckCmdlet, or look at the tenant and retry the step."},
	},
	Permissions: []string{"Exchange.ManageAsApp", "The directory role that the cmdlet needs"},
	Repeated:    "Get-, Set- and Test- cmdlets run again. Others run again only with CheckCmdlet, after a read that does not show the result; without, the function fails.",
}

// Differences says how an object differs from the expected properties, and is empty if it does not.
// Texts and lists of texts are compared as Mismatch does, objects by the expected properties in them, and a list of
// objects must contain each expected one.
func Differences(expected, actual map[string]any) string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		have := property(actual, name)
		if inner, ok := expected[name].(map[string]any); ok {
			object, _ := have.(map[string]any)
			if text := Differences(inner, object); text != "" {
				found = append(found, name+": "+text)
			}
			continue
		}
		if wanted := objects(expected[name]); wanted != nil {
			if n := missing(wanted, objects(have)); n > 0 {
				found = append(found, fmt.Sprintf("%s lacks %d of %d expected objects", name, n, len(wanted)))
			}
			continue
		}
		if text := Mismatch(name, values(expected[name]), have); text != "" {
			found = append(found, text)
		}
	}
	return strings.Join(found, "; ")
}

// objects are the objects of a list, nil if it is no list of objects.
func objects(list any) (all []map[string]any) {
	items, _ := list.([]any)
	for _, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			return nil
		}
		all = append(all, object)
	}
	return all
}

// missing is how many of the expected objects a list has no object for.
func missing(expected, actual []map[string]any) (n int) {
	for _, e := range expected {
		if !slices.ContainsFunc(actual, func(a map[string]any) bool { return Differences(e, a) == "" }) {
			n++
		}
	}
	return n
}

// property is a property of an object, whose name is compared without case.
func property(object map[string]any, name string) any {
	if value, ok := object[name]; ok {
		return value
	}
	for other, value := range object {
		if strings.EqualFold(other, name) {
			return value
		}
	}
	return nil
}

// Answered returns the result of a function that passes on an object: true if there is nothing in it.
func Answered(object map[string]any) any {
	maps.DeleteFunc(object, func(name string, _ any) bool { return strings.HasPrefix(name, "@odata.") })
	if len(object) == 0 {
		return true
	}
	return object
}

// Object returns an Object parameter, nil when it was not given.
func (p Params) Object(name string) map[string]any {
	o, _ := p[name].(map[string]any)
	return o
}
