package aci

import (
	"context"
	"errors"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/scaler"
)

// TestTheReadingOfASubscriptionIsBounded has brokers that the local one is not: with more messages than a test can send,
// with pages that lead nowhere, and slow.
func TestTheReadingOfASubscriptionIsBounded(t *testing.T) {
	t.Parallel()
	pageFrom := func(first int64, n int) (messages []*azservicebus.ReceivedMessage) {
		for i := range int64(n) {
			sequence := first + i
			messages = append(messages, &azservicebus.ReceivedMessage{MessageID: "m", SequenceNumber: &sequence, Body: []byte("no size")})
		}
		return messages
	}
	away := errors.New("away")
	for name, c := range map[string]struct {
		next           func(page int, from int64, over context.CancelFunc) ([]*azservicebus.ReceivedMessage, error)
		messages, asks int
		more           bool
		err            error
	}{
		"endless": {
			next: func(_ int, from int64, _ context.CancelFunc) ([]*azservicebus.ReceivedMessage, error) {
				return pageFrom(from, page), nil
			},
			messages: maxPeeked, asks: maxPeeked / page, more: true,
		},
		"the same page again": {
			next: func(int, int64, context.CancelFunc) ([]*azservicebus.ReceivedMessage, error) {
				return pageFrom(7, 3), nil
			},
			messages: 6, asks: 2, more: true,
		},
		"out of order": {
			next: func(ask int, from int64, _ context.CancelFunc) ([]*azservicebus.ReceivedMessage, error) {
				if ask == 2 && from == 10 {
					return nil, nil
				}
				return append(pageFrom(9, 1), pageFrom(3, 1)...), nil
			},
			messages: 2, asks: 2,
		},
		"the time is over after a page": {
			next: func(ask int, from int64, over context.CancelFunc) ([]*azservicebus.ReceivedMessage, error) {
				if ask == 1 {
					return pageFrom(from, page), nil
				}
				over()
				return nil, context.DeadlineExceeded
			},
			messages: page, asks: 2, more: true,
		},
		"the time is over before a page": {
			next: func(_ int, _ int64, over context.CancelFunc) ([]*azservicebus.ReceivedMessage, error) {
				over()
				return nil, context.DeadlineExceeded
			},
			asks: 1, err: context.DeadlineExceeded,
		},
		"away": {
			next: func(int, int64, context.CancelFunc) ([]*azservicebus.ReceivedMessage, error) { return nil, away },
			asks: 1, err: away,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, over := context.WithCancel(t.Context())
			defer over()
			asks := 0
			messages, more, err := collect(ctx, &scaler.Subscription{Name: "a", MaxDeliveries: 3}, 10, func(_ context.Context, from int64) ([]*azservicebus.ReceivedMessage, error) {
				asks++
				return c.next(asks, from, over)
			})
			if len(messages) != c.messages || asks != c.asks || more != c.more || !errors.Is(err, c.err) {
				t.Errorf("%d messages after %d requests, more %t, %v; want %+v", len(messages), asks, more, err, c)
			}
		})
	}
}
