package infra_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra"
	"github.com/matoolkit/matoolkit/internal/message"
)

type delivery struct {
	LockDuration, DefaultMessageTimeToLive string
	MaxDeliveryCount                       int
	DeadLetteringOnMessageExpiration       *bool
}

type subscription struct {
	Name       string
	Properties delivery
	Rules      []struct {
		Name       string
		Properties struct {
			FilterType string
			SqlFilter  struct{ SqlExpression string }
		}
	}
}

type topic struct {
	Name       string
	Properties struct {
		DefaultMessageTimeToLive, DuplicateDetectionHistoryTimeWindow string
		RequiresDuplicateDetection                                    *bool
	}
	Subscriptions []subscription
}

// TestTopologyIsComplete: the local broker has defaults for what Bicep reads from the file,
// and the subscription of one worker is the pattern for all.
func TestTopologyIsComplete(t *testing.T) {
	t.Parallel()
	var file struct {
		UserConfig struct {
			Namespaces []struct{ Topics []topic }
		}
	}
	if err := json.Unmarshal(infra.Topology, &file); err != nil {
		t.Fatalf("Bicep takes no comments in JSON: %v", err)
	}
	if n := len(file.UserConfig.Namespaces); n != 1 {
		t.Fatalf("%d namespaces", n)
	}
	topics := file.UserConfig.Namespaces[0].Topics
	for _, topic := range topics {
		if p := topic.Properties; p.DuplicateDetectionHistoryTimeWindow != "PT10M" || p.RequiresDuplicateDetection == nil || !*p.RequiresDuplicateDetection {
			t.Errorf("topic %s: %+v", topic.Name, p)
		}
		for _, s := range topic.Subscriptions {
			// An event is delivered until an outage of days is over; a control is not.
			deliveries, life, lock := 2000, "P7D", "PT15S"
			switch topic.Name {
			case message.TopicWorkerControl:
				deliveries, life, lock = 10, "P14D", "PT1M"
			case message.TopicWorkerJobs: // longer than message.ControlMaxAge
				lock = "PT30S"
			}
			if p := s.Properties; p.LockDuration != lock || p.DeadLetteringOnMessageExpiration == nil || p.MaxDeliveryCount != deliveries || p.DefaultMessageTimeToLive != life || topic.Properties.DefaultMessageTimeToLive != life {
				t.Errorf("%s/%s: %+v", topic.Name, s.Name, p)
			}
		}
	}
	at := slices.IndexFunc(topics, func(topic topic) bool { return topic.Name == message.TopicWorkerJobs })
	if at < 0 || len(topics[at].Subscriptions) != 1 {
		t.Fatalf("%s has to have one subscription", message.TopicWorkerJobs)
	}
	const id = "worker-01"
	pattern := topics[at].Subscriptions[0]
	if pattern.Name != message.WorkerSubscription(id) {
		t.Errorf("the subscription of a worker is %s", pattern.Name)
	}
	if len(pattern.Rules) != 1 {
		t.Fatalf("%d rules", len(pattern.Rules))
	}
	// Azure takes the rule that a new subscription has away when another comes, but not
	// when one of its own name does.
	if rule := pattern.Rules[0]; rule.Name == "" || rule.Name == "$Default" || rule.Properties.FilterType != "Sql" ||
		strings.ReplaceAll(rule.Properties.SqlFilter.SqlExpression, id, "eu") != message.PropertyWorkerID+" = 'eu'" {
		t.Errorf("rule %+v", rule)
	}

	// Controls come to every worker: no rule. They outlive the jobs that they revoke, also
	// those that are sent late: an event is redelivered for as long as a job lives.
	at = slices.IndexFunc(topics, func(topic topic) bool { return topic.Name == message.TopicWorkerControl })
	if at < 0 || len(topics[at].Subscriptions) != 1 {
		t.Fatalf("%s has to have one subscription", message.TopicWorkerControl)
	}
	if s := topics[at].Subscriptions[0]; s.Name != message.WorkerSubscription(id) || len(s.Rules) != 0 ||
		*s.Properties.DeadLetteringOnMessageExpiration || s.Properties.DefaultMessageTimeToLive != "P14D" || pattern.Properties.DefaultMessageTimeToLive != "P7D" {
		t.Errorf("subscription of controls: %+v", s)
	}
}
