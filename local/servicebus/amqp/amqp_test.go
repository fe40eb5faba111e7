package amqp

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

var values = []any{
	nil, true, false, uint8(200), int8(-3), uint16(60000), int16(-3), uint32(0), uint32(7), uint32(1 << 20), int32(-7),
	uint64(0), uint64(7), uint64(1 << 40), int64(-1 << 40), float32(1.5), 2.5, Char('x'), time.UnixMilli(1700000000123).UTC(),
	UUID{1, 2, 3},
	"", "text", strings.Repeat("long", 100), Symbol("symbol"),
	[]byte{},
	bytes.Repeat([]byte{1}, 300),
	[]any{},
	[]any{int32(1), "two", nil},
	map[any]any{"a": int32(1), Symbol("b"): []any{true}},
	Array{int64(1), int64(2)},
	Array{"a", "b"},
	Array{true, false},
	Array{Symbol("s")},
	Array{uint32(0), uint32(300)},
	Described{uint64(0x75), []byte{1}},
}

func TestValuesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, v := range values {
		b, err := Append([]byte("x"), v)
		if err != nil {
			t.Errorf("%v: %v", v, err)
			continue
		}
		got, n, err := Decode(append(b[1:], "rest"...))
		if err != nil || n != len(b)-1 || !reflect.DeepEqual(got, v) {
			t.Errorf("%#v came back as %#v, %d of %d bytes, error %v", v, got, n, len(b)-1, err)
		}
		if n, err := Skip(b[1:]); err != nil || n != len(b)-1 {
			t.Errorf("%#v: skipped %d of %d bytes, error %v", v, n, len(b)-1, err)
		}
		for cut := range len(b) - 1 {
			if _, _, err := Decode(b[1 : 1+cut]); err == nil {
				t.Errorf("%#v: decoded from %d of %d bytes", v, cut, len(b)-1)
			}
		}
	}
}

func TestWhatCannotBeEncodedIsRefused(t *testing.T) {
	t.Parallel()
	for _, v := range []any{struct{}{}, 1, Array{int64(1), "a"}, []any{make(chan int)}} {
		if _, err := Append(nil, v); err == nil {
			t.Errorf("%#v was encoded", v)
		}
	}
}

// The sections that this package writes are read by the client's library, and the
// other way round.
func TestMessagesAreThoseOfTheClientLibrary(t *testing.T) {
	t.Parallel()
	id := "id-1"
	m := &goamqp.Message{
		Header:      &goamqp.MessageHeader{Durable: true, Priority: 7, TTL: time.Second},
		Annotations: goamqp.Annotations{"x": int64(1)}, Properties: &goamqp.MessageProperties{MessageID: id, Subject: &id, GroupID: &id},
		ApplicationProperties: map[string]any{"k": "v"}, Data: [][]byte{[]byte("one"), bytes.Repeat([]byte("2"), 400)}, Footer: goamqp.Annotations{"f": "g"},
	}
	encoded := testenv.Must(m.MarshalBinary())(t)
	s := testenv.Must(Split(encoded))(t)
	h, err := ParseHeader(s.Header)
	if err != nil || h != (Header{Durable: true, Priority: 7, TTL: time.Second}) {
		t.Errorf("header %+v, error %v", h, err)
	}
	p, err := ParseProperties(s.Properties)
	if err != nil || p.MessageID() != id || p.Subject() != id || p.GroupID() != id || p.To() != "" {
		t.Errorf("properties %+v, error %v", p, err)
	}
	if app, err := ParseMap(s.ApplicationProperties); err != nil || app["k"] != "v" {
		t.Errorf("application properties %v, error %v", app, err)
	}
	data, err := Data(s.Body)
	if err != nil || len(data) != 2 || string(data[0]) != "one" || len(data[1]) != 400 {
		t.Errorf("data %q, error %v", data, err)
	}

	p.SetMessageID("id-2")
	out := AppendHeader(nil, h, 0)
	a := BeginAnnotations(out)
	a.Key("n", func(b []byte) []byte { return AppendLong(b, 5) })
	out = testenv.Must(p.Append(a.End()))(t)
	out = testenv.Must(AppendApplicationProperties(out, map[any]any{"k": int32(2)}))(t)
	var back goamqp.Message
	if err := back.UnmarshalBinary(append(out, s.Body...)); err != nil {
		t.Fatal(err)
	}
	if *back.Header != *m.Header || back.Annotations["n"] != int64(5) || back.Properties.MessageID != "id-2" || back.ApplicationProperties["k"] != int32(2) || len(back.Data) != 2 {
		t.Errorf("message came back as %+v", back)
	}
}

// The JavaScript client shows an absent delivery count as undefined.
func TestHeaderHasTheDeliveryCountEvenWhenItIsZero(t *testing.T) {
	t.Parallel()
	_, r, _, err := composite(AppendHeader(nil, Header{}, 0))
	if err != nil || r.left != 5 {
		t.Fatalf("header has %d fields, error %v", r.left, err)
	}
	for range 4 {
		r.next()
	}
	if f := r.next(); len(f) != 1 || f[0] != 0x43 {
		t.Fatalf("delivery count is % x", f)
	}
}

func TestSectionsOutOfOrderAreRefused(t *testing.T) {
	t.Parallel()
	header := AppendHeader(nil, Header{}, 0)
	value := testenv.Must(AppendValue(nil, "v"))(t)
	for name, b := range map[string][]byte{
		"repeated": append(bytes.Clone(header), header...), "after the body": append(bytes.Clone(value), header...),
		"unknown": {0, 0x53, 0x60, 0x40}, "no section": {0x40}, "two values": append(bytes.Clone(value), value...),
	} {
		if _, err := Split(b); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestPerformativesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	source := testenv.Must(Append(nil, Described{uint64(codeSource), []any{"address"}}))(t)
	one, two := uint32(1), uint32(2)
	for _, p := range []Performative{
		&Open{ContainerID: "c", MaxFrameSize: 512, ChannelMax: 7, IdleTimeout: 1000},
		&Begin{NextOutgoingID: 1, IncomingWindow: 2, OutgoingWindow: 3, HandleMax: 4},
		&Attach{Name: "n", Handle: 300, Role: RoleSender, SndSettleMode: 1, RcvSettleMode: 1, Source: source, InitialDeliveryCount: 5, MaxMessageSize: 1 << 20},
		&Flow{NextIncomingID: &one, IncomingWindow: 2, Handle: &two, DeliveryCount: &one, LinkCredit: &two, Drain: true},
		&Transfer{Handle: 1, DeliveryID: &two, DeliveryTag: []byte{1}, MessageFormat: &one, Settled: true, More: true, Payload: []byte{}},
		&Disposition{Role: RoleReceiver, First: 1, Last: 300, Settled: true, State: &State{Code: StateAccepted}},
		&Disposition{First: 1, Last: 1, State: &State{Code: StateRejected, Error: &Error{Condition: "c", Description: "d"}}},
		&Disposition{First: 1, Last: 1, State: &State{Code: StateModified, UndeliverableHere: true}},
		&Detach{Handle: 1, Closed: true, Error: &Error{Condition: "c"}}, &End{}, &Close{Error: &Error{Condition: "c"}},
	} {
		var buf []byte
		frame := AppendFrame(nil, TypeAMQP, 9, p)
		kind, channel, body, err := ReadFrame(bytes.NewReader(frame), &buf, 512)
		if err != nil || kind != TypeAMQP || channel != 9 {
			t.Errorf("%T: frame type %d, channel %d, error %v", p, kind, channel, err)
			continue
		}
		if got, err := Parse(body); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%+v came back as %+v, error %v", p, got, err)
		}
	}
}

func TestMalformedFramesAreRefused(t *testing.T) {
	t.Parallel()
	for name, frame := range map[string][]byte{
		"too small": {0, 0, 0, 7, 2, 0, 0, 0}, "too large": {0, 1, 0, 0, 2, 0, 0, 0},
		"offset in the header": {0, 0, 0, 8, 1, 0, 0, 0}, "offset past the end": {0, 0, 0, 8, 3, 0, 0, 0}, "cut": {0, 0, 0, 9, 2, 0, 0, 0},
	} {
		var buf []byte
		if _, _, _, err := ReadFrame(bytes.NewReader(frame), &buf, 512); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(AppendFrame(nil, TypeAMQP, 0, &Open{ContainerID: "c"})[8:])
	f.Add(AppendFrame(nil, TypeAMQP, 0, &Disposition{State: &State{Code: StateRejected, Error: &Error{}}})[8:])
	for _, v := range values {
		if b, err := Append(nil, v); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = Parse(b)
		_, _ = Split(b)
		_, _ = Data(b)
		_, _ = ParseProperties(b)
		v, n, err := Decode(b)
		if err != nil {
			return
		}
		if skipped, err := Skip(b); err == nil && skipped != n {
			t.Fatalf("% x: decoded %d bytes, skipped %d", b, n, skipped)
		}
		if _, err := Append(nil, v); err != nil && !strings.Contains(err.Error(), "mixed types") {
			t.Fatalf("% x: %#v cannot be encoded again: %v", b, v, err)
		}
	})
}
