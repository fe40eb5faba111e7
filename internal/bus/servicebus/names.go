package servicebus

import (
	"regexp"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/env"
	"github.com/matoolkit/matoolkit/internal/message"
)

// Environment variables of all programs that use the namespace. The triggers of the Functions
// app refer to the first, the fourth and the fifth.
const (
	envEventsTopic  = "ORCHESTRATOR_EVENTS_TOPIC"  // topic of the orchestrator's own messages
	envJobsTopic    = "WORKER_JOBS_TOPIC"          // topic of jobs
	envControlTopic = "WORKER_CONTROL_TOPIC"       // topic of revocations of jobs
	envResultsTopic = "WORKER_RESULTS_TOPIC"       // topic of results, heartbeats and announcements
	envSubscription = "ORCHESTRATOR_SUBSCRIPTION"  // subscription of the handler in the topics of events and of results
	envWorkerPrefix = "WORKER_SUBSCRIPTION_PREFIX" // beginning of the subscriptions of a worker in the topics of jobs and of revocations; its id follows
)

// Variables are the settings of Names.
var Variables = []string{envEventsTopic, envJobsTopic, envControlTopic, envResultsTopic, envSubscription, envWorkerPrefix}

// TriggerVariables are those that the triggers of the Functions app refer to.
var TriggerVariables = []string{envEventsTopic, envResultsTopic, envSubscription}

// Names are the names of topics and subscriptions in a namespace. A Client translates the
// names of package message, by which the programs, the stored documents and the API know
// them. The zero value has the same names there.
type Names struct {
	events, jobs, control, results string
	orchestrator                   string // subscription of events and of results
	workerPrefix                   string // of the subscriptions of jobs and controls
}

const (
	maxTopic        = 260
	maxSubscription = 50
	maxWorkerID     = 43 // of message.ValidWorkerID
)

var (
	entityForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	prefixForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// ReadNames reads the settings, whose defaults are the names of package message.
func ReadNames(r *env.Reader) Names {
	n := Names{
		events:       r.Or(envEventsTopic, message.TopicOrchestratorEvents),
		jobs:         r.Or(envJobsTopic, message.TopicWorkerJobs),
		control:      r.Or(envControlTopic, message.TopicWorkerControl),
		results:      r.Or(envResultsTopic, message.TopicWorkerResults),
		orchestrator: r.Or(envSubscription, message.SubscriptionOrchestrator),
		workerPrefix: r.Or(envWorkerPrefix, message.WorkerSubscriptionPrefix),
	}
	topics := []struct{ variable, name string }{{envEventsTopic, n.events}, {envJobsTopic, n.jobs}, {envControlTopic, n.control}, {envResultsTopic, n.results}}
	for i, topic := range topics {
		if !entityForm.MatchString(topic.name) || len(topic.name) > maxTopic {
			r.Wrong(topic.variable, "invalid topic name %q: use letters, digits, '.', '-' and '_', with a letter or digit at both ends, at most %d", topic.name, maxTopic)
		}
		for _, other := range topics[:i] {
			if strings.EqualFold(other.name, topic.name) {
				r.Problem("%s and %s are both %q: give each topic its own name", other.variable, topic.variable, topic.name)
			}
		}
	}
	if !entityForm.MatchString(n.orchestrator) || len(n.orchestrator) > maxSubscription {
		r.Wrong(envSubscription, "invalid subscription name %q: use letters, digits, '.', '-' and '_', with a letter or digit at both ends, at most %d", n.orchestrator, maxSubscription)
	}
	if limit := maxSubscription - maxWorkerID; !prefixForm.MatchString(n.workerPrefix) || len(n.workerPrefix) > limit {
		r.Wrong(envWorkerPrefix, "invalid prefix %q: use letters, digits, '.', '-' and '_', beginning with a letter or digit, at most %d, since ids of workers have up to %d characters and names of subscriptions %d",
			n.workerPrefix, limit, maxWorkerID, maxSubscription)
	}
	return n
}

// Settings returns the variables with which ReadNames returns n.
func (n Names) Settings() map[string]string {
	n = n.filled()
	return map[string]string{
		envEventsTopic: n.events, envJobsTopic: n.jobs, envControlTopic: n.control, envResultsTopic: n.results,
		envSubscription: n.orchestrator, envWorkerPrefix: n.workerPrefix,
	}
}

// DefaultNames are those without any setting.
func DefaultNames() Names { return ReadNames(env.New(func(string) string { return "" })) }

// filled returns n, or the defaults if n is the zero value.
func (n Names) filled() Names {
	if n == (Names{}) {
		return DefaultNames()
	}
	return n
}

// Topic returns the name of a topic in the namespace. A topic that package message does not
// know keeps its name.
func (n Names) Topic(topic string) string {
	n = n.filled()
	for known, name := range map[string]string{
		message.TopicOrchestratorEvents: n.events, message.TopicWorkerJobs: n.jobs,
		message.TopicWorkerControl: n.control, message.TopicWorkerResults: n.results,
	} {
		if strings.EqualFold(topic, known) {
			return name
		}
	}
	return topic
}

// Subscription returns the name of a subscription in the namespace: of the orchestrator or a
// worker. Any other keeps its name.
func (n Names) Subscription(topic, subscription string) string {
	n = n.filled()
	is := func(topics ...string) bool {
		return slices.ContainsFunc(topics, func(t string) bool { return strings.EqualFold(t, topic) })
	}
	switch {
	case is(message.TopicOrchestratorEvents, message.TopicWorkerResults) && strings.EqualFold(subscription, message.SubscriptionOrchestrator):
		return n.orchestrator
	case is(message.TopicWorkerJobs, message.TopicWorkerControl):
		if id, ok := strings.CutPrefix(subscription, message.WorkerSubscriptionPrefix); ok {
			return n.workerPrefix + id
		}
	}
	return subscription
}
