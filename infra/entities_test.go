package infra_test

import (
	"encoding/json"
	"fmt"

	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/internal/message"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
)

// properties are those of a resource: several if it is made in a loop.
func properties(v bicep.Values, symbol string) ([]map[string]any, error) {
	r, err := resource(v, symbol)
	if err != nil {
		return nil, err
	}
	value := r.Body.Value("properties")
	if r.Loop != nil {
		value = &bicep.For{Loop: r.Loop, Body: value}
	}
	worked, err := v.Of(value)
	if err != nil {
		return nil, err
	}
	all, is := worked.([]any)
	if !is {
		all = []any{worked}
	}
	var objects []map[string]any
	for _, one := range all {
		object, is := one.(map[string]any)
		if !is {
			return nil, fmt.Errorf("%s: the properties of %s are %v", v.File.Path, symbol, one)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// parameter is what a file of Bicep gives a module, worked out.
func parameter(v bicep.Values, module, name string) (any, error) {
	for _, m := range v.File.Modules {
		if params, is := m.Body.Value("params").(*bicep.Object); is && m.Text == module {
			if value := params.Value(name); value != nil {
				return v.Of(value)
			}
		}
	}
	return nil, fmt.Errorf("%s gives module %s no %s", v.File.Path, module, name)
}

// entities compares how topics and subscriptions behave: in Azure as at the broker on
// one machine.
func (d *drift) entities() {
	var file struct {
		UserConfig struct{ Namespaces []struct{ Topics []topic } }
	}
	if !d.must(json.Unmarshal(d.files["infra/topology.json"].Data, &file)) {
		return
	}
	topics := map[string]topic{}
	for _, topic := range file.UserConfig.Namespaces[0].Topics {
		topics[topic.Name] = topic
	}
	d.topicsLike(topics)
	for _, of := range []struct {
		file, symbol string
		given        map[string]any
		topic        string // empty: subscriptions of one name are alike at every topic
	}{
		{"infra/automation/functions/subscriptions.bicep", "subscriptions", nil, ""},
		{"infra/automation/worker/bus.bicep", "subscription", map[string]any{"workerId": "worker-01"}, message.TopicWorkerJobs},
		{"infra/automation/worker/bus.bicep", "controls", map[string]any{"workerId": "worker-01"}, message.TopicWorkerControl},
	} {
		v, err := deployed(d.files, of.file, of.given)
		if d.must(err) {
			at := topics
			if of.topic != "" {
				at = map[string]topic{of.topic: topics[of.topic]}
			}
			d.subscriptionsLike(v, of.symbol, at)
		}
	}
}

func (d *drift) topicsLike(topics map[string]topic) {
	v, err := deployed(d.files, "infra/shared/servicebus.bicep", nil)
	if !d.must(err) {
		return
	}
	made, err := names(v, "topic")
	all, err2 := properties(v, "topic")
	if !d.must(err) || !d.must(err2) {
		return
	}
	for i, name := range made {
		wanted := topics[name].Properties
		if wanted.RequiresDuplicateDetection == nil || !*wanted.RequiresDuplicateDetection {
			d.say("topology.json: %s has no duplicate detection, by which a message that is sent twice comes once", name)
			continue
		}
		d.same("servicebus.bicep: duplicate detection of "+name, all[i]["requiresDuplicateDetection"], true)
		d.same("servicebus.bicep: time of duplicate detection of "+name, all[i]["duplicateDetectionHistoryTimeWindow"], wanted.DuplicateDetectionHistoryTimeWindow)
		d.same("servicebus.bicep: time to live of "+name, all[i]["defaultMessageTimeToLive"], wanted.DefaultMessageTimeToLive)
	}
}

// subscriptionsLike compares subscriptions that Bicep makes with those of their names.
func (d *drift) subscriptionsLike(v bicep.Values, symbol string, topics map[string]topic) {
	made, err := names(v, symbol)
	all, err2 := properties(v, symbol)
	if !d.must(err) || !d.must(err2) {
		return
	}
	wanted := map[string]delivery{}
	for _, topic := range topics {
		for _, s := range topic.Subscriptions {
			wanted[s.Name] = s.Properties
		}
	}
	for i, name := range made {
		is, of := all[i], wanted[name]
		what := v.File.Path + ": " + name + ": "
		if of.DeadLetteringOnMessageExpiration == nil {
			d.say("%s topology.json has no such subscription, or not all of it", what)
			continue
		}
		d.same(what+"lock", is["lockDuration"], of.LockDuration)
		d.same(what+"deliveries", is["maxDeliveryCount"], of.MaxDeliveryCount)
		d.same(what+"time to live", is["defaultMessageTimeToLive"], of.DefaultMessageTimeToLive)
		d.same(what+"dead-lettering", is["deadLetteringOnMessageExpiration"], *of.DeadLetteringOnMessageExpiration)
		if is["requiresSession"] == true {
			d.say("%sit asks for sessions, of which nothing here knows", what)
		}
	}
}

// scaler compares what wakes a worker with what it takes from.
func (d *drift) scaler() {
	const id = "eu-7"
	subscription := message.WorkerSubscription(id)
	deploy, err := deployed(d.files, "infra/automation/worker/deploy.bicep", map[string]any{
		"bus": map[string]any{"outputs": map[string]any{"subscriptionName": subscription}}, "maxParallelism": int64(12),
	})
	if !d.must(err) {
		return
	}
	given := map[string]any{"namespaceName": "bus"}
	for _, name := range []string{"subscriptionName", "jobsPerReplica"} {
		if given[name], err = parameter(deploy, "app", name); !d.must(err) {
			return
		}
	}
	app, err := deployed(d.files, "infra/automation/worker/app.bicep", given)
	if !d.must(err) {
		return
	}
	scalers := 0
	for _, r := range app.File.Resources {
		bicep.Walk(r.Body, func(e bicep.Expression) bool {
			object, is := e.(*bicep.Object)
			if !is || object.Property("topicName") == nil {
				return true
			}
			scalers++
			if metadata, err := app.Of(object); d.must(err) {
				d.same("app.bicep: the scaler's topic", metadata, map[string]any{
					"namespace": "bus", "topicName": message.TopicWorkerJobs, "subscriptionName": subscription, "messageCount": "12",
				})
			}
			return false
		})
	}
	d.same("app.bicep: scalers", scalers, 1)
}

// container compares the container in Azure with the one that the store makes on one
// machine, and the account with what the handler relies on.
func (d *drift) container(v bicep.Values) {
	all, err := properties(v, "container")
	if !d.must(err) {
		return
	}
	of, _ := all[0]["resource"].(map[string]any)
	partition, _ := of["partitionKey"].(map[string]any)
	d.same("cosmos.bicep: partition key", partition["paths"], []string{cosmosstore.PartitionKeyPath})
	var policy map[string]any
	if d.must(json.Unmarshal(d.files["internal/store/cosmos/index-policy.json"].Data, &policy)) {
		d.same("cosmos.bicep: index policy", of["indexingPolicy"], policy)
	}
	if expires, is := of["defaultTtl"]; is {
		d.say("cosmos.bicep: documents expire after %v seconds", expires)
	}
	account, err := resource(v, "account")
	if !d.must(err) {
		return
	}
	settings, _ := account.Body.Value("properties").(*bicep.Object)
	consistency, _ := settings.Value("consistencyPolicy").(*bicep.Object)
	level, _ := bicep.Literal(consistency.Value("defaultConsistencyLevel"))
	d.same("cosmos.bicep: consistency", level, "Strong")
}

// packaged compares where the app's package is looked for with where it is put.
func (d *drift) packaged() {
	const url = "https://matoolkittestst.blob.core.windows.net/deployments"
	v, err := deployed(d.files, "infra/automation/functions/deploy.bicep", map[string]any{
		"storage": map[string]any{"outputs": map[string]any{"deploymentContainerUrl": url, "deploymentContainer": "deployments"}},
	})
	if !d.must(err) {
		return
	}
	given, err := parameter(v, "app", "deploymentContainerUrl")
	if d.must(err) {
		d.same("deploy.bicep: where the package is", given, url)
	}
}
