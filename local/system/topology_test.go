package system

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra"
)

func TestEveryWorkerHasASubscription(t *testing.T) {
	t.Parallel()
	topology, err := At(Config{Workers: []string{"worker-01", "eu's"}}).topology()
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct{ topic, rules string }{{"worker-jobs", "worker-id"}, {"worker-control", "$Default"}} {
		var names, rules []string
		for _, topic := range topology.Topics {
			if topic.Name == of.topic {
				for _, s := range topic.Subscriptions {
					names = append(names, s.Name)
					rules = append(rules, s.Rules[0].Name)
				}
			}
		}
		if got := strings.Join(names, " "); got != "worker-worker-01 worker-eu's" || strings.Join(rules, " ") != of.rules+" "+of.rules {
			t.Errorf("subscriptions of %s: %s with %s", of.topic, got, rules)
		}
	}
}

func TestTopologyOfOnesOwn(t *testing.T) {
	t.Parallel()
	if _, err := At(Config{Topology: infra.Topology}).topology(); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]string{
		"what cannot be read":        `{"UserConfig":`,
		"a queue in a topic's place": `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"Worker-Jobs"}],"Topics":[]}]}}`,
	} {
		if _, err := At(Config{Topology: []byte(config)}).topology(); err == nil || !strings.Contains(err.Error(), "topology") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file of the emulator need not have the product's topics: a host gets them, and without
// a host nothing is added.
func TestTopicsOfTheProductAreAddedForAHost(t *testing.T) {
	t.Parallel()
	const config = `{"UserConfig":{"Namespaces":[{"Name":"sbemulatorns","Queues":[{"Name":"own"}],"Topics":[
		{"Name":"Orchestrator-Events","Subscriptions":[{"Name":"audit"}]}]}],"Logging":{"Type":"File"}}}`
	for _, c := range []struct {
		parts []Part
		want  string
	}{
		{[]Part{ServiceBus}, "own; Orchestrator-Events: audit"},
		{
			[]Part{ServiceBus, Host},
			"own; Orchestrator-Events: audit orchestrator; worker-jobs: worker-worker-01; worker-control: worker-worker-01; worker-results: orchestrator",
		},
	} {
		got, err := At(Config{Topology: []byte(config), Parts: c.parts}).topology()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, q := range got.Queues {
			all = append(all, q.Name)
		}
		for _, topic := range got.Topics {
			text := topic.Name + ":"
			for _, sub := range topic.Subscriptions {
				text += " " + sub.Name
			}
			all = append(all, text)
		}
		if text := strings.Join(all, "; "); text != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.parts, text, c.want)
		}
	}
}

func TestNamesInTheSettings(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"WORKER_JOBS_TOPIC": "jobs", "WORKER_CONTROL_TOPIC": "worker-jobs", "ORCHESTRATOR_SUBSCRIPTION": "engine", "WORKER_SUBSCRIPTION_PREFIX": "w"}
	s := At(Config{Workers: []string{"eu"}, Settings: settings})
	topology, err := s.topology()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, topic := range topology.Topics {
		for _, sub := range topic.Subscriptions {
			all = append(all, topic.Name+"/"+sub.Name+" "+sub.Rules[0].Name)
		}
	}
	if got, want := strings.Join(all, ", "), "orchestrator-events/engine $Default, jobs/wworker-01 worker-id, jobs/weu worker-id, worker-jobs/wworker-01 $Default, worker-jobs/weu $Default, worker-results/engine $Default"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, env := range map[string]map[string]string{"handler": s.HandlerEnv(), "worker": s.WorkerEnv()} {
		if env["WORKER_JOBS_TOPIC"] != "jobs" || env["WORKER_RESULTS_TOPIC"] != "worker-results" || strings.Contains(env["DATA_SOURCES"], ",") {
			t.Errorf("%s: %v", name, env)
		}
	}
	_, err = Start(t.Context(), Config{Settings: map[string]string{"WORKER_JOBS_TOPIC": "worker-results"}})
	if err == nil || !strings.Contains(err.Error(), "settings: WORKER_JOBS_TOPIC and WORKER_RESULTS_TOPIC are both") {
		t.Errorf("got %v", err)
	}
}
