package infra_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/internal/message"
)

// What the Bicep creates is worked out, not looked for by text, and compared with what
// the programs, the host and the broker on one machine go by. The settings of the
// programs are compared in their own packages: they know what they read.

// repository is the files that are compared, below the root of the repository.
func repository(t *testing.T) fstest.MapFS {
	t.Helper()
	files, root := fstest.MapFS{}, os.DirFS("..")
	for _, pattern := range []string{
		"infra/topology.json", "infra/shared/*.bicep", "infra/automation/*/*.bicep", "internal/store/cosmos/index-policy.json",
		"functions/*/function.json", "host.json",
	} {
		names, err := fs.Glob(root, pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			data, err := fs.ReadFile(root, name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = &fstest.MapFile{Data: data}
		}
	}
	return files
}

// deployed is a file of Bicep with values for its parameters.
func deployed(files fstest.MapFS, name string, given map[string]any) (bicep.Values, error) {
	source, err := fs.ReadFile(files, name)
	if err != nil {
		return bicep.Values{}, err
	}
	file, findings := bicep.Parse(name, string(source))
	if len(findings) > 0 {
		return bicep.Values{}, fmt.Errorf("%s", findings[0])
	}
	return bicep.Values{File: file, FS: files, Given: given}, nil
}

// resource finds a resource by its symbol.
func resource(v bicep.Values, symbol string) (*bicep.Resource, error) {
	for _, r := range v.File.Resources {
		if r.Text == symbol {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%s has no resource %s", v.File.Path, symbol)
}

// names are the names of a resource: several if it is made in a loop.
func names(v bicep.Values, symbol string) ([]string, error) {
	r, err := resource(v, symbol)
	if err != nil {
		return nil, err
	}
	var name bicep.Expression = r.Body.Value("name")
	if r.Loop != nil {
		name = &bicep.For{Loop: r.Loop, Body: name}
	}
	value, err := v.Of(name)
	if err != nil {
		return nil, err
	}
	all, is := value.([]any)
	if !is {
		all = []any{value}
	}
	var texts []string
	for _, one := range all {
		texts = append(texts, fmt.Sprint(one))
	}
	return texts, nil
}

// drift tells what does not fit together, one thing a line.
type drift struct {
	files fstest.MapFS
	found []string
}

func (d *drift) say(format string, values ...any) {
	d.found = append(d.found, fmt.Sprintf(format, values...))
}

func (d *drift) same(what string, has, wanted any) {
	if fmt.Sprint(has) != fmt.Sprint(wanted) {
		d.say("%s: %v, but %v is expected", what, has, wanted)
	}
}

func (d *drift) must(err error) bool {
	if err != nil {
		d.say("%v", err)
	}
	return err == nil
}

// binding is a trigger of a function as the host reads it.
type binding struct{ Type, TopicName, SubscriptionName, Connection string }

// triggers are the functions' triggers, by function.
func (d *drift) triggers() map[string]binding {
	all := map[string]binding{}
	files, err := fs.Glob(d.files, "functions/*/function.json")
	d.must(err)
	for _, name := range files {
		var function struct{ Bindings []binding }
		if d.must(json.Unmarshal(d.files[name].Data, &function)) && len(function.Bindings) > 0 {
			all[path.Base(path.Dir(name))] = function.Bindings[0]
		}
	}
	return all
}

// topology is what the broker on one machine has: topics, and subscriptions as
// topic/subscription.
func (d *drift) topology() (topics, subscriptions []string) {
	var file struct {
		UserConfig struct{ Namespaces []struct{ Topics []topic } }
	}
	if !d.must(json.Unmarshal(d.files["infra/topology.json"].Data, &file)) {
		return nil, nil
	}
	for _, topic := range file.UserConfig.Namespaces[0].Topics {
		topics = append(topics, topic.Name)
		for _, subscription := range topic.Subscriptions {
			subscriptions = append(subscriptions, topic.Name+"/"+subscription.Name)
		}
	}
	slices.Sort(topics)
	slices.Sort(subscriptions)
	return topics, subscriptions
}

// bus compares topics and subscriptions.
func (d *drift) bus() {
	topics, subscriptions := d.topology()
	d.same("topology.json: topics", topics, sortedTexts(message.TopicOrchestratorEvents, message.TopicWorkerJobs, message.TopicWorkerResults, message.TopicWorkerControl))
	shared, err := deployed(d.files, "infra/shared/servicebus.bicep", nil)
	if d.must(err) {
		made, err := names(shared, "topic")
		if d.must(err) {
			d.same("servicebus.bicep: topics", sortedTexts(made...), topics)
		}
	}
	consumed := d.consumed()
	wanted := append(slices.Clone(consumed),
		message.TopicWorkerJobs+"/"+message.WorkerSubscription("worker-01"), message.TopicWorkerControl+"/"+message.WorkerSubscription("worker-01"))
	d.same("topology.json: subscriptions", subscriptions, sortedTexts(wanted...))
	for function, trigger := range d.triggers() {
		if trigger.Type == "serviceBusTrigger" {
			d.same(function+": connection", trigger.Connection, "ServiceBusConnection")
		}
	}
	var triggered []string
	for _, trigger := range d.triggers() {
		if trigger.Type == "serviceBusTrigger" {
			triggered = append(triggered, trigger.TopicName+"/"+trigger.SubscriptionName)
		}
	}
	d.same("function.json: subscriptions", sortedTexts(triggered...), sortedTexts(consumed...))
}

// consumed are the subscriptions that the Functions app's Bicep makes.
func (d *drift) consumed() []string {
	functions, err := deployed(d.files, "infra/automation/functions/subscriptions.bicep", nil)
	if !d.must(err) {
		return nil
	}
	topics, err := names(functions, "consumedTopics")
	subscriptions, err2 := names(functions, "subscriptions")
	if !d.must(err) || !d.must(err2) {
		return nil
	}
	if len(topics) != len(subscriptions) {
		d.say("subscriptions.bicep: %d topics for %d subscriptions", len(topics), len(subscriptions))
		return nil
	}
	var all []string
	for i := range topics {
		all = append(all, topics[i]+"/"+subscriptions[i])
	}
	return all
}

// worker compares what the worker's Bicep makes with what the worker goes by.
func (d *drift) worker() {
	const id = "eu-7"
	bus, err := deployed(d.files, "infra/automation/worker/bus.bicep", map[string]any{"workerId": id})
	if !d.must(err) {
		return
	}
	for symbol, wanted := range map[string]string{
		"jobs": message.TopicWorkerJobs, "results": message.TopicWorkerResults, "subscription": message.WorkerSubscription(id),
		"control": message.TopicWorkerControl, "controls": message.WorkerSubscription(id),
	} {
		made, err := names(bus, symbol)
		if d.must(err) {
			d.same("bus.bicep: "+symbol, made, []string{wanted})
		}
	}
	rule, err := resource(bus, "rule")
	if !d.must(err) {
		return
	}
	value, err := bus.Of(rule.Body.Value("properties"))
	if d.must(err) {
		d.same("bus.bicep: rule", value, map[string]any{
			"filterType": "SqlFilter", "sqlFilter": map[string]any{"sqlExpression": message.PropertyWorkerID + " = '" + id + "'"},
		})
	}
}

// groups compares the names of groups of instances with the functions there are.
func (d *drift) groups() {
	v, err := deployed(d.files, "infra/automation/functions/deploy.bicep", map[string]any{
		"alwaysReadyApi": int64(1), "alwaysReadyTimer": int64(1), "alwaysReadyEvents": int64(1), "alwaysReadyResults": int64(1),
	})
	if !d.must(err) {
		return
	}
	value, err := v.Of(&bicep.Reference{Name: bicep.Name{Text: "alwaysReady"}})
	if !d.must(err) {
		return
	}
	var has []string
	for _, group := range value.([]any) {
		has = append(has, fmt.Sprint(group.(map[string]any)["name"]))
	}
	var wanted []string
	for function, trigger := range d.triggers() {
		name := "function:" + function
		if trigger.Type == "httpTrigger" {
			name = "http"
		}
		wanted = append(wanted, name)
	}
	slices.Sort(wanted)
	d.same("deploy.bicep: groups of instances", sortedTexts(has...), slices.Compact(wanted))
}

// database compares names that stand in Bicep with those that the handler is told.
func (d *drift) database() {
	v, err := deployed(d.files, "infra/automation/functions/cosmos.bicep", map[string]any{"capacity": "serverless"})
	if !d.must(err) {
		return
	}
	for _, symbol := range []string{"database", "container"} {
		r, err := resource(v, symbol)
		if !d.must(err) {
			continue
		}
		name, err := v.Of(r.Body.Value("name"))
		value, err2 := v.Of(r.Body.Value("properties"))
		if !d.must(err) || !d.must(err2) {
			continue
		}
		of := value.(map[string]any)["resource"].(map[string]any)
		d.same("cosmos.bicep: id of the "+symbol, of["id"], name)
	}
	d.container(v)
}

func sortedTexts(texts ...string) []string {
	sorted := slices.Clone(texts)
	slices.Sort(sorted)
	return sorted
}

func compare(files fstest.MapFS) []string {
	d := &drift{files: files}
	d.bus()
	d.entities()
	d.worker()
	d.scaler()
	d.groups()
	d.rights()
	d.database()
	d.packaged()
	return d.found
}

func TestNothingDriftsApart(t *testing.T) {
	t.Parallel()
	for _, found := range compare(repository(t)) {
		t.Error(found)
	}
}

// Each comparison fails if one of its sides changes.
func TestDriftIsFound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ file, old, replacement, want string }{
		"a topic of the broker":             {"infra/topology.json", `"orchestrator-events"`, `"orchestrator-event"`, "topology.json: topics"},
		"a subscription of the broker":      {"infra/topology.json", `"Name": "orchestrator",`, `"Name": "orchestrator-2",`, "function.json: subscriptions"},
		"the worker's subscription":         {"infra/topology.json", `"worker-worker-01"`, `"worker-01"`, "topology.json: subscriptions"},
		"the worker's filter":               {"infra/topology.json", `WorkerId = `, `Worker = `, "bus.bicep: rule"},
		"a function's topic":                {"functions/worker-results/function.json", `"worker-results"`, `"worker-result"`, "function.json: subscriptions"},
		"a function's subscription":         {"functions/worker-results/function.json", `"orchestrator"`, `"results"`, "function.json: subscriptions"},
		"a function's connection":           {"functions/worker-results/function.json", `"ServiceBusConnection"`, `"ServiceBus"`, "connection"},
		"Bicep leaves a topic out":          {"infra/shared/servicebus.bicep", `for item in topics: {`, `for item in filter(topics, one => one.Name != 'worker-jobs'): {`, "servicebus.bicep: topics"},
		"Bicep's subscription":              {"infra/automation/functions/subscriptions.bicep", `var subscriptionName = 'orchestrator'`, `var subscriptionName = 'handler'`, "function.json: subscriptions"},
		"Bicep's topic of controls":         {"infra/automation/worker/bus.bicep", `name: 'worker-control'`, `name: 'controls'`, "bus.bicep: control"},
		"controls end earlier in Azure":     {"infra/automation/worker/bus.bicep", "controlPattern.Properties.DefaultMessageTimeToLive", "'P1D'", "time to live"},
		"Bicep's subscription of a worker":  {"infra/automation/worker/bus.bicep", `'worker-${workerId}'`, `'jobs-${workerId}'`, "bus.bicep: subscription"},
		"Bicep's topic of results":          {"infra/automation/worker/bus.bicep", `name: 'worker-results'`, `name: 'results'`, "bus.bicep: results"},
		"Bicep's rule of another worker":    {"infra/automation/worker/bus.bicep", `'worker-01', workerId`, `'worker-02', workerId`, "bus.bicep: rule"},
		"the scaler's topic":                {"infra/automation/worker/app.bicep", `topicName: 'worker-jobs'`, `topicName: 'jobs'`, "the scaler's topic"},
		"a function that is called else":    {"infra/automation/functions/deploy.bicep", `'function:worker-results'`, `'function:results'`, "groups of instances"},
		"another role's id":                 {"infra/automation/worker/vault.bicep", "4633458b", "4633458c", "role Key Vault Secrets User"},
		"an id outside of the roles":        {"infra/automation/worker/vault.bicep", "roles['Key Vault Secrets User'])\n  }", "'4633458b-17de-408a-b874-0445c86b69e6')\n  }", "stands outside of the roles"},
		"the container's key":               {"infra/automation/functions/cosmos.bicep", `'/pk'`, `'/id'`, "partition key"},
		"the broker takes duplicates":       {"infra/topology.json", `"RequiresDuplicateDetection": true`, `"RequiresDuplicateDetection": false`, "no duplicate detection"},
		"Bicep's topic takes duplicates":    {"infra/shared/servicebus.bicep", "item.Properties.RequiresDuplicateDetection", "false", "duplicate detection of worker-jobs"},
		"messages end earlier in Azure":     {"infra/shared/servicebus.bicep", "item.Properties.DefaultMessageTimeToLive", "'P1D'", "time to live of worker-jobs"},
		"a subscription with sessions":      {"infra/automation/functions/subscriptions.bicep", "requiresSession: false", "requiresSession: true", "sessions"},
		"messages end in a subscription":    {"infra/automation/functions/subscriptions.bicep", "item.subscription.Properties.DefaultMessageTimeToLive", "'P1D'", "orchestrator: time to live"},
		"a job is delivered once":           {"infra/automation/worker/bus.bicep", "pattern.Properties.MaxDeliveryCount", "1", "deliveries"},
		"a job is locked for longer":        {"infra/automation/worker/bus.bicep", "pattern.Properties.LockDuration", "'PT5M'", "lock"},
		"the scaler's subscription":         {"infra/automation/worker/app.bicep", "subscriptionName: subscriptionName", "subscriptionName: namespaceName", "the scaler's topic"},
		"the scaler is given another":       {"infra/automation/worker/deploy.bicep", "subscriptionName: bus.outputs.subscriptionName", "subscriptionName: 'worker-x'", "the scaler's topic"},
		"an index policy of its own":        {"infra/automation/functions/cosmos.bicep", "loadJsonContent('../../../internal/store/cosmos/index-policy.json')", "{}", "index policy"},
		"documents expire":                  {"infra/automation/functions/cosmos.bicep", "      partitionKey: {", "      defaultTtl: 60\n      partitionKey: {", "documents expire"},
		"another consistency":               {"infra/automation/functions/cosmos.bicep", "'Strong'", "'Session'", "consistency"},
		"the package's container":           {"infra/automation/functions/deploy.bicep", "deploymentContainerUrl: storage.outputs.deploymentContainerUrl", "deploymentContainerUrl: storage.outputs.deploymentContainer", "where the package is"},
		"the container's two names":         {"infra/automation/functions/cosmos.bicep", "resource: {\n      id: 'matoolkit'\n      partitionKey", "resource: {\n      id: 'other'\n      partitionKey", "id of the container"},
		"a file that is not Bicep any more": {"infra/automation/worker/bus.bicep", "var topics =", "var topics", "syntax"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := repository(t)
			text := string(files[tc.file].Data)
			if !strings.Contains(text, tc.old) {
				t.Fatalf("%s no longer holds %q", tc.file, tc.old)
			}
			files[tc.file] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(text, tc.old, tc.replacement))}
			found := compare(files)
			if !slices.ContainsFunc(found, func(line string) bool { return strings.Contains(line, tc.want) }) {
				t.Errorf("found %q, which does not say %q", found, tc.want)
			}
		})
	}
}
