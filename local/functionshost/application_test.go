package functionshost

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

func TestWhatCannotBeHonouredIsRefusedByName(t *testing.T) {
	t.Parallel()
	const good = `{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"handler"},"enableProxyingHttpRequest":true}}`
	bus := func(rest string) string {
		return `{"bindings":[{"type":"serviceBusTrigger","direction":"in","name":"m","connection":"C",` + rest + `}]}`
	}
	for name, tc := range map[string]struct{ host, function, want string }{
		"an unknown section of host.json": {`{"version":"2.0","logging":{}}`, yearly, `host.json: json: unknown field "logging"`},
		"another version":                 {`{"version":"3.0"}`, yearly, "version"},
		"prefetch":                        {`{"version":"2.0","extensions":{"serviceBus":{"prefetchCount":10}}}`, yearly, "prefetchCount"},
		"no completion by the host":       {`{"version":"2.0","extensions":{"serviceBus":{"autoCompleteMessages":false}}}`, yearly, "autoCompleteMessages"},
		"no concurrency":                  {`{"version":"2.0","extensions":{"serviceBus":{"maxConcurrentCalls":0}}}`, yearly, "maxConcurrentCalls"},
		"a duration of a number":          {`{"version":"2.0","functionTimeout":600}`, yearly, "hh:mm:ss"},
		"a duration without hours":        {`{"version":"2.0","functionTimeout":"10:00"}`, yearly, "hh:mm:ss"},
		"61 minutes":                      {`{"version":"2.0","functionTimeout":"00:61:00"}`, yearly, "hh:mm:ss"},
		"no time at all":                  {`{"version":"2.0","functionTimeout":"00:00:00"}`, yearly, "functionTimeout"},
		"no executable":                   {`{"version":"2.0"}`, yearly, "defaultExecutablePath"},
		"buffered forwarding":             {`{"version":"2.0","customHandler":{"enableForwardingHttpRequest":true}}`, yearly, "enableForwardingHttpRequest"},
		"HTTP that is not proxied":        {`{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"handler"}}}`, catchAll, "enableProxyingHttpRequest"},
		"an unknown telemetry mode":       {`{"version":"2.0","telemetryMode":"Loud"}`, yearly, "telemetryMode"},

		"an unknown trigger":           {good, `{"bindings":[{"type":"queueTrigger","direction":"in","name":"q"}]}`, "f/function.json: bindings[0]: unknown binding type \"queueTrigger\""},
		"an unknown field of a file":   {good, `{"bindings":[],"disabled":true}`, `"disabled"`},
		"a retry policy":               {good, `{"retry":{},"bindings":[]}`, `"retry"`},
		"an unknown field of a timer":  {good, `{"bindings":[{"type":"timerTrigger","direction":"in","name":"t","schedule":"0 0 0 1 1 *","useDST":true}]}`, `"useDST"`},
		"no trigger":                   {good, `{"bindings":[]}`, "exactly one trigger"},
		"two triggers":                 {good, strings.Replace(yearly, `[{`, `[{"type":"httpTrigger","direction":"in","name":"r","authLevel":"anonymous"},{`, 1), "exactly one trigger"},
		"the same trigger twice":       {good, `{"bindings":[{"type":"timerTrigger","direction":"in","name":"t","schedule":"0 0 0 1 1 *"},{"type":"timerTrigger","direction":"in","name":"t","schedule":"0 0 0 1 1 *"}]}`, "exactly one trigger"},
		"HTTP without an answer":       {good, `{"bindings":[{"type":"httpTrigger","direction":"in","name":"r","authLevel":"anonymous"}]}`, "http output"},
		"keys":                         {good, `{"bindings":[{"type":"httpTrigger","direction":"in","name":"r","authLevel":"function"},{"type":"http","direction":"out","name":"x"}]}`, "authLevel"},
		"a constraint in a route":      {good, strings.Replace(catchAll, "{*path}", "batches/{id:int}", 1), "{id:int}"},
		"the host's own route":         {good, strings.Replace(catchAll, "{*path}", "admin/{*path}", 1), "admin"},
		"the rest before the end":      {good, strings.Replace(catchAll, "{*path}", "{*path}/x", 1), "must come last"},
		"five fields":                  {good, strings.Replace(yearly, "0 0 0 1 1 *", "0 0 1 1 *", 1), "six fields"},
		"a day and a weekday":          {good, strings.Replace(yearly, "0 0 0 1 1 *", "0 0 0 1 1 1", 1), "weekday"},
		"a day that never comes":       {good, strings.Replace(yearly, "0 0 0 1 1 *", "0 0 0 30 2 *", 1), "never occurs"},
		"an hour that is none":         {good, strings.Replace(yearly, "0 0 0 1 1 *", "0 0 24 1 1 *", 1), "schedule"},
		"a setting that is not there":  {good, strings.Replace(yearly, "0 0 0 1 1 *", "%SCHEDULE%", 1), "the setting SCHEDULE is missing"},
		"a topic of no setting":        {good, bus(`"topicName":"%TOPIC%","subscriptionName":"s","cardinality":"one"`), "the setting TOPIC is missing"},
		"a reference without end":      {good, bus(`"topicName":"%TOPIC","subscriptionName":"s","cardinality":"one"`), "a % has no second %"},
		"a batch of messages":          {good, bus(`"topicName":"t","subscriptionName":"s","cardinality":"many","dataType":"binary"`), "cardinality"},
		"cardinality left out":         {good, bus(`"topicName":"t","subscriptionName":"s"`), "cardinality"},
		"sessions":                     {good, bus(`"topicName":"t","subscriptionName":"s","cardinality":"one","isSessionsEnabled":true`), "isSessionsEnabled"},
		"an unknown data type":         {good, bus(`"topicName":"t","subscriptionName":"s","cardinality":"one","dataType":"stream"`), "dataType"},
		"a topic without subscription": {good, bus(`"topicName":"t","cardinality":"one"`), "subscriptionName"},
		"a queue and a topic":          {good, bus(`"queueName":"q","topicName":"t","subscriptionName":"s","cardinality":"one"`), "queueName"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "host.json"), tc.host)
			write(t, filepath.Join(dir, "f", "function.json"), tc.function)
			_, err := load(dir, map[string]string{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestFunctionNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"OnEvent": true, "on-event_2": true, "host": false, "Host": false, "2nd": false, "a b": false, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false} {
		if _, err := parseFunction(name, []byte(yearly), nil); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestSettingsReachTheFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "host.json"), fmt.Sprintf(hostJSON, "%WHERE%/handler"))
	write(t, filepath.Join(dir, "f", "function.json"), `{"bindings":[{"type":"serviceBusTrigger","direction":"in","name":"m","connection":"C","topicName":"%T%-events","subscriptionName":"%S%","cardinality":"one"}]}`)
	if _, err := load(dir, map[string]string{"WHERE": "bin", "AzureFunctionsJobHost__customHandler__description__defaultExecutablePath__x": "z"}); err == nil || !strings.Contains(err.Error(), "defaultExecutablePath is not a section") {
		t.Errorf("error %v", err)
	}
	a := testenv.Must(load(dir, map[string]string{
		"WHERE": "bin", "T": "orchestrator", "S": "one",
		"AzureFunctionsJobHost__functionTimeout":                            "1.02:03:04.5",
		"AzureFunctionsJobHost__extensions__serviceBus__maxConcurrentCalls": "3",
		"AzureFunctionsJobHost__extensions__http__routePrefix":              "",
		"AzureFunctionsJobHost__customHandler__enableProxyingHttpRequest":   "False",
	}))(t)
	h, b := a.host, a.functions[0].bus
	if got := time.Duration(h.FunctionTimeout); got != 26*time.Hour+3*time.Minute+4500*time.Millisecond {
		t.Errorf("functionTimeout %s", got)
	}
	if h.Extensions.ServiceBus.MaxConcurrentCalls != 3 || h.Extensions.HTTP.RoutePrefix != "" || h.CustomHandler.EnableProxyingHTTPRequest || h.CustomHandler.Description.DefaultExecutablePath != "bin/handler" {
		t.Errorf("host.json is %+v", h)
	}
	if b.TopicName != "orchestrator-events" || b.SubscriptionName != "one" || b.DataType != "string" {
		t.Errorf("the trigger is %+v", b)
	}
}

func TestASettingDisablesAFunction(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int{"true": 1, "1": 1, "True": 1, "false": 2, "": 2} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "host.json"), fmt.Sprintf(hostJSON, "handler"))
		write(t, filepath.Join(dir, "one", "function.json"), yearly)
		write(t, filepath.Join(dir, "two", "function.json"), yearly)
		a := testenv.Must(load(dir, map[string]string{"AzureWebJobs.Two.Disabled": value}))(t)
		if len(a.functions) != want || a.functions[0].name != "one" {
			t.Errorf("%q: %+v", value, a.functions)
		}
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		template, path string
		want           bool
	}{
		{"{*path}", "/runbooks/a%2Fb", true},
		{"{*path}", "", true},
		{"{*path}", "/", true},
		{"runbooks/{name}", "/runbooks/x", true},
		{"runbooks/{name}", "/Runbooks/a%2Fb", true},
		{"runbooks/{name}", "/runbooks", false},
		{"runbooks/{name}", "/runbooks/x/y", false},
		{"runbooks/{name}", "/batches/x", false},
		{"batches/{*rest}", "/batches", true},
		{"batches/{*rest}", "/batches/1/steps", true},
		{"batches/{*rest}", "/runbooks", false},
		{"", "", true},
		{"", "/x", false},
	} {
		r := testenv.Must(parseRoute(tc.template))(t)
		if got := r.matches(tc.path); got != tc.want {
			t.Errorf("route %q on %q: %v", tc.template, tc.path, got)
		}
	}
}

// As in the host: the case of names does not matter, a colon stands for two underscores, a value
// is not expanded again, and an empty value is one.
func TestReferencesToSettings(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"WORKER_RESULTS_TOPIC": "results", "Bus__Prefix": "eu", "PERCENT": "%WORKER_RESULTS_TOPIC%", "EMPTY": ""}
	for text, want := range map[string]string{
		"%WORKER_RESULTS_TOPIC%": "results", "%worker_results_topic%": "results", "%Bus:Prefix%-%WORKER_RESULTS_TOPIC%": "eu-results",
		"%bus__prefix%": "eu", "%PERCENT%": "%WORKER_RESULTS_TOPIC%", "a%EMPTY%b": "ab", "plain": "plain",
	} {
		got := text
		if err := expandFields("test", settings, &got); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}
