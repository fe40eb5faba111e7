// Package bustest is the conformance suite of package bus. Every driver passes it.
//
// It needs the topics that are deployed to Azure (infra/topology.json) with the worker
// worker-01, and no other receiver on them.
package bustest

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
)

// Namespace is a broker under test.
type Namespace struct {
	Client bus.Client
	// Advance lets time pass for the broker: it moves the broker's clock, or waits.
	Advance func(time.Duration)
	// Now is the broker's clock.
	Now func() time.Time
	// Quiet is how long the suite waits to see that no message comes.
	Quiet time.Duration
	// Topic returns the name of a topic in the namespace; nil if that is its name in package
	// message.
	Topic func(string) string
	// Without are the properties that the broker lacks.
	Without []bus.Property
}

// Run runs the suite. Each test calls open once, for a namespace without messages.
func Run(t *testing.T, open func(t *testing.T) Namespace) {
	t.Helper()
	for name, test := range map[string]func(*suite){
		"MessageArrivesAsItWasSent":       arrivesAsSent,
		"ManyMessagesArriveInOrder":       manyInOrder,
		"LargeMessageIsRefusedForGood":    tooLarge,
		"ScheduledMessageArrivesOnTime":   scheduled,
		"ReceiveWaitsForAMessage":         receiveWaits,
		"EndedContextEndsReceive":         receiveEnds,
		"CompletedMessageIsGone":          completed,
		"AbandonedMessageComesAgain":      abandoned,
		"LastDeliveryIsDeadLettered":      lastDelivery,
		"RenewedLockHolds":                renewed,
		"ExpiredLockIsLost":               lockLost,
		"SameMessageArrivesOnce":          duplicates,
		"SubscriptionFiltersItsMessages":  filters,
		"PeekTakesNothing":                peek,
		"FollowersSeeAllMessages":         follow,
		"DeadLettersAreTakenOnce":         deadLetters,
		"ExpiredMessageIsDeadLettered":    expired,
		"OldestMessageIsSeenAndNotTaken":  oldest,
		"SubscriptionExists":              exists,
		"MissingEntityIsNotFound":         notFound,
		"MessageCarriesTheTrace":          traced,
		"PingTakesNothing":                ping,
		"UnreadMessageIsNotCounted":       unread,
		"ReceiversShareTheMessages":       shared,
		"DeadLetterOfTwoReceiversIsTaken": deadLetterInHand,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&suite{T: t, Namespace: open(t), began: time.Now().UnixNano()})
		})
	}
}
