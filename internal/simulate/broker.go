package simulate

import (
	"cmp"
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/message"
)

// broker is a broker in memory from which the simulation takes one message after the other.
type broker struct {
	bus.Client
	memory *memory.Broker
}

// held is a message that was taken.
type held struct {
	topic string
	*bus.Received
}

// topics are those that the use cases send to.
var topics = []string{message.TopicOrchestratorEvents, message.TopicWorkerJobs, message.TopicWorkerControl, message.TopicWorkerResults}

// everything is the one subscription of each topic here: the simulation is each worker.
const everything = "everything"

func newBroker(now func() time.Time) (*broker, error) {
	config := memory.Config{Now: now}
	for _, name := range topics {
		config.Topics = append(config.Topics, memory.Topic{
			Name: name, DuplicateWindow: 10 * time.Minute,
			Subscriptions: []memory.Subscription{{Name: everything, LockDuration: time.Minute}},
		})
	}
	queues, err := memory.New(config)
	if err != nil {
		return nil, err
	}
	return &broker{Client: queues.Client(nil), memory: queues}, nil
}

// take removes the next message that can be delivered now; nil means that there is none.
// Messages of one moment come in the order of their ids: which of several goroutines sent
// first must decide nothing.
func (b *broker) take(ctx context.Context) (*held, error) {
	var first memory.Message
	from := ""
	for _, topic := range topics {
		waiting, err := b.memory.Messages(topic, everything)
		if err != nil {
			return nil, err
		}
		for _, m := range waiting {
			if from == "" || cmp.Or(m.EnqueuedAt.Compare(first.EnqueuedAt), cmp.Compare(m.ID, first.ID), cmp.Compare(m.Sequence, first.Sequence)) < 0 {
				first, from = m, topic
			}
		}
	}
	if from == "" {
		return nil, nil
	}
	m, err := b.memory.Take(from, everything, first.Sequence)
	if err != nil {
		return nil, err
	}
	r, err := b.Receiver(from, everything)
	if err != nil {
		return nil, err
	}
	return &held{from, m}, r.Complete(ctx, m)
}

func (m *held) delivery() message.Delivery {
	kind, _ := m.Properties[message.PropertyMessageType].(string)
	return message.Delivery{ID: m.ID, Type: kind, Body: m.Body, Properties: m.Properties, DeliveryCount: m.DeliveryCount, EnqueuedAt: m.EnqueuedAt}
}
