package servicebus_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus/bustest"
	"github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/env"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	local "github.com/matoolkit/matoolkit/local/servicebus"
)

// others are names that exchange two of the defaults.
var others = map[string]string{
	"ORCHESTRATOR_EVENTS_TOPIC": "worker-results", "WORKER_RESULTS_TOPIC": "Migration.Results", "WORKER_JOBS_TOPIC": "jobs", "WORKER_CONTROL_TOPIC": "worker-jobs",
	"ORCHESTRATOR_SUBSCRIPTION": "engine", "WORKER_SUBSCRIPTION_PREFIX": "w",
}

func readNames(t *testing.T, settings map[string]string) servicebus.Names {
	t.Helper()
	r := env.New(func(name string) string { return settings[name] })
	names := servicebus.ReadNames(r)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestConformanceWithOtherNames(t *testing.T) {
	t.Parallel()
	names := readNames(t, others)
	bustest.Run(t, func(t *testing.T) bustest.Namespace {
		t.Helper()
		topology := local.DefaultTopology()
		for i := range topology.Topics {
			topic := &topology.Topics[i]
			for j := range topic.Subscriptions {
				topic.Subscriptions[j].Name = names.Subscription(topic.Name, topic.Subscriptions[j].Name)
			}
			topic.Name = names.Topic(topic.Name)
		}
		clock := testenv.NewClock()
		server := start(t, local.Config{Addr: "127.0.0.1:0", Topology: topology, Key: "SAS_KEY_VALUE", Now: clock.Now})
		client := dial(t, servicebus.Config{ConnectionString: server.ConnectionString(), Names: names})
		return bustest.Namespace{
			Client: client, Topic: names.Topic, Now: clock.Now, Quiet: 100 * time.Millisecond,
			Advance: func(d time.Duration) { clock.Advance(d); server.Tick() },
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	if got := servicebus.DefaultNames().Settings(); !maps.Equal(got, map[string]string{
		"ORCHESTRATOR_EVENTS_TOPIC": "orchestrator-events", "WORKER_JOBS_TOPIC": "worker-jobs", "WORKER_CONTROL_TOPIC": "worker-control", "WORKER_RESULTS_TOPIC": "worker-results",
		"ORCHESTRATOR_SUBSCRIPTION": "orchestrator", "WORKER_SUBSCRIPTION_PREFIX": "worker-",
	}) {
		t.Errorf("defaults %v", got)
	}
	names := readNames(t, others)
	if got := names.Settings(); !maps.Equal(got, others) {
		t.Errorf("settings %v", got)
	}
	for _, c := range [][3]string{
		{message.TopicWorkerJobs, message.WorkerSubscription("EU-7"), "jobs/wEU-7"},
		{message.TopicWorkerControl, message.WorkerSubscription("EU-7"), "worker-jobs/wEU-7"},
		{message.TopicWorkerResults, message.SubscriptionOrchestrator, "Migration.Results/engine"},
		{message.TopicWorkerResults, "worker-audit", "Migration.Results/worker-audit"},
		{"own", "orchestrator", "own/orchestrator"},
	} {
		if got := names.Topic(c[0]) + "/" + names.Subscription(c[0], c[1]); got != c[2] {
			t.Errorf("%s/%s is %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestNamesThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ variable, value, want string }{
		{"WORKER_JOBS_TOPIC", "a b", `WORKER_JOBS_TOPIC: invalid topic name "a b": use letters, digits, '.', '-' and '_', with a letter or digit at both ends, at most 260`},
		{"WORKER_JOBS_TOPIC", "jobs-", `invalid topic name "jobs-"`},
		{"WORKER_JOBS_TOPIC", strings.Repeat("a", 261), "at most 260"},
		{"WORKER_CONTROL_TOPIC", "ORCHESTRATOR-EVENTS", `ORCHESTRATOR_EVENTS_TOPIC and WORKER_CONTROL_TOPIC are both "ORCHESTRATOR-EVENTS": give each topic its own name`},
		{"ORCHESTRATOR_SUBSCRIPTION", strings.Repeat("a", 51), "ORCHESTRATOR_SUBSCRIPTION: invalid subscription name"},
		{"ORCHESTRATOR_SUBSCRIPTION", "a/b", `invalid subscription name "a/b"`},
		{"WORKER_SUBSCRIPTION_PREFIX", "-w", `WORKER_SUBSCRIPTION_PREFIX: invalid prefix "-w"`},
		{"WORKER_SUBSCRIPTION_PREFIX", "migrator", "at most 7, since ids of workers have up to 43 characters and names of subscriptions 50"},
	} {
		r := env.New(func(name string) string { return map[string]string{c.variable: c.value}[name] })
		servicebus.ReadNames(r)
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), ";") {
			t.Errorf("%s=%s: %v, want %q", c.variable, c.value, err, c.want)
		}
	}
}
