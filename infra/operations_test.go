package infra_test

import (
	"fmt"
	"testing"

	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/internal/message"
)

// TestTimesOfTheBroker checks for how long Service Bus detects duplicates and keeps messages, and
// after how many deliveries a message becomes a dead letter.
func TestTimesOfTheBroker(t *testing.T) {
	t.Parallel()
	v, err := deployed(repository(t), "infra/shared/servicebus.bicep", nil)
	if err != nil {
		t.Fatal(err)
	}
	topics, err := v.Of(&bicep.Reference{Name: bicep.Name{Text: "topics"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range topics.([]any) {
		of := topic.(map[string]any)
		properties := of["Properties"].(map[string]any)
		for _, subscription := range of["Subscriptions"].([]any) {
			own := subscription.(map[string]any)["Properties"].(map[string]any)
			got := fmt.Sprint(properties["DuplicateDetectionHistoryTimeWindow"], properties["DefaultMessageTimeToLive"], own["DefaultMessageTimeToLive"], own["MaxDeliveryCount"])
			deliveries, life := int64(10), "P7D"
			if of["Name"] != message.TopicWorkerControl {
				deliveries = 2000
			} else { // a worker that was away this long still gets the cancellations
				life = "P14D"
			}
			if got != fmt.Sprint("PT10M", life, life, deliveries) {
				t.Errorf("%v: %s, want PT10M, %s, %d deliveries", of["Name"], got, life, deliveries)
			}
		}
	}
}
