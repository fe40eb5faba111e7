package system

import (
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/local/servicebus/filter"
	"github.com/matoolkit/matoolkit/local/servicebus/topology"
)

// topology returns the configured topology with a subscription for every worker:
// it derives a missing one from the first of its topic.
func (s *System) topology() (servicebus.Topology, error) {
	t := servicebus.DefaultTopology()
	if len(s.config.Topology) > 0 {
		var err error
		if t, err = servicebus.ParseTopology(s.config.Topology); err != nil {
			return t, fmt.Errorf("topology: %w", err)
		}
	}
	for _, name := range []string{message.TopicWorkerJobs, message.TopicWorkerControl} {
		at := slices.IndexFunc(t.Topics, func(topic topology.Topic) bool { return topic.Name == name })
		if at < 0 || len(t.Topics[at].Subscriptions) == 0 {
			return t, fmt.Errorf("topology: there is no topic %s with a subscription", name)
		}
		for _, id := range s.config.Workers {
			if err := subscribe(&t.Topics[at], id); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// subscribe gives a worker its subscription of a topic, unless it has one: of its own jobs
// and of all controls.
func subscribe(topic *topology.Topic, id string) error {
	name := message.WorkerSubscription(id)
	if slices.ContainsFunc(topic.Subscriptions, func(sub topology.Subscription) bool { return strings.EqualFold(sub.Name, name) }) {
		return nil
	}
	rule := topology.Rule{Name: "$Default", Filter: filter.True{}}
	if topic.Name == message.TopicWorkerJobs {
		own, err := filter.Parse(fmt.Sprintf("%s = '%s'", message.PropertyWorkerID, strings.ReplaceAll(id, "'", "''")))
		if err != nil {
			return fmt.Errorf("worker %q: %w", id, err)
		}
		rule = topology.Rule{Name: "worker-id", Filter: own}
	}
	topic.Subscriptions = append(topic.Subscriptions, topology.Subscription{
		Name: name, Rules: []topology.Rule{rule}, Delivery: topic.Subscriptions[0].Delivery,
	})
	return nil
}
