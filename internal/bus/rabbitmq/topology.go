package rabbitmq

import (
	"context"
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/matoolkit/matoolkit/internal/message"
)

// topic is a topic of the product with what its subscriptions have in common, as
// infra/topology.json says.
type topic struct {
	name        string
	ttl         time.Duration // of messages that have none of their own
	lock        time.Duration // of a delivery
	deliveries  int           // how often a message is delivered before it is dead-lettered
	dropExpired bool          // expired messages are dropped, not dead-lettered
	byWorker    bool          // a worker's subscription has the jobs with its id only
	followed    bool          // the subscriptions are read with Peek, by all replicas of a worker
}

var topics = []topic{
	{name: message.TopicOrchestratorEvents, ttl: 7 * 24 * time.Hour, lock: 15 * time.Second, deliveries: 2000},
	{name: message.TopicWorkerJobs, ttl: 7 * 24 * time.Hour, lock: 30 * time.Second, deliveries: 2000, byWorker: true},
	{name: message.TopicWorkerControl, ttl: 14 * 24 * time.Hour, lock: time.Minute, deliveries: 10, dropExpired: true, followed: true},
	{name: message.TopicWorkerResults, ttl: 7 * 24 * time.Hour, lock: 15 * time.Second, deliveries: 2000},
}

// topicOf returns the topic of a name. One that the product does not know has no exchange
// either: the broker says so.
func topicOf(name string) topic {
	for _, t := range topics {
		if strings.EqualFold(t.name, name) {
			return t
		}
	}
	return topic{name: name}
}

// subscriptions returns those that Declare makes for some workers.
func (t topic) subscriptions(workers []string) []string {
	if t.name == message.TopicOrchestratorEvents || t.name == message.TopicWorkerResults {
		return []string{message.SubscriptionOrchestrator}
	}
	var all []string
	for _, id := range workers {
		all = append(all, message.WorkerSubscription(id))
	}
	return all
}

// The names of the entities of a topic and a subscription.

// Topic returns the name of a topic in the broker: that of its exchange. A topic that the product does not know keeps its name.
func (c *Client) Topic(name string) string {
	if t := topicOf(name); t.deliveries > 0 {
		return c.prefix + t.name
	}
	return name
}

func (c *Client) queue(topic, subscription string) string {
	return c.Topic(topic) + "/" + subscription
}
func deadQueue(queue string) string { return queue + "/dead-letters" }
func logStream(queue string) string { return queue + "/log" }

// unrouted takes the messages that no subscription wants, and drops them. Without it a
// scheduled one would wait for a subscription for ever: the broker repeats what it cannot route.
const unrouted = "matoolkit.unrouted"

// Declare makes the exchanges and queues of the product, with the subscriptions of some workers.
// It may be repeated, also while the system runs, adds the missing ones, and removes nothing.
// It fails where an entity exists with other properties. The user needs the permission to
// configure.
func (c *Client) Declare(ctx context.Context, workers ...string) error {
	for _, id := range workers {
		if !message.ValidWorkerID(id) {
			return fmt.Errorf("bus: invalid worker id %q", id)
		}
	}
	ch, err := c.openChannel(ctx, &c.in)
	if err != nil {
		return err
	}
	defer ch.close()
	return ch.call(ctx, func(ch *amqp.Channel) error {
		d := declaration{ch: ch}
		d.exchange(unrouted, amqp.ExchangeFanout, nil)
		d.queue(unrouted, amqp.Table{"x-max-length": int64(0)})
		d.bind(unrouted, "", unrouted, nil)
		d.delays()
		for _, t := range topics {
			exchange := c.Topic(t.name)
			d.exchange(exchange, amqp.ExchangeHeaders, amqp.Table{"alternate-exchange": unrouted})
			d.bindExchange(exchange, dueKey(exchange), dueExchange)
			for _, s := range t.subscriptions(workers) {
				d.subscription(t, exchange, c.queue(t.name, s), strings.TrimPrefix(s, message.WorkerSubscriptionPrefix))
			}
		}
		return d.err
	})
}

// declareOnce declares what Config says, until it has succeeded.
func (c *Client) declareOnce(ctx context.Context) error {
	if err := c.declaring.take(ctx); err != nil {
		return classify(err)
	}
	defer c.declaring.give()
	if c.declared {
		return nil
	}
	if err := c.Declare(ctx, c.config.Workers...); err != nil {
		return err
	}
	c.declared = true
	return nil
}

// declaration declares one entity after the other, until one fails.
type declaration struct {
	ch  *amqp.Channel
	err error
}

func (d *declaration) exchange(name, kind string, args amqp.Table) {
	if d.err == nil {
		d.err = d.ch.ExchangeDeclare(name, kind, true, false, false, false, args)
	}
}

func (d *declaration) queue(name string, args amqp.Table) {
	if d.err == nil {
		_, d.err = d.ch.QueueDeclare(name, true, false, false, false, args)
	}
}

func (d *declaration) bind(queue, key, exchange string, args amqp.Table) {
	if d.err == nil {
		d.err = d.ch.QueueBind(queue, key, exchange, false, args)
	}
}

func (d *declaration) bindExchange(to, key, from string) {
	if d.err == nil {
		d.err = d.ch.ExchangeBind(to, key, from, false, nil)
	}
}

// noDeliveryLimit is more often than a message is delivered. Since version 4, RabbitMQ drops what came back 20 times to a
// queue without a limit of its own; before it takes no argument for "no limit".
const noDeliveryLimit int64 = 1_000_000_000

// deadLetters returns the arguments of a dead-letter queue: what nobody takes from it stays.
func deadLetters() amqp.Table {
	return amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": noDeliveryLimit}
}

// quorum returns the arguments of a quorum queue from which a message moves on to an exchange,
// with its routing key or another, and is kept until it has arrived there.
func quorum(exchange, key string, more amqp.Table) amqp.Table {
	args := amqp.Table{
		"x-queue-type": "quorum", "x-dead-letter-exchange": exchange,
		"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish", "x-delivery-limit": noDeliveryLimit,
	}
	if key != "" {
		args["x-dead-letter-routing-key"] = key
	}
	for name, value := range more {
		args[name] = value
	}
	return args
}

// subscription declares the queue of a subscription and its dead-letter queue and, where the
// subscription is followed, its log.
func (d *declaration) subscription(t topic, exchange, queue, worker string) {
	filter := amqp.Table{"x-match": "all"} // all of nothing: every message
	if t.byWorker {
		filter[message.PropertyWorkerID] = worker
	}
	d.queue(deadQueue(queue), deadLetters())
	d.queue(queue, quorum("", deadQueue(queue), amqp.Table{
		"x-message-ttl": t.ttl.Milliseconds(),
		// The broker counts the deliveries that came back.
		"x-delivery-limit": int64(t.deliveries - 1),
	}))
	d.bind(queue, "", exchange, filter)
	if !t.followed {
		return
	}
	stream := logStream(queue)
	d.queue(stream, amqp.Table{"x-queue-type": "stream", "x-max-age": fmt.Sprintf("%dD", t.ttl/(24*time.Hour)+1)})
	d.mark(stream)
	d.bind(stream, "", exchange, filter)
}

// mark writes a record that is no message: Peek finds the end of a log by its last record, so
// there must be one.
func (d *declaration) mark(stream string) {
	if d.err != nil {
		return
	}
	if d.err = d.ch.Confirm(false); d.err != nil {
		return
	}
	confirmed, err := d.ch.PublishWithDeferredConfirm("", stream, false, false, amqp.Publishing{Headers: amqp.Table{headerMark: true}})
	if d.err = err; d.err == nil && !confirmed.Wait() {
		d.err = fmt.Errorf("the broker did not accept the first record of %s", stream)
	}
}
