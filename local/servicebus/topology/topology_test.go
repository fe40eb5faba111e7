package topology

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

// namespace wraps the content of a namespace.
func namespace(content string) []byte {
	return []byte(`{"UserConfig":{"Namespaces":[{"Name":"n",` + content + `}],"Logging":{"Type":"File"}}} // end`)
}

func TestParse(t *testing.T) {
	t.Parallel()
	got := testenv.Must(Parse(namespace(`
		"Queues": [{"Name": "q", "Properties": {"LockDuration": "PT30S", "MaxDeliveryCount": 3, "DefaultMessageTimeToLive": "PT1H",
			"DeadLetteringOnMessageExpiration": true, "RequiresDuplicateDetection": true, "DuplicateDetectionHistoryTimeWindow": "PT20S",
			"RequiresSession": false, "ForwardTo": "", "ForwardDeadLetteredMessagesTo": ""}}],
		// a comment
		"Topics": [{"Name": "t", "Properties": {"DefaultMessageTimeToLive": "P10675199DT2H48M5.4775807S"}, "Subscriptions": [
			{"Name": "s", "Rules": [{"Name": "r", "Properties": {"FilterType": "sql", "SqlFilter": {"SqlExpression": "a = 1"}}}]},
			{"Name": "d"}]}],`)))(t)
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

// The official emulator takes all of this. An unsupported property is a warning that names
// the place.
func TestEveryFileOfTheEmulatorIsAccepted(t *testing.T) {
	t.Parallel()
	subscription := func(properties string) string {
		return `"Queues":[],"Topics":[{"Name":"t","Properties":{},"Subscriptions":[{"Name":"s",` + properties + `}]}]`
	}
	queue := func(properties string) string {
		return `"Queues":[{"Name":"q","Properties":{` + properties + `}}],"Topics":[]`
	}
	for content, warning := range map[string]string{
		`"Queues":[],"Topics":[]`:                             "",
		`"Queues":[{"Name":"a/b_c.d-e"}],"Topics":[]`:         "",
		queue(`"DefaultMessageTimeToLive":"P1Y2M3DT4H5M6S"`):  "",
		queue(`"Comment":1`):                                  `unknown field "Comment"`,
		queue(`"RequiresSession":true`):                       `Queues[0] "q": the local Service Bus does not support sessions`,
		queue(`"ForwardTo":"x"`):                              `Queues[0] "q": the local Service Bus does not support forwarding`,
		queue(`"ForwardDeadLetteredMessagesTo":"x"`):          `Queues[0] "q": the local Service Bus does not support forwarding of dead letters`,
		subscription(`"Properties":{"RequiresSession":true}`): `Topics[0] "t".Subscriptions[0] "s": the local Service Bus does not support sessions`,
		subscription(`"Rules":[{"Name":"r","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"a = 1"},"Action":{"SqlExpression":"SET sys.TimeToLive = 'x'"}}}]`): `"s": the local Service Bus does not support a rule (Action "SET sys.TimeToLive`,
		subscription(`"Rules":[{"Name":"r","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"newid() = a"}}}]`):                                                 `"s": the local Service Bus does not support a rule (SqlExpression "newid() = a": position 1: the function newid`,
		subscription(`"Rules":[{"Name":"r","Properties":{"FilterType":"Correlation","CorrelationFilter":{"Label":"a"},"SqlFilter":{"SqlExpression":"not read"}}}]`):          "",
	} {
		got, err := Parse(append([]byte("\ufeff"), namespace(content)...))
		if err != nil {
			t.Errorf("%s: %v", content, err)
			continue
		}
		if warnings := strings.Join(got.Warnings, "|"); (warnings == "") != (warning == "") || !strings.Contains(warnings, warning) {
			t.Errorf("%s: warnings %q, want %q", content, warnings, warning)
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
		queue(`"LockDuration":"1m"`):    "not an ISO 8601 duration",
		queue(`"LockDuration":"-PT1S"`): "not a positive duration",
		queue(`"LockDuration":"PT6M"`):  `Queues[0] "q": LockDuration`,
		queue(`"MaxDeliveryCount":0`):   `Queues[0] "q": MaxDeliveryCount`,
		queue(`"RequiresDuplicateDetection":true,"DuplicateDetectionHistoryTimeWindow":"P8D"`): "at most P7D",
		`"Queues":[{"Name":""}]`:                                                        "Name",
		`"Queues":[{"Name":"a b"}]`:                                                     `Queues[0] "a b": Name`,
		`"Queues":[{"Name":"a"},{"Name":"A"}]`:                                          "Name: is taken",
		`"Queues":[{"Name":"a"}],"Topics":[{"Name":"a"}]`:                               `Topics[0] "a": Name: is taken`,
		rule(`"FilterType":"Sql","SqlFilter":{"SqlExpression":"a ="}`):                  `Topics[0] "t".Subscriptions[0] "s".Rules[0] "r": SqlExpression "a =": position 4`,
		rule(`"FilterType":"Sql"`):                                                      `FilterType "Sql"`,
		rule(`"FilterType":"Magic","SqlFilter":{"SqlExpression":"1=1"}`):                `FilterType "Magic"`,
		rule(`"FilterType":"Correlation","CorrelationFilter":{}`):                       "has no condition",
		rule(`"FilterType":"Correlation","CorrelationFilter":{"Properties":{"a":[1]}}`): "CorrelationFilter.Properties.a",
	} {
		if _, err := Parse(namespace(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v does not tell %q", content, err, want)
		}
	}
	for config, want := range map[string]string{
		`{"UserConfig":{"Namespaces":[]}}`: "has 0 entries",
		`{"UserConfig":`:                   "",
		`{} {}`:                            "",
	} {
		if _, err := Parse([]byte(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", config, err)
		}
	}
}
