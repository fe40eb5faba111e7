package aci

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/servicebus/armservicebus"
	"github.com/sosodev/duration"
	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/scaler"
)

const (
	// page is how many messages one request peeks at: their bodies come along, up to 256 KB each.
	page = 100
	// peeksAtOnce is how many subscriptions are read concurrently.
	peeksAtOnce = 4
	// maxPeeked bounds the messages read of one subscription, also if none of them can have a container.
	maxPeeked = 5000
	// peekTime bounds the reading of all messages. The messages read until then are used.
	peekTime = 20 * time.Second
	// closeTime bounds the end of a link. The broker ends it with the connection otherwise.
	closeTime = time.Second
)

// Waiting returns the subscriptions of the topic and their messages, which it peeks at. Of a subscription
// it reads no more than a tick can use: messages that cannot get a container, and as many others as could
// have one, now or after the others have theirs, but at most maxPeeked. It takes no longer than peekTime for all.
func (c *Client) Waiting(ctx context.Context) (scaler.Waiting, error) {
	var waiting scaler.Waiting
	s := c.settings
	for pager := c.subscriptions.NewListByTopicPager(s.NamespaceGroup, s.Namespace, s.Topic, nil); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return waiting, fmt.Errorf("subscriptions of the topic %s: %w", s.Topic, explain(err))
		}
		for _, one := range page.Value {
			sub, err := subscriptionOf(one)
			if err != nil {
				return waiting, fmt.Errorf("subscription %s: %w", value(one.Name), err)
			}
			waiting.Subscriptions = append(waiting.Subscriptions, sub)
		}
	}
	slices.SortFunc(waiting.Subscriptions, func(a, b scaler.Subscription) int { return strings.Compare(a.Name, b.Name) })
	var err error
	waiting.Messages, err = c.peekAll(ctx, waiting.Subscriptions)
	return waiting, err
}

// peekAll returns the messages of all subscriptions. It marks a subscription that it cannot read as blocked, so that
// the others go on, and fails if it can read none.
func (c *Client) peekAll(ctx context.Context, subscriptions []scaler.Subscription) ([]scaler.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, peekTime)
	defer cancel()
	found, errs := make([][]scaler.Message, len(subscriptions)), make([]error, len(subscriptions))
	var all errgroup.Group
	all.SetLimit(peeksAtOnce)
	open := 0
	for i := range subscriptions {
		sub := &subscriptions[i]
		if sub.Blocked != "" {
			continue
		}
		open++
		all.Go(func() error {
			errs[i] = panics.Catch(ctx, func() (err error) {
				found[i], sub.Partial, err = c.peek(ctx, sub)
				return err
			})
			return nil
		})
	}
	_ = all.Wait() // each has its own error
	failed, first := 0, error(nil)
	for i, err := range errs {
		if err == nil {
			continue
		}
		found[i], subscriptions[i].Blocked = nil, "it cannot be read: "+shorten(err.Error())
		if failed++; first == nil {
			first = fmt.Errorf("peek at the subscription %s of the topic %s: %w", subscriptions[i].Name, c.settings.Topic, err)
		}
	}
	if failed < open {
		first = nil
	}
	return slices.Concat(found...), first
}

func subscriptionOf(one *armservicebus.SBSubscription) (scaler.Subscription, error) {
	sub := scaler.Subscription{Name: value(one.Name)}
	p := one.Properties
	if p == nil || p.MaxDeliveryCount == nil || p.LockDuration == nil {
		return sub, errors.New("the service names neither its maximum of deliveries nor its lock duration")
	}
	lock, err := duration.Parse(*p.LockDuration)
	if err != nil {
		return sub, fmt.Errorf("lock duration %q: %w", *p.LockDuration, err)
	}
	sub.MaxDeliveries, sub.LockDuration = int(*p.MaxDeliveryCount), lock.ToTimeDuration()
	switch status := value(p.Status); {
	case value(p.RequiresSession):
		sub.Blocked = "it requires sessions: the scaler cannot peek at it"
	case value(p.ForwardTo) != "":
		sub.Blocked = fmt.Sprintf("it forwards its messages to %s: no container can receive from it", *p.ForwardTo)
	case status != "" && status != armservicebus.EntityStatusActive:
		sub.Blocked = fmt.Sprintf("its status is %s", status)
	}
	return sub, nil
}

// peek reads the messages of a subscription, and reports whether it has more.
func (c *Client) peek(ctx context.Context, sub *scaler.Subscription) (messages []scaler.Message, more bool, err error) {
	r, err := c.bus.NewReceiverForSubscription(c.settings.Topic, sub.Name, nil)
	if err != nil {
		return nil, false, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		_ = r.Close(closing) // it has received nothing
	}()
	return collect(ctx, sub, 2*c.settings.MaxInstances+page, func(ctx context.Context, from int64) ([]*azservicebus.ReceivedMessage, error) {
		return r.PeekMessages(ctx, page, &azservicebus.PeekMessagesOptions{FromSequenceNumber: &from})
	})
}

// collect reads pages of a subscription's messages, each from a sequence number on, until one is empty, enough messages
// can have a container, maxPeeked were read, the time is over, or a page leads no further. It reports whether there may be more.
func collect(ctx context.Context, sub *scaler.Subscription, enough int, next func(ctx context.Context, from int64) ([]*azservicebus.ReceivedMessage, error)) (messages []scaler.Message, more bool, err error) {
	usable, read := 0, 0
	for from := int64(0); ; {
		peeked, err := next(ctx, from)
		switch {
		case err != nil && ctx.Err() != nil && read > 0:
			return messages, true, nil
		case err != nil || len(peeked) == 0:
			return messages, false, err
		}
		begin := from
		for _, m := range peeked {
			if m.SequenceNumber == nil {
				return nil, false, fmt.Errorf("the broker gave the message %s without a sequence number", m.MessageID)
			}
			from = max(from, *m.SequenceNumber+1)
			if m.State != azservicebus.MessageStateActive || hasExpired(m) {
				continue
			}
			one := messageOf(sub.Name, m)
			messages = append(messages, one)
			if one.ID != "" && one.Size.Problem == "" && one.Deliveries < sub.MaxDeliveries {
				usable++
			}
		}
		if read += len(peeked); usable >= enough || read >= maxPeeked || from == begin {
			return messages, true, nil
		}
	}
}

// hasExpired reports whether a message outlived its time to live. The SDK gives a message without one the
// time to live 0, and thereby an end at its beginning.
func hasExpired(m *azservicebus.ReceivedMessage) bool {
	return value(m.TimeToLive) > 0 && m.ExpiresAt != nil && m.ExpiresAt.Before(time.Now())
}

// messageOf reads a message. The SDK adds one to the delivery count of the broker, also where it peeks.
func messageOf(subscription string, m *azservicebus.ReceivedMessage) scaler.Message {
	return scaler.Message{
		Subscription: subscription, ID: m.MessageID, Sequence: *m.SequenceNumber, Deliveries: max(int(m.DeliveryCount)-1, 0),
		EnqueuedAt: value(m.EnqueuedTime), Size: scaler.ReadSize(m.Body),
	}
}
