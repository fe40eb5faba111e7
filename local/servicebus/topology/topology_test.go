package topology

import (
	"strings"
	"testing"
	"time"
)

// namespace wraps the content of a namespace.
func namespace(content string) []byte {
	return []byte(`{"UserConfig":{"Namespaces":[{"Name":"n",` + content + `}],"Logging":{"Type":"File"}}} // end`)
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := Parse(namespace(`
		"Queues": [{"Name": "q", "Properties": {"LockDuration": "PT30S", "MaxDeliveryCount": 3, "DefaultMessageTimeToLive": "PT1H",
			"DeadLetteringOnMessageExpiration": true, "RequiresDuplicateDetection": true, "DuplicateDetectionHistoryTimeWindow": "PT20S",
			"RequiresSession": false, "ForwardTo": "", "ForwardDeadLetteredMessagesTo": ""}}],
		// a comment
		"Topics": [{"Name": "t", "Properties": {"DefaultMessageTimeToLive": "P10675199DT2H48M5.4775807S"}, "Subscriptions": [
			{"Name": "s", "Rules": [{"Name": "r", "Properties": {"FilterType": "sql", "SqlFilter": {"SqlExpression": "a = 1"}}}]},
			{"Name": "d"}]}],`))
	if err != nil {
		t.Fatal(err)
	}
	q := got.Queues[0]
	if q.Name != "q" || q.LockDuration != 30*time.Second || q.MaxDeliveryCount != 3 || q.TimeToLive != time.Hour || !q.DeadLetterOnExpiration || q.DuplicateWindow != 20*time.Second {
		t.Errorf("queue %+v", q)
	}
	topic := got.Topics[0]
	if topic.TimeToLive != 0 || topic.DuplicateWindow != 0 || len(topic.Subscriptions) != 2 {
		t.Errorf("topic %+v", topic)
	}
	for _, s := range topic.Subscriptions {
		if s.LockDuration != time.Minute || s.MaxDeliveryCount != 10 || len(s.Rules) != 1 {
			t.Errorf("subscription %+v", s)
		}
	}
}

func TestWhatCannotBeDoneIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	queue := func(properties string) string { return `"Queues":[{"Name":"q","Properties":{` + properties + `}}]` }
	rule := func(properties string) string {
		return `"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[{"Name":"r","Properties":{` + properties + `}}]}]}]`
	}
	for content, want := range map[string]string{
		queue(`"Unknown":1`):                         `unknown field "Unknown"`,
		queue(`"LockDuration":"1m"`):                 "not an ISO 8601 duration",
		queue(`"LockDuration":"P1M"`):                "no fixed length",
		queue(`"LockDuration":"-PT1S"`):              "not a positive duration",
		queue(`"LockDuration":"PT6M"`):               `Queues[0] "q": LockDuration`,
		queue(`"MaxDeliveryCount":0`):                `Queues[0] "q": MaxDeliveryCount`,
		queue(`"RequiresSession":true`):              "sessions are not supported",
		queue(`"ForwardTo":"x"`):                     "forwarding is not supported",
		queue(`"ForwardDeadLetteredMessagesTo":"x"`): "forwarding is not supported",
		queue(`"RequiresDuplicateDetection":true,"DuplicateDetectionHistoryTimeWindow":"P8D"`): "at most P7D",
		`"Queues":[{"Name":""}]`:                                                                              "Name",
		`"Queues":[{"Name":"a/b"}]`:                                                                           `Queues[0] "a/b": Name`,
		`"Queues":[{"Name":"a"},{"Name":"A"}]`:                                                                "Name: is taken",
		`"Queues":[{"Name":"a"}],"Topics":[{"Name":"a"}]`:                                                     `Topics[0] "a": Name: is taken`,
		rule(`"FilterType":"Sql","SqlFilter":{"SqlExpression":"a ="}`):                                        `Topics[0] "t".Subscriptions[0] "s".Rules[0] "r": SqlExpression "a =": position 4`,
		rule(`"FilterType":"Sql"`):                                                                            `FilterType "Sql"`,
		rule(`"FilterType":"Magic","SqlFilter":{"SqlExpression":"1=1"}`):                                      `FilterType "Magic"`,
		rule(`"FilterType":"Correlation","CorrelationFilter":{}`):                                             "has no condition",
		rule(`"FilterType":"Correlation","CorrelationFilter":{"Properties":{"a":[1]}}`):                       "CorrelationFilter.Properties.a",
		rule(`"FilterType":"Sql","SqlFilter":{"SqlExpression":"1=1"},"Action":{"SqlExpression":"SET a = 1"}`): "rule actions are not supported",
	} {
		if _, err := Parse(namespace(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v does not tell %q", content, err, want)
		}
	}
	for config, want := range map[string]string{
		`{"UserConfig":{"Namespaces":[]}}`: "has 0 entries",
		`{"UserConfig":`:                   "",
		`{} {}`:                            "",
		`{"Other":1}`:                      `unknown field "Other"`,
	} {
		if _, err := Parse([]byte(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", config, err)
		}
	}
}
