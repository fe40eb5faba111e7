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

// topology returns the configured topology. A system with a host gets the topics of the
// product as well, and a topic of jobs or controls gets a subscription for every worker.
func (s *System) topology() (servicebus.Topology, error) {
	product := s.product()
	t := product
	if len(s.config.Topology) > 0 {
		var err error
		if t, err = servicebus.ParseTopology(s.config.Topology); err != nil {
			return t, fmt.Errorf("topology: %w", err)
		}
		if len(s.config.Parts) == 0 || slices.Contains(s.config.Parts, Host) {
			if err := s.addTopics(&t, product); err != nil {
				return t, err
			}
		}
	}
	for _, known := range []string{message.TopicWorkerJobs, message.TopicWorkerControl} {
		name := s.names.Topic(known)
		topic := findTopic(&t, name)
		if topic == nil {
			continue
		}
		for _, id := range s.config.Workers {
			if err := s.subscribe(topic, known, id, findTopic(&product, name).Subscriptions[0].Delivery); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

// product returns the topics of the product, by the names in the settings.
func (s *System) product() servicebus.Topology {
	t := servicebus.DefaultTopology()
	for i := range t.Topics {
		topic := &t.Topics[i]
		for j := range topic.Subscriptions {
			sub := &topic.Subscriptions[j]
			sub.Name = s.names.Subscription(topic.Name, sub.Name)
		}
		topic.Name = s.names.Topic(topic.Name)
	}
	return t
}

// findTopic returns nil where there is no such topic.
func findTopic(t *servicebus.Topology, name string) *topology.Topic {
	at := slices.IndexFunc(t.Topics, func(topic topology.Topic) bool { return strings.EqualFold(topic.Name, name) })
	if at < 0 {
		return nil
	}
	return &t.Topics[at]
}

// addTopics adds the topics of the product that t lacks, and their subscriptions but those
// of workers, which subscribe adds.
func (s *System) addTopics(t *servicebus.Topology, product servicebus.Topology) error {
	for _, needed := range product.Topics {
		if slices.ContainsFunc(t.Queues, func(q topology.Queue) bool { return strings.EqualFold(q.Name, needed.Name) }) {
			return fmt.Errorf("topology: %s is a queue, and the Functions host needs a topic of this name: rename the queue, or start without the part %s", needed.Name, Host)
		}
		topic := findTopic(t, needed.Name)
		if topic == nil {
			t.Topics = append(t.Topics, needed)
			continue
		}
		if needed.Name == s.names.Topic(message.TopicWorkerJobs) || needed.Name == s.names.Topic(message.TopicWorkerControl) {
			continue
		}
		for _, sub := range needed.Subscriptions {
			if !subscribed(topic, sub.Name) {
				topic.Subscriptions = append(topic.Subscriptions, sub)
			}
		}
	}
	return nil
}

func subscribed(topic *topology.Topic, name string) bool {
	return slices.ContainsFunc(topic.Subscriptions, func(sub topology.Subscription) bool { return strings.EqualFold(sub.Name, name) })
}

// subscribe gives a worker its subscription of a topic, unless it has one: of its own jobs
// and of all controls. It has the settings of the topic's first subscription, or otherwise
// the given ones. known is the name of the topic in package message.
func (s *System) subscribe(topic *topology.Topic, known, id string, otherwise topology.Delivery) error {
	name := s.names.Subscription(known, message.WorkerSubscription(id))
	if subscribed(topic, name) {
		return nil
	}
	rule := topology.Rule{Name: "$Default", Filter: filter.True{}}
	if known == message.TopicWorkerJobs {
		own, err := filter.Parse(fmt.Sprintf("%s = '%s'", message.PropertyWorkerID, strings.ReplaceAll(id, "'", "''")))
		if err != nil {
			return fmt.Errorf("worker %q: %w", id, err)
		}
		rule = topology.Rule{Name: "worker-id", Filter: own}
	}
	delivery := otherwise
	if len(topic.Subscriptions) > 0 {
		delivery = topic.Subscriptions[0].Delivery
	}
	topic.Subscriptions = append(topic.Subscriptions, topology.Subscription{Name: name, Rules: []topology.Rule{rule}, Delivery: delivery})
	return nil
}
