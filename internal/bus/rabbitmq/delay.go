package rabbitmq

import (
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A scheduled message goes through a ladder of queues, one for each bit of its delay: the queue
// of level k keeps every message for delayUnit times 2^k. So each queue has one time for all its
// messages, and a short delay never waits behind a long one. The routing key has the bits of the
// delay, the highest first, and the topic. A message whose bit is 0 skips the level's queue, and
// one is published at its highest bit: a delay costs as many hops as it has bits that are 1, of
// five minutes at most 12, on average 6.
const (
	delayUnit   = 100 * time.Millisecond // by which a message may come late, besides the hops
	delayLevels = 28
	maxDelay    = delayUnit<<delayLevels - delayUnit // 310 days
	dueExchange = delayQueues + "due"
)

// delayQueues begins the names of the queues of the ladder.
const delayQueues = "matoolkit.delay."

func delayName(level int) string { return fmt.Sprintf("%s%02d", delayQueues, level) }

// nextLevel is the exchange that follows a level.
func nextLevel(level int) string {
	if level == 0 {
		return dueExchange
	}
	return delayName(level - 1)
}

// dueKey is the binding of a topic to dueExchange.
func dueKey(exchange string) string { return strings.Repeat("*.", delayLevels) + delayWord(exchange) }

// delayWord returns a topic as one word of a routing key.
func delayWord(exchange string) string { return strings.ReplaceAll(exchange, ".", "/") }

// delayed returns the exchange and the routing key of a message that is to arrive at a topic
// after a time, which is more than 0 and at most maxDelay.
func delayed(exchange string, after time.Duration) (first, key string) {
	units := (after + delayUnit - 1) / delayUnit
	var bits strings.Builder
	for level := delayLevels - 1; level >= 0; level-- {
		if units>>level&1 == 0 {
			bits.WriteString("0.")
			continue
		}
		bits.WriteString("1.")
		if first == "" {
			first = delayName(level)
		}
	}
	return first, bits.String() + delayWord(exchange)
}

// delays declares the ladder.
func (d *declaration) delays() {
	d.exchange(dueExchange, amqp.ExchangeTopic, amqp.Table{"alternate-exchange": unrouted})
	for level := range delayLevels {
		name, before := delayName(level), strings.Repeat("*.", delayLevels-1-level)
		d.exchange(name, amqp.ExchangeTopic, nil)
		d.queue(name, quorum(nextLevel(level), "", amqp.Table{"x-message-ttl": (delayUnit << level).Milliseconds()}))
		d.bind(name, before+"1.#", name, nil)
		d.bindExchange(nextLevel(level), before+"0.#", name)
	}
}
