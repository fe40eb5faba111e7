package infra_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra"
	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/infra/templates"
	"github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/message"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
)

const (
	topicType        = "Microsoft.ServiceBus/namespaces/topics"
	subscriptionType = topicType + "/subscriptions"
)

// TestTopicsAndSubscriptions compares the entities in Azure with those that the programs use:
// the names of internal/message, the local broker's topology and the triggers of the
// functions.
func TestTopicsAndSubscriptions(t *testing.T) {
	t.Parallel()
	const worker = "eu-7"
	var file struct {
		UserConfig struct{ Namespaces []struct{ Topics []topic } }
	}
	if err := json.Unmarshal(infra.Topology, &file); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{}
	triggered := map[string]bool{}
	for _, topic := range file.UserConfig.Namespaces[0].Topics {
		want[topic.Name] = map[string]any{
			"defaultMessageTimeToLive": topic.Properties.DefaultMessageTimeToLive, "requiresDuplicateDetection": true,
			"duplicateDetectionHistoryTimeWindow": topic.Properties.DuplicateDetectionHistoryTimeWindow,
		}
		for _, s := range topic.Subscriptions {
			name := strings.Replace(s.Name, message.WorkerSubscription("worker-01"), message.WorkerSubscription(worker), 1)
			triggered[topic.Name+"/"+name] = name == s.Name
			want[topic.Name+"/"+name] = map[string]any{
				"lockDuration": s.Properties.LockDuration, "maxDeliveryCount": int64(s.Properties.MaxDeliveryCount),
				"defaultMessageTimeToLive": s.Properties.DefaultMessageTimeToLive, "deadLetteringOnMessageExpiration": *s.Properties.DeadLetteringOnMessageExpiration,
			}
		}
	}
	for _, name := range []string{message.TopicOrchestratorEvents, message.TopicWorkerJobs, message.TopicWorkerResults, message.TopicWorkerControl} {
		if want[name] == nil {
			t.Errorf("topology.json has no topic %s", name)
		}
	}
	var made []*bicep.Instance
	for stage, others := range map[string]map[string]any{templates.Shared: nil, templates.Functions: nil, templates.Worker: {"workerId": worker}} {
		d := templates.Deploy(t, stage, others)
		made = append(made, slices.Concat(d.Of(topicType), d.Of(subscriptionType))...)
	}
	for _, r := range made {
		name := strings.TrimPrefix(r.Name, "matoolkit-prod-bus/")
		for property, value := range want[name] {
			if got := r.At("properties", property); got != value {
				t.Errorf("%s: %s is %v, topology.json has %v", name, property, got, value)
			}
		}
		if want[name] == nil {
			t.Errorf("%s is not in topology.json, or is created twice", name)
		}
		if r.At("properties", "requiresSession") == true {
			t.Errorf("%s requires sessions, which the programs do not use", name)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("no template creates %s", name)
	}
	for function, trigger := range triggers(t) {
		if trigger.Type != "serviceBusTrigger" {
			continue
		}
		name := expanded(trigger.TopicName, servicebus.DefaultNames().Settings()) + "/" + expanded(trigger.SubscriptionName, servicebus.DefaultNames().Settings())
		if !triggered[name] || trigger.Connection != "ServiceBusConnection" {
			t.Errorf("%s is triggered by %s with %s", function, name, trigger.Connection)
		}
		delete(triggered, name)
	}
	for name, by := range triggered {
		if by {
			t.Errorf("no function is triggered by %s", name)
		}
	}
	d := templates.Deploy(t, templates.Worker, map[string]any{"workerId": worker})
	rule := templates.One(t, d, subscriptionType+"/rules")
	if got := rule.At("properties", "sqlFilter", "sqlExpression"); rule.Name != "matoolkit-prod-bus/worker-jobs/worker-"+worker+"/"+path.Base(rule.Name) || got != message.PropertyWorkerID+" = '"+worker+"'" {
		t.Errorf("the rule %s is %v", rule.Name, got)
	}
}

// expanded replaces %SETTING% as the host does.
func expanded(text string, settings map[string]string) string {
	return settings[strings.Trim(text, "%")]
}

// TestSpecificationNamesOfTopicsAndSubscriptionsAreSettings: entities, roles, the scale rule and the settings of
// both programs follow the parameter.
func TestSpecificationNamesOfTopicsAndSubscriptionsAreSettings(t *testing.T) {
	t.Parallel()
	given := map[string]any{
		"ORCHESTRATOR_EVENTS_TOPIC": "worker-results", "WORKER_RESULTS_TOPIC": "results", "WORKER_JOBS_TOPIC": "jobs", "WORKER_CONTROL_TOPIC": "control",
		"ORCHESTRATOR_SUBSCRIPTION": "engine", "WORKER_SUBSCRIPTION_PREFIX": "w",
	}
	var all []string
	want := []string{
		"control", "control/weu-7", "jobs", "jobs/weu-7", "jobs/weu-7/worker-id", "results", "results/engine", "worker-results", "worker-results/engine",
	}
	for stage, others := range map[string]map[string]any{templates.Shared: {}, templates.Functions: {}, templates.Worker: {"workerId": "eu-7"}} {
		others["busNames"] = given
		d := templates.Deploy(t, stage, others)
		for _, r := range slices.Concat(d.Of(topicType), d.Of(subscriptionType), d.Of(subscriptionType+"/rules")) {
			all = append(all, strings.TrimPrefix(r.Name, "matoolkit-prod-bus/"))
		}
		for _, role := range d.Of("Microsoft.Authorization/roleAssignments") {
			of, in := strings.CutPrefix(role.Scope.Name, "matoolkit-prod-bus/")
			if in && !slices.Contains(want, of) {
				t.Errorf("%s: a role on %s", stage, of)
			}
		}
		settings := map[string]string{}
		switch stage {
		case templates.Functions:
			settings = templates.Settings(t, templates.One(t, d, "Microsoft.Web/sites").At("properties", "siteConfig", "appSettings"))
		case templates.Worker:
			app := templates.One(t, d, "Microsoft.App/containerApps")
			settings = templates.Settings(t, app.At("properties", "template", "containers", 0, "env"))
			metadata := app.At("properties", "template", "scale", "rules", 0, "custom", "metadata").(map[string]any)
			if metadata["topicName"] != "jobs" || metadata["subscriptionName"] != "weu-7" {
				t.Errorf("the scaler watches %v", metadata)
			}
		case templates.Shared:
			continue
		}
		for name, value := range given {
			if settings[name] != value {
				t.Errorf("%s: %s is %q", stage, name, settings[name])
			}
		}
	}
	slices.Sort(all)
	if !reflect.DeepEqual(all, want) {
		t.Errorf("got  %s\nwant %s", all, want)
	}
}

// TestDefaultNamesAreThoseOfThePrograms compares the file that the templates load with the
// defaults of the programs, and the settings of a deployment without the parameter with both.
func TestDefaultNamesAreThoseOfThePrograms(t *testing.T) {
	t.Parallel()
	file := infra.BusNames()
	if want := servicebus.DefaultNames().Settings(); !maps.Equal(file, want) {
		t.Errorf("bus-names.json has %v; the programs have %v", file, want)
	}
	app := templates.One(t, templates.Deploy(t, templates.Functions, nil), "Microsoft.Web/sites")
	settings := templates.Settings(t, app.At("properties", "siteConfig", "appSettings"))
	for name, value := range file {
		if settings[name] != value {
			t.Errorf("the app has %s=%q", name, settings[name])
		}
	}
	for _, trigger := range triggers(t) {
		for _, reference := range []string{trigger.TopicName, trigger.SubscriptionName} {
			if reference != "" && !slices.Contains(servicebus.TriggerVariables, strings.Trim(reference, "%")) {
				t.Errorf("a trigger refers to %s, which the handler does not require", reference)
			}
		}
	}
}

func TestNamesThatCannotBeDeployedAreRefused(t *testing.T) {
	t.Parallel()
	for _, stage := range append([]string{templates.Main}, templates.Stages...) {
		for _, c := range []struct{ name, value, want string }{
			{"JOBS_TOPIC", "jobs", "busNames: the settings are ORCHESTRATOR_EVENTS_TOPIC, "},
			{"WORKER_JOBS_TOPIC", "Worker-Results", "busNames: give each topic its own name"},
			{"WORKER_SUBSCRIPTION_PREFIX", "migrator", "busNames: WORKER_SUBSCRIPTION_PREFIX has at most 7 characters"},
		} {
			_, err := templates.Try(t, stage, map[string]any{"busNames": map[string]any{c.name: c.value}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s=%s: %v", stage, c.name, c.value, err)
			}
		}
	}
}

type binding struct{ Type, TopicName, SubscriptionName, Connection string }

// triggers returns the trigger of each function.
func triggers(t *testing.T) map[string]binding {
	t.Helper()
	files, err := os.ReadDir("../functions")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]binding{}
	for _, dir := range files {
		data, err := os.ReadFile(path.Join("../functions", dir.Name(), "function.json"))
		if os.IsNotExist(err) {
			continue
		}
		var function struct{ Bindings []binding }
		if err == nil {
			err = json.Unmarshal(data, &function)
		}
		if err != nil || len(function.Bindings) == 0 {
			t.Fatalf("%s: %v", dir.Name(), err)
		}
		all[dir.Name()] = function.Bindings[0]
	}
	if len(all) < 4 {
		t.Fatalf("only %v are found", all)
	}
	return all
}

// TestScaleRuleWatchesTheJobsOfTheWorker: the platform starts a replica for its jobs.
func TestScaleRuleWatchesTheJobsOfTheWorker(t *testing.T) {
	t.Parallel()
	d := templates.Deploy(t, templates.Worker, map[string]any{"workerId": "eu-7", "maxParallelism": int64(12)})
	app := templates.One(t, d, "Microsoft.App/containerApps")
	rules, _ := app.At("properties", "template", "scale", "rules").([]any)
	want := map[string]any{
		"namespace": "matoolkit-prod-bus", "topicName": message.TopicWorkerJobs, "subscriptionName": message.WorkerSubscription("eu-7"), "messageCount": "12",
	}
	if got := app.At("properties", "template", "scale", "rules", 0, "custom", "metadata"); len(rules) != 1 || !reflect.DeepEqual(got, want) {
		t.Errorf("the %d rules begin with %v", len(rules), got)
	}
}

// TestFunctionsApp compares the app with its functions and with where its package is put.
func TestFunctionsApp(t *testing.T) {
	t.Parallel()
	d := templates.Deploy(t, templates.Functions, map[string]any{
		"alwaysReadyApi": int64(1), "alwaysReadyTimer": int64(1), "alwaysReadyEvents": int64(1), "alwaysReadyResults": int64(1),
	})
	config, _ := templates.One(t, d, "Microsoft.Web/sites").At("properties", "functionAppConfig").(map[string]any)
	app := bicep.Instance{Body: config}
	groups := map[any]bool{}
	list, _ := app.At("scaleAndConcurrency", "alwaysReady").([]any)
	for _, group := range list {
		groups[group.(map[string]any)["name"]] = true
	}
	want := map[any]bool{}
	for function, trigger := range triggers(t) {
		switch {
		case function == "containerscaler": // its ticks can wait for an instance
			continue
		case trigger.Type == "httpTrigger":
			function = "http"
		default:
			function = "function:" + function
		}
		want[function] = true
	}
	if !reflect.DeepEqual(groups, want) {
		t.Errorf("the groups of instances are %v, the functions have %v", groups, want)
	}
	container := templates.One(t, d, "Microsoft.Storage/storageAccounts/blobServices/containers")
	account, name, _ := strings.Cut(container.Name, "/default/")
	if got := fmt.Sprint(app.At("deployment", "storage", "value")); !strings.Contains(got, account+".") || !strings.HasSuffix(got, name) {
		t.Errorf("the package is at %s, the container is %s", got, container.Name)
	}
}

// TestCosmosContainer compares the database in Azure with what the store relies on.
func TestCosmosContainer(t *testing.T) {
	t.Parallel()
	d := templates.Deploy(t, templates.Functions, nil)
	account := templates.One(t, d, "Microsoft.DocumentDB/databaseAccounts")
	if got := account.At("properties", "consistencyPolicy", "defaultConsistencyLevel"); got != "Strong" {
		t.Errorf("the consistency is %v", got)
	}
	const databaseType = "Microsoft.DocumentDB/databaseAccounts/sqlDatabases"
	for _, resourceType := range []string{databaseType, databaseType + "/containers"} {
		if r := templates.One(t, d, resourceType); r.At("properties", "resource", "id") != path.Base(r.Name) {
			t.Errorf("%s has the id %v", r.Name, r.At("properties", "resource", "id"))
		}
	}
	of, _ := templates.One(t, d, databaseType+"/containers").At("properties", "resource").(map[string]any)
	container := bicep.Instance{Body: of}
	if got := container.At("partitionKey", "paths"); !reflect.DeepEqual(got, []any{cosmosstore.PartitionKeyPath}) {
		t.Errorf("the partition key is %v", got)
	}
	if of["defaultTtl"] != nil {
		t.Errorf("documents expire after %v seconds", of["defaultTtl"])
	}
	data, err := os.ReadFile("../internal/store/cosmos/index-policy.json")
	var policy any
	if err == nil {
		err = json.Unmarshal(data, &policy)
	}
	if got, _ := json.Marshal(of["indexingPolicy"]); err != nil || string(got) != string(must(json.Marshal(policy))) {
		t.Errorf("the index policy is %s, the store has %s, %v", got, data, err)
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}
