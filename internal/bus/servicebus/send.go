package servicebus

import (
	"context"
	"errors"
	"maps"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// Sent returns how many messages the broker has acknowledged.
func (c *Client) Sent() int64 { return c.sent.Load() }

// Send sends one message alone, and several in as few batches as they fit in.
func (c *Client) Send(ctx context.Context, topic string, messages ...bus.Message) error {
	if len(messages) == 0 {
		return nil
	}
	sender, err := c.sender(topic)
	if err != nil {
		return err
	}
	for len(messages) > 0 {
		n, err := sendSome(ctx, sender, messages)
		switch {
		case errors.Is(err, azservicebus.ErrMessageTooLarge):
			return bus.TooLarge(messages[0], topic)
		case err != nil:
			return bus.About(classify(err), c.names.Topic(topic), "")
		}
		c.sent.Add(int64(n))
		messages = messages[n:]
	}
	return nil
}

// sendSome sends as many messages as fit into one batch, from the first on, and returns how
// many. It returns ErrMessageTooLarge only if the first message does not fit alone.
func sendSome(ctx context.Context, sender *azservicebus.Sender, messages []bus.Message) (int, error) {
	if len(messages) == 1 {
		return 1, sender.SendMessage(ctx, encode(ctx, messages[0]), nil)
	}
	batch, err := sender.NewMessageBatch(ctx, nil)
	if err != nil {
		return 0, err
	}
	n := 0
	for ; n < len(messages); n++ {
		err := batch.AddMessage(encode(ctx, messages[n]), nil)
		if errors.Is(err, azservicebus.ErrMessageTooLarge) {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	if n == 0 { // alone a message has more room than in a batch
		return sendSome(ctx, sender, messages[:1])
	}
	return n, sender.SendMessageBatch(ctx, batch, nil)
}

func (c *Client) sender(topic string) (*azservicebus.Sender, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.senders[topic]; ok {
		return s, nil
	}
	s, err := c.client.NewSender(c.names.Topic(topic), nil)
	if err != nil {
		return nil, classify(err)
	}
	c.senders[topic] = s
	return s, nil
}

func encode(ctx context.Context, m bus.Message) *azservicebus.Message {
	contentType := "application/json"
	properties := maps.Clone(m.Properties) // the caller's stay as they are
	if properties == nil {
		properties = map[string]any{}
	}
	tracecontext.Inject(ctx, properties)
	out := &azservicebus.Message{MessageID: &m.ID, Body: m.Body, ContentType: &contentType, ApplicationProperties: properties}
	if m.CorrelationID != "" {
		out.CorrelationID = &m.CorrelationID
	}
	if !m.At.IsZero() {
		at := m.At.UTC()
		out.ScheduledEnqueueTime = &at
	}
	if m.TimeToLive > 0 {
		out.TimeToLive = &m.TimeToLive
	}
	return out
}
