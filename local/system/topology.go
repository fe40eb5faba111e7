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

// topology is what the configuration says, with a subscription for every worker:
// one that it lacks is made like the first of the topic.
func (s *System) topology() (servicebus.Topology, error) {
	t := servicebus.DefaultTopology()
	if len(s.config.Topology) > 0 {
		var err error
		if t, err = servicebus.ParseTopology(s.config.Topology); err != nil {
			return t, fmt.Errorf("topology: %w", err)
		}
	}
	at := slices.IndexFunc(t.Topics, func(topic topology.Topic) bool { return topic.Name == message.TopicWorkerJobs })
	if at < 0 || len(t.Topics[at].Subscriptions) == 0 {
		return t, fmt.Errorf("topology: there is no topic %s with a subscription", message.TopicWorkerJobs)
	}
	jobs := &t.Topics[at]
	for _, id := range s.config.Workers {
		name := message.WorkerSubscription(id)
		if slices.ContainsFunc(jobs.Subscriptions, func(sub topology.Subscription) bool { return strings.EqualFold(sub.Name, name) }) {
			continue
		}
		own, err := filter.Parse(fmt.Sprintf("%s = '%s'", message.PropertyWorkerID, strings.ReplaceAll(id, "'", "''")))
		if err != nil {
			return t, fmt.Errorf("worker %q: %w", id, err)
		}
		jobs.Subscriptions = append(jobs.Subscriptions, topology.Subscription{
			Name: name, Rules: []topology.Rule{{Name: "worker-id", Filter: own}}, Delivery: jobs.Subscriptions[0].Delivery,
		})
	}
	return t, nil
}
