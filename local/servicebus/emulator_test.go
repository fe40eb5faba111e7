package servicebus_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/sosodev/duration"

	"github.com/matoolkit/matoolkit/local/servicebus"
)

// emulatorSchema is what the official emulator's published schema demands of a
// Config.json, as far as a file of these tests is concerned. The formats are the bounds
// that the schema states in its descriptions.
const emulatorSchema = `{
  "$defs": {
    "name": {"type": "string", "pattern": "^[A-Za-z0-9]$|^[A-Za-z0-9][A-Za-z0-9_./-]*[A-Za-z0-9]$"},
    "ttl": {"type": "string", "format": "PT5M to PT1H"},
    "window": {"type": "string", "format": "PT5S to PT5M"},
    "delivery": {"type": "object", "properties": {
      "DeadLetteringOnMessageExpiration": {"type": "boolean"}, "RequiresSession": {"type": "boolean"},
      "DefaultMessageTimeToLive": {"$ref": "#/$defs/ttl"}, "MaxDeliveryCount": {"type": "integer", "minimum": 1, "maximum": 10}}},
    "text": {"type": "object", "required": ["SqlExpression"], "properties": {"SqlExpression": {"type": "string"}}}
  },
  "type": "object", "required": ["UserConfig"],
  "properties": {"UserConfig": {"type": "object", "required": ["Namespaces", "Logging"], "properties": {
    "Logging": {"type": "object", "required": ["Type"], "properties": {"Type": {"enum": ["File", "Console", "File,Console", "Console,File"]}}},
    "Namespaces": {"type": "array", "minItems": 1, "maxItems": 1, "items": {
      "type": "object", "required": ["Name", "Queues", "Topics"], "properties": {
        "Name": {"const": "sbemulatorns"},
        "Queues": {"type": "array", "maxItems": 50, "items": {"type": "object", "required": ["Name"], "properties": {
          "Name": {"$ref": "#/$defs/name"},
          "Properties": {"allOf": [{"$ref": "#/$defs/delivery"}], "properties": {
            "LockDuration": {"type": "string", "format": "PT5S to PT5M"}, "RequiresDuplicateDetection": {"type": "boolean"},
            "DuplicateDetectionHistoryTimeWindow": {"$ref": "#/$defs/window"}}}}}},
        "Topics": {"type": "array", "maxItems": 50, "items": {"type": "object", "required": ["Name", "Subscriptions"], "properties": {
          "Name": {"$ref": "#/$defs/name"},
          "Properties": {"type": "object", "properties": {
            "DefaultMessageTimeToLive": {"$ref": "#/$defs/ttl"}, "RequiresDuplicateDetection": {"type": "boolean"},
            "DuplicateDetectionHistoryTimeWindow": {"$ref": "#/$defs/window"}}},
          "Subscriptions": {"type": "array", "minItems": 1, "maxItems": 50, "items": {"type": "object", "required": ["Name"], "properties": {
            "Name": {"$ref": "#/$defs/name"},
            "Properties": {"allOf": [{"$ref": "#/$defs/delivery"}], "properties": {"LockDuration": {"type": "string", "format": "PT1M to PT5M"}}},
            "Rules": {"type": "array", "maxItems": 1000, "items": {"type": "object", "required": ["Name", "Properties"], "properties": {
              "Name": {"$ref": "#/$defs/name"},
              "Properties": {"type": "object", "required": ["FilterType"], "properties": {
                "FilterType": {"enum": ["Correlation", "Sql"]}, "SqlFilter": {"$ref": "#/$defs/text"}, "Action": {"$ref": "#/$defs/text"},
                "CorrelationFilter": {"type": "object", "minProperties": 1, "properties": {"Properties": {"type": "object", "minProperties": 1}}}}}}}}}}}}}}}}}}}}}`

// The topology of the conformance tests can be loaded into the official emulator.
func TestConformanceTopologyIsValidForTheEmulator(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(emulatorSchema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for _, bounds := range []string{"PT5M to PT1H", "PT5S to PT5M", "PT1M to PT5M"} {
		c.RegisterFormat(&jsonschema.Format{Name: bounds, Validate: func(v any) error {
			least, most, _ := strings.Cut(bounds, " to ")
			return within(t, v.(string), least, most)
		}})
	}
	if err := c.AddResource("emulator.json", schema); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile("testdata/conformance.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(config))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.MustCompile("emulator.json").Validate(v); err != nil {
		t.Error(err)
	}
}

func within(t *testing.T, text, least, most string) error {
	span := func(text string) time.Duration {
		d, err := duration.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			return 0
		}
		return d.ToTimeDuration()
	}
	if d := span(text); d < span(least) || d > span(most) {
		t.Errorf("%s is not from %s to %s", text, least, most)
	}
	return nil
}

// A rule with an action takes a changed copy of the message, beside the one that rules
// without an action take. The copies survive a restart.
func TestRuleActionsChangeACopy(t *testing.T) {
	t.Parallel()
	topology, err := servicebus.ParseTopology([]byte(`{"UserConfig":{"Namespaces":[{"Name":"sbemulatorns","Queues":[],
		"Topics":[{"Name":"topic","Properties":{"RequiresDuplicateDetection":true},"Subscriptions":[{"Name":"changes","Rules":[
			{"Name":"large","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"Size > 10"},
				"Action":{"SqlExpression":"SET sys.To = 'Entity'; SET Size = Size * 2; SET sys.MessageId = 'other'; REMOVE Region"}}},
			{"Name":"north","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"Region = 'north'"}}}]}]}]}],"Logging":{"Type":"File"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	start := func() *environment {
		server, err := servicebus.Start(t.Context(), servicebus.Config{Addr: "127.0.0.1:0", Topology: topology, Key: testKey, DataDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		e := &environment{t: t, ctx: t.Context(), server: server}
		e.connect(server.ConnectionString())
		return e
	}
	e := start()
	sent := func(region string, size int64) *azservicebus.Message {
		return &azservicebus.Message{Body: []byte(region), ApplicationProperties: map[string]any{"Region": region, "Size": size}}
	}
	e.send("topic", sent("north", 20), sent("south", 30), sent("south", 5))
	e.must(e.server.Close())
	e = start()
	e.send("topic", &azservicebus.Message{Body: []byte("north"), MessageID: ptr("other"), ApplicationProperties: map[string]any{"Region": "north"}})
	r := e.receiver("topic/changes", nil)
	var got []string
	for range 4 {
		m, err := r.ReceiveMessages(e.ctx, 1, nil)
		e.must(err)
		to := ""
		if m[0].To != nil {
			to = *m[0].To
		}
		got = append(got, fmt.Sprint(string(m[0].Body), " ", to, " ", m[0].ApplicationProperties["Size"], " ", m[0].ApplicationProperties["Region"]))
		e.must(r.CompleteMessage(e.ctx, m[0], nil))
	}
	want := []string{"north Entity 40 <nil>", "north  20 north", "south Entity 60 <nil>", "north  <nil> north"}
	if !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
	e.none(r)
}

// An entity with an unsupported property exists and refuses senders and receivers.
func TestEntitiesThatAreNotSupportedRefuseTheirLinks(t *testing.T) {
	t.Parallel()
	topology, err := servicebus.ParseTopology([]byte(`{"UserConfig":{"Namespaces":[{"Name":"sbemulatorns",
		"Queues":[{"Name":"sessions","Properties":{"RequiresSession":true}},{"Name":"forwards","Properties":{"ForwardTo":"plain"}},{"Name":"plain"}],
		"Topics":[{"Name":"topic","Subscriptions":[{"Name":"all"},{"Name":"changes","Rules":[{"Name":"r","Properties":{"FilterType":"Sql",
			"SqlFilter":{"SqlExpression":"1=1"},"Action":{"SqlExpression":"SET sys.EnqueuedTimeUtc = 'x'"}}}]}]}]}],"Logging":{"Type":"File"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	server, err := servicebus.Start(t.Context(), servicebus.Config{Addr: "127.0.0.1:0", Topology: topology, Key: testKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	e := &environment{t: t, ctx: t.Context(), server: server}
	e.connect(server.ConnectionString())
	for path, says := range map[string]string{"sessions": "sessions", "forwards": "forwarding", "topic/changes": "a rule"} {
		_, err := e.receiver(path, nil).ReceiveMessages(e.ctx, 1, nil)
		if err == nil || !strings.Contains(err.Error(), "The local Service Bus does not support "+says) {
			t.Errorf("receive from %s: %v", path, err)
		}
		if _, _, ok := cut(path); ok {
			continue
		}
		if err := e.sender(path).SendMessage(e.ctx, message("a"), nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("send to %s: %v", path, err)
		}
	}
	e.send("topic", message("a"))
	e.one(e.receiver("topic/all", nil), "a")
	if st := server.Stats().Entities["topic/Subscriptions/changes"]; st.Messages != 0 {
		t.Errorf("an unsupported subscription has %d messages", st.Messages)
	}
}
