package main

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	azbus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	topics "github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/collector"
)

func TestMetricOfTheOldestMessageIsOfEachTickAndTopic(t *testing.T) {
	t.Parallel()
	system := newSystem(t)
	c := testenv.Must(collector.Start())(t)
	defer c.Close()
	sender := testenv.Connected(azbus.Dial(azbus.Config{ConnectionString: system.bus.ConnectionString()}))(t)
	if err := sender.Send(t.Context(), topics.TopicWorkerResults, bus.Message{ID: "waits", Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	came := time.Now()
	settings := system.settings()
	settings["OTEL_EXPORTER_OTLP_ENDPOINT"] = c.URL()
	p := start(t, settings)
	p.ready()
	var least float64 // that the oldest message had waited at the last tick
	for range 2 {
		least = time.Since(came).Seconds() - 0.01 // the broker's time has milliseconds
		if status := p.call(timerFunction, `{"Data":{"timer":{"IsPastDue":false}},"Metadata":{}}`); status != http.StatusOK {
			t.Fatalf("the tick is answered %d", status)
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil { // what was measured is sent at the end
		t.Fatal(err)
	}
	<-p.ended
	most := time.Since(came).Seconds() + 1
	seen := map[string]bool{}
	for _, resource := range c.Metrics() {
		for _, scope := range resource.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				if m.GetName() != "matoolkit.oldest_message.age" {
					continue
				}
				for _, point := range m.GetHistogram().GetDataPoints() {
					topic := point.GetAttributes()[0].GetValue().GetStringValue()
					seen[topic] = true
					if waits := point.GetMax() > 0; point.GetCount() != 2 || waits != (topic == topics.TopicWorkerResults) || waits && point.GetMax() < least || point.GetMax() > most {
						t.Errorf("%s: %v", topic, point)
					}
				}
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("there are metrics of %v", seen)
	}
}
