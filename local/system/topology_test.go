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
	own := infra.Topology
	if _, err := At(Config{Topology: own}).topology(); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]string{
		"what cannot be read":       `{"UserConfig":`,
		"nothing for the worker":    `{"UserConfig":{"Namespaces":[{"Name":"n","Topics":[]}]}}`,
		"no controls":               strings.Replace(string(own), `"worker-control"`, `"worker-controls"`, 1),
		"a field that is not known": strings.Replace(string(own), `"MaxDeliveryCount"`, `"MaximumDeliveries"`, 1),
	} {
		if _, err := At(Config{Topology: []byte(config)}).topology(); err == nil || !strings.Contains(err.Error(), "topology") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
