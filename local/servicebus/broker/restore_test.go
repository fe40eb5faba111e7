package broker

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/Azure/go-amqp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus/topology"
)

type sink struct{ got []Delivery }

func (s *sink) Deliver(d Delivery) { s.got = append(s.got, d) }

func encoded(t *testing.T, id string, at time.Time) *Message {
	t.Helper()
	m := amqp.NewMessage([]byte(id))
	m.Properties = &amqp.MessageProperties{MessageID: id}
	if !at.IsZero() {
		m.Annotations = amqp.Annotations{annScheduled: at}
	}
	b := testenv.Must(m.MarshalBinary())(t)
	return testenv.Must(Parse(b))(t)
}

// A journal that was rewritten leads to the state that it had before.
func TestCompactionKeepsTheState(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1700000000000)
	d := topology.Delivery{LockDuration: time.Minute, MaxDeliveryCount: 10}
	cfg := Config{
		DataDir: t.TempDir(), CompactAbove: 1, Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
		Topology: topology.Topology{Queues: []topology.Queue{{Name: "q", DuplicateWindow: time.Hour, Delivery: d}}},
	}
	b := testenv.Must(Open(cfg))(t)
	e, _ := b.Entity("q")
	q, _ := b.Queue("q")
	s := &sink{}
	r := q.Receive(s, false)
	sync := func() {
		done := make(chan error, 1)
		b.Committed(func(err error) { done <- err })
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	e.Send([]*Message{encoded(t, "deferred", time.Time{}), encoded(t, "dead", time.Time{}), encoded(t, "abandoned", time.Time{}), encoded(t, "kept", time.Time{})})
	e.Schedule([]*Message{encoded(t, "scheduled", now.Add(time.Hour))})
	r.Flow(0, 3, false)
	for i, how := range []Disposition{Defer, DeadLetter, Abandon} {
		if err := q.Settle(s.got[i].Token, how, nil); err != nil {
			t.Fatal(err)
		}
	}
	before := contents(e, q)
	for i := range 300 { // dead records
		b.record(recSequence, func(w *writer) { w.uint(e.id); w.int(int64(i % 2)) })
		sync()
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Stat(filepath.Join(cfg.DataDir, "journal"))
	if err != nil || file.Size() >= b.Written() {
		t.Fatalf("the journal was not rewritten: %d bytes written, error %v", b.Written(), err)
	}
	again := testenv.Must(Open(cfg))(t)
	defer again.Close()
	e2, _ := again.Entity("q")
	q2, _ := again.Queue("q")
	if after := contents(e2, q2); !reflect.DeepEqual(before, after) {
		t.Fatalf("before %v, after %v", before, after)
	}
	e2.Send([]*Message{encoded(t, "kept", time.Time{})})
	if q2.count != q.count {
		t.Fatal("the duplicate detection history was lost")
	}
}

// contents lists what a queue holds, in words.
func contents(e *Entity, q *Queue) []string {
	var out []string
	for _, part := range []*Queue{q, q.dead} {
		for en := part.head; en != nil; en = en.next {
			out = append(out, fmt.Sprint(part.path, en.m.id, en.seq, en.state, en.deliveryCount))
		}
	}
	for seq, en := range e.scheduled {
		out = append(out, fmt.Sprint("scheduled ", en.m.id, seq, en.dueAt))
	}
	return append(out, fmt.Sprint("last ", e.sequence))
}
