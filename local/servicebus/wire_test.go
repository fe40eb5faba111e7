package servicebus_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus/amqp"
)

// Descriptors of the frames, as the standard numbers them.
const (
	wireMechanisms  = 0x40
	wireInit        = 0x41
	wireOutcome     = 0x44
	wireOpen        = 0x10
	wireBegin       = 0x11
	wireAttach      = 0x12
	wireFlow        = 0x13
	wireTransfer    = 0x14
	wireDisposition = 0x15
	wireDetach      = 0x16
	wireEnd         = 0x17
	wireClose       = 0x18
)

// wire is a connection without any client library: a test writes the frames that a
// client of another language writes, and reads what comes back.
type wire struct {
	t  *testing.T
	nc net.Conn
	in *bufio.Reader
}

// frame is a frame that came: its descriptor, its fields and what follows them.
type frame struct {
	code    uint64
	fields  []any
	payload []byte
}

// field is a field, nil when it was left out.
func (f frame) field(i int) any {
	if i >= len(f.fields) {
		return nil
	}
	return f.fields[i]
}

func dialWire(e *environment) *wire {
	e.t.Helper()
	nc, err := e.server.Dial()
	e.must(err)
	return newWire(e, nc)
}

func newWire(e *environment, nc net.Conn) *wire {
	e.t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
	return &wire{t: e.t, nc: nc, in: bufio.NewReader(nc)}
}

func (w *wire) write(b []byte) {
	w.t.Helper()
	if _, err := w.nc.Write(b); err != nil {
		w.t.Fatal(err)
	}
}

// send writes a frame with the fields given, and a payload.
func (w *wire) send(kind byte, channel uint16, code uint64, fields []any, payload ...byte) {
	w.t.Helper()
	b := testenv.Must(amqp.Append(make([]byte, 8), amqp.Described{Descriptor: code, Value: fields}))(w.t)
	b = append(b, payload...)
	copy(b, []byte{byte(len(b) >> 24), byte(len(b) >> 16), byte(len(b) >> 8), byte(len(b)), 2, kind, byte(channel >> 8), byte(channel)})
	w.write(b)
}

// next reads a frame; ok is false when the connection ended.
func (w *wire) next() (f frame, ok bool) {
	w.t.Helper()
	var buf []byte
	for {
		_, _, body, err := amqp.ReadFrame(w.in, &buf, 1<<20)
		if err != nil {
			return f, false
		}
		if len(body) == 0 {
			continue
		}
		v, n, err := amqp.Decode(body)
		d, isFrame := v.(amqp.Described)
		if err != nil || !isFrame {
			w.t.Fatalf("a frame of %v, error %v", v, err)
		}
		f.code, f.fields, f.payload = d.Descriptor.(uint64), d.Value.([]any), slices.Clone(body[n:])
		return f, true
	}
}

// expect reads frames until one has the descriptor.
func (w *wire) expect(code uint64) frame {
	w.t.Helper()
	for {
		f, ok := w.next()
		if !ok {
			w.t.Fatalf("the connection ended before a frame %#x", code)
		}
		if f.code == code {
			return f
		}
		if f.code == wireEnd || f.code == wireClose {
			w.t.Fatalf("got %#x %v before a frame %#x", f.code, f.fields, code)
		}
	}
}

// header exchanges a protocol header.
func (w *wire) header(protocol byte) {
	w.t.Helper()
	want := []byte{'A', 'M', 'Q', 'P', protocol, 1, 0, 0}
	w.write(want)
	got := make([]byte, 8)
	if _, err := io.ReadFull(w.in, got); err != nil || !reflect.DeepEqual(got, want) {
		w.t.Fatalf("header % x, error %v", got, err)
	}
}

// connect opens a connection with a SASL mechanism and a session on channel 0, as
// everyone does.
func (w *wire) connect(mechanism string) {
	w.t.Helper()
	if code := w.sasl(mechanism, nil); code != 0 {
		w.t.Fatalf("SASL %s: outcome %d", mechanism, code)
	}
	w.header(0)
	w.send(0, 0, wireOpen, []any{"client", "localhost"})
	w.expect(wireOpen)
	w.begin(0, 5000)
}

// sasl chooses a mechanism and returns the outcome.
func (w *wire) sasl(mechanism string, response any) uint8 {
	w.t.Helper()
	w.header(3)
	offered, _ := w.expect(wireMechanisms).field(0).(amqp.Array)
	if !slices.Contains(offered, any(amqp.Symbol(mechanism))) {
		w.t.Fatalf("the server offers %v, not %s", offered, mechanism)
	}
	w.send(1, 0, wireInit, []any{amqp.Symbol(mechanism), response})
	return w.expect(wireOutcome).field(0).(uint8)
}

func (w *wire) begin(channel uint16, window uint32) {
	w.t.Helper()
	w.send(0, channel, wireBegin, []any{nil, uint32(0), window, window, uint32(255)})
	w.expect(wireBegin)
}

// attach opens a link; address nil leaves its terminus out. It returns the answer.
func (w *wire) attach(name string, handle uint32, receives bool, source, target any) frame {
	w.t.Helper()
	terminus := func(code uint64, address any) any {
		if address == nil {
			return amqp.Described{Descriptor: code, Value: []any{}}
		}
		if d, ok := address.(amqp.Described); ok {
			return d
		}
		return amqp.Described{Descriptor: code, Value: []any{address}}
	}
	var initial any
	if !receives {
		initial = uint32(0)
	}
	w.send(0, 0, wireAttach, []any{name, handle, receives, uint8(2), uint8(0), terminus(0x28, source), terminus(0x29, target), nil, nil, initial})
	return w.expect(wireAttach)
}

// credit grants a link credit.
func (w *wire) credit(handle, window, credit uint32) {
	w.t.Helper()
	w.send(0, 0, wireFlow, []any{uint32(0), window, uint32(0), window, handle, uint32(0), credit})
}

// transfer sends an encoded message.
func (w *wire) transfer(handle, id uint32, message []byte) {
	w.t.Helper()
	w.send(0, 0, wireTransfer, []any{handle, id, []byte{byte(id)}, uint32(0), false, false}, message...)
}

// encode writes a message of a value.
func (w *wire) encode(properties []any, application map[any]any, value any) []byte {
	w.t.Helper()
	var b []byte
	for _, section := range []amqp.Described{{Descriptor: uint64(0x73), Value: properties}, {Descriptor: uint64(0x74), Value: application}, {Descriptor: uint64(0x77), Value: value}} {
		var err error
		if b, err = amqp.Append(b, section); err != nil {
			w.t.Fatal(err)
		}
	}
	return b
}

// putToken sends a token for an audience to $cbs and returns the answer.
func (w *wire) putToken(handle uint32, replyTo any, audience string) map[any]any {
	w.t.Helper()
	w.transfer(handle, handle, w.encode(
		[]any{"token-1", nil, nil, nil, replyTo},
		map[any]any{"operation": "put-token", "type": "servicebus.windows.net:sastoken", "name": audience},
		sign(audience, testKey, time.Now().Add(time.Hour))))
	return w.answer()
}

// answer reads the application properties of the next message.
func (w *wire) answer() map[any]any {
	w.t.Helper()
	s := testenv.Must(amqp.Split(w.expect(wireTransfer).payload))(w.t)
	return testenv.Must(amqp.ParseMap(s.ApplicationProperties))(w.t)
}

// authorize connects and puts a token for the whole namespace, with links 0 and 1.
func (w *wire) authorize() {
	w.t.Helper()
	w.connect("ANONYMOUS")
	w.attach("cbs-out", 0, false, nil, "$cbs")
	w.attach("cbs-in", 1, true, "$cbs", "cbs-answers")
	w.credit(1, 5000, 10)
	if got := w.putToken(0, "cbs-answers", "amqp://localhost/"); got["status-code"] != int32(202) {
		w.t.Fatalf("put-token: %v", got)
	}
}

// Python and .NET end the connection when MSSBCBS is not offered.
func TestEverySASLMechanismOfServiceBusIsOffered(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	for _, mechanism := range []string{"MSSBCBS", "ANONYMOUS", "EXTERNAL"} {
		dialWire(e).connect(mechanism)
	}
}

// PLAIN is the mechanism of AMQP libraries that know nothing of Service Bus.
func TestPlainNeedsTheKey(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	for response, want := range map[string]uint8{
		"\x00RootManageSharedAccessKey\x00" + testKey: 0, "\x00RootManageSharedAccessKey\x00another": 1,
		"\x00another\x00" + testKey: 1, "": 1,
	} {
		w := dialWire(e)
		if got := w.sasl("PLAIN", []byte(response)); got != want {
			t.Errorf("%q: outcome %d, want %d", response, got, want)
		}
		if want != 0 {
			continue
		}
		w.header(0)
		w.send(0, 0, wireOpen, []any{"client", "localhost"})
		w.expect(wireOpen)
		w.begin(0, 5000)
		if a := w.attach("out", 0, false, nil, "plain"); a.field(6) == nil {
			t.Error("the key does not open the queue")
		}
	}
}

// Each client finds the answers of $cbs in its own way.
func TestAnswersFindTheirLink(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ target, replyTo any }{
		"by the target address, as Go":                {"cbs-answers", "cbs-answers"},
		"by the name of the link, as JavaScript":      {nil, "cbs-in"},
		"by an empty target address, as JavaScript":   {"", "cbs-in"},
		"without reply-to, as Python":                 {"$cbs", nil},
		"without reply-to or target address, as .NET": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newLocal(t, "")
			w := dialWire(e)
			w.connect("MSSBCBS")
			w.attach("cbs-in", 0, true, "$cbs", c.target)
			w.credit(0, 5000, 1)
			w.attach("cbs-out", 1, false, nil, "$cbs")
			if got := w.putToken(1, c.replyTo, "amqp://localhost/plain"); got["status-code"] != int32(202) {
				t.Fatalf("answer %v", got)
			}
		})
	}
}

// With two links from $cbs, an answer whose link cannot be told goes to neither.
func TestAnswerWithoutALinkEndsTheSession(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	w := dialWire(e)
	w.connect("ANONYMOUS")
	w.attach("one", 0, true, "$cbs", nil)
	w.attach("two", 1, true, "$cbs", nil)
	w.attach("out", 2, false, nil, "$cbs")
	w.transfer(2, 1, w.encode([]any{"token-1"}, map[any]any{"operation": "put-token"}, "token"))
	for {
		f, ok := w.next()
		if !ok {
			t.Fatal("the connection ended")
		}
		if f.code == wireEnd {
			return
		}
	}
}

func TestLinkAddressesOfEveryClient(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	for _, address := range []string{"plain", "/plain", "PLAIN", "amqps://localhost/plain", "sb://localhost:5672/Plain/"} {
		w := dialWire(e)
		w.authorize()
		if a := w.attach("out", 2, false, nil, address); a.field(6) == nil {
			t.Errorf("a sender of %s was refused: %v", address, w.expect(wireDetach).fields)
		}
	}
	for _, address := range []string{
		"events/Subscriptions/all", "/events/subscriptions/all", "amqps://localhost/EVENTS/Subscriptions/All",
		"/events/Subscriptions/all/$DeadLetterQueue", "events/subscriptions/all/$deadletterqueue",
		"/plain/$management", "amqps://localhost/plain/$Management",
	} {
		w := dialWire(e)
		w.authorize()
		if a := w.attach("in", 2, true, address, "answers"); a.field(5) == nil {
			t.Errorf("a receiver of %s was refused: %v", address, w.expect(wireDetach).fields)
		}
	}
}

// A .NET client has a session window of 4294967295 and grants as much credit.
func TestWindowAndCreditAreUnsigned(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	e.send("plain", message("a"), message("b"))
	w := dialWire(e)
	w.authorize()
	const most = 1<<32 - 1
	w.attach("in", 2, true, "plain", "plain")
	w.credit(2, most, most)
	first, second := w.expect(wireTransfer), w.expect(wireTransfer)
	if first.field(1) == second.field(1) {
		t.Fatalf("delivery %v came twice", first.field(1))
	}
}

// A session that begins with the largest window sends at once.
func TestLargestWindowOfABegin(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	w := dialWire(e)
	if code := w.sasl("MSSBCBS", nil); code != 0 {
		t.Fatal(code)
	}
	w.header(0)
	w.send(0, 0, wireOpen, []any{"client", "localhost"})
	w.expect(wireOpen)
	w.begin(0, 1<<32-1)
	w.attach("cbs-in", 0, true, "$cbs", nil)
	w.send(0, 0, wireFlow, []any{nil, uint32(1<<32 - 1), uint32(0), uint32(1<<32 - 1), uint32(0), uint32(0), uint32(1<<32 - 1)})
	w.attach("cbs-out", 1, false, nil, "$cbs")
	if got := w.putToken(1, nil, "amqp://localhost/plain"); got["status-code"] != int32(202) {
		t.Fatalf("answer %v", got)
	}
}

// manage opens the management node of an entity as links 2 and 3.
func (w *wire) manage(entity string) {
	w.t.Helper()
	w.attach("management-in", 2, true, entity+"/$management", nil)
	w.credit(2, 5000, 100)
	w.attach("management-out", 3, false, nil, entity+"/$management")
}

// call sends a request to the management node and returns the answer.
func (w *wire) call(id uint32, operation string, body any) (amqp.Sections, map[any]any) {
	w.t.Helper()
	w.transfer(3, id, w.encode([]any{"request", nil, nil, nil, "management-in"}, map[any]any{"operation": operation}, body))
	s := testenv.Must(amqp.Split(w.expect(wireTransfer).payload))(w.t)
	m := testenv.Must(amqp.ParseMap(s.ApplicationProperties))(w.t)
	return s, m
}

// The Go and Python clients read status-code, the others statusCode, and all decide by
// the condition which error to report.
func TestManagementAnswersHaveBothSpellingsAndTheCondition(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	w := dialWire(e)
	w.authorize()
	w.manage("plain")
	lock, number := map[any]any{"lock-tokens": amqp.Array{amqp.UUID{1}}}, map[any]any{"sequence-numbers": amqp.Array{int64(1)}}
	deferred := map[any]any{"sequence-numbers": amqp.Array{int64(1)}, "receiver-settle-mode": uint32(1)}
	for i, c := range []struct {
		operation string
		body      any
		code      int32
		condition any
		says      string
	}{
		{"renew-lock", lock, 410, amqp.Symbol("com.microsoft:message-lock-lost"), "lock"},
		{"receive-by-sequence-number", deferred, 404, amqp.Symbol("com.microsoft:message-not-found"), "no deferred message"},
		{"cancel-scheduled-message", number, 404, amqp.Symbol("com.microsoft:message-not-found"), "no scheduled message"},
		{"peek-message", map[any]any{}, 400, amqp.Symbol("com.microsoft:argument-error"), "peek-message"},
		{"add-rule", map[any]any{}, 501, amqp.Symbol("amqp:not-implemented"), "rule management"},
		{"enumerate-rules", map[any]any{}, 501, amqp.Symbol("amqp:not-implemented"), "rule management"},
		{"renew-session-lock", map[any]any{}, 501, amqp.Symbol("amqp:not-implemented"), "sessions"},
		{"peek-message", map[any]any{"from-sequence-number": int64(1), "message-count": int32(1)}, 204, nil, "No messages"},
	} {
		_, got := w.call(uint32(i), "com.microsoft:"+c.operation, c.body)
		text, _ := got["status-description"].(string)
		if got["status-code"] != c.code || got["statusCode"] != c.code || !strings.Contains(text, c.says) || got["statusDescription"] != text ||
			got["error-condition"] != c.condition || got["errorCondition"] != c.condition {
			t.Errorf("%s: %v", c.operation, got)
		}
	}
}

func TestEmptyPeekHasNoBody(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	w := dialWire(e)
	w.authorize()
	w.manage("plain")
	s, got := w.call(1, "com.microsoft:peek-message", map[any]any{"from-sequence-number": int64(0), "message-count": int32(1)})
	body, err := amqp.BodyValue(s.Body)
	if err != nil || body != nil || got["statusCode"] != int32(204) {
		t.Fatalf("body %v, error %v, properties %v", body, err, got)
	}
}

// JavaScript puts a token for <entity>/$management when peek is its first call.
func TestTokenForTheManagementNode(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	w := dialWire(e)
	w.connect("ANONYMOUS")
	w.attach("cbs-in", 0, true, "$cbs", nil)
	w.credit(0, 5000, 1)
	w.attach("cbs-out", 1, false, nil, "$cbs")
	if got := w.putToken(1, "cbs-in", "sb://localhost/plain/$management"); got["status-code"] != int32(202) {
		t.Fatalf("put-token: %v", got)
	}
	if a := w.attach("in", 2, true, "plain/$management", nil); a.field(5) == nil {
		t.Fatalf("the management node was refused: %v", w.expect(wireDetach).fields)
	}
	if a := w.attach("out", 3, false, nil, "plain"); a.field(6) != nil {
		t.Fatal("a token for the management node opened the queue")
	}
}

// Python puts a shared access signature as a token of type jwt.
func TestSharedAccessSignatureOfTypeJWT(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	w := dialWire(e)
	w.connect("ANONYMOUS")
	w.attach("cbs-in", 0, true, "$cbs", "$cbs")
	w.credit(0, 5000, 2)
	w.attach("cbs-out", 1, false, nil, "$cbs")
	for key, want := range map[string]int32{testKey: 202, "another": 401} {
		w.transfer(1, uint32(want), w.encode([]any{"token-1"},
			map[any]any{"operation": "put-token", "type": "jwt", "name": "sb://localhost/plain"},
			sign("sb://localhost/plain", key, time.Now().Add(time.Hour))))
		if got := w.answer(); got["status-code"] != want {
			t.Errorf("answer %v, want %d", got, want)
		}
	}
}

// rhea, the library under the JavaScript client, drops the connection at a second End.
func TestOneEndForEachSession(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	w := dialWire(e)
	w.connect("ANONYMOUS")
	w.send(0, 0, wireFlow, []any{uint32(0), uint32(1), uint32(0), uint32(1), uint32(9), uint32(0), uint32(1)}) // no such link
	if f, ok := w.next(); !ok || f.code != wireEnd || f.field(0) == nil {
		t.Fatalf("got %#x %v", f.code, f.fields)
	}
	w.send(0, 0, wireEnd, []any{})
	w.send(0, 0, wireDetach, []any{uint32(0), true}) // Python detaches after the End
	w.begin(1, 5000)
	w.send(0, 1, wireEnd, []any{})
	if f, ok := w.next(); !ok || f.code != wireEnd || f.field(0) != nil {
		t.Fatalf("got %#x %v", f.code, f.fields)
	}
	w.send(0, 0, wireClose, []any{})
	if f, ok := w.next(); !ok || f.code != wireClose {
		t.Fatalf("got %#x %v", f.code, f.fields)
	}
}

func TestTransactionsAndSessionsAreRefusedByName(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	session := amqp.Described{Descriptor: uint64(0x28), Value: []any{
		"plain", nil, nil, nil, nil, nil, nil,
		map[any]any{amqp.Symbol("com.microsoft:session-filter"): amqp.Described{Descriptor: uint64(0x137000000c), Value: nil}},
	}}
	for says, attach := range map[string]func(*wire){
		"transactions": func(w *wire) {
			w.attach("coordinator", 2, false, nil, amqp.Described{Descriptor: uint64(0x30), Value: []any{}})
		},
		"sessions": func(w *wire) { w.attach("in", 2, true, session, nil) },
	} {
		w := dialWire(e)
		w.authorize()
		attach(w)
		refused, _ := w.expect(wireDetach).field(2).(amqp.Described)
		fields, _ := refused.Value.([]any)
		if len(fields) < 2 || fields[0] != amqp.Symbol("amqp:not-implemented") || !strings.Contains(fields[1].(string), says) {
			t.Errorf("%s: refused with %v", says, fields)
		}
	}
}

// JavaScript reports the rejection and would wait for ever after the detach alone.
func TestMessageThatIsTooLargeIsRejectedAndEndsTheLink(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	w := dialWire(e)
	w.authorize()
	w.attach("out", 2, false, nil, "plain")
	part := make([]byte, 60<<10)
	for i := range 5 {
		w.send(0, 0, wireTransfer, []any{uint32(2), uint32(7), []byte{1}, uint32(0), false, i < 4}, part...)
	}
	disposition := w.expect(wireDisposition)
	state, _ := disposition.field(4).(amqp.Described)
	if fields, _ := state.Value.([]any); disposition.field(1) != uint32(7) || state.Descriptor != uint64(amqp.StateRejected) || len(fields) == 0 {
		t.Errorf("disposition %v", disposition.fields)
	} else if e, _ := fields[0].(amqp.Described); e.Value == nil || e.Value.([]any)[0] != amqp.Symbol("amqp:link:message-size-exceeded") {
		t.Errorf("rejected with %v", e.Value)
	}
	refused, _ := w.expect(wireDetach).field(2).(amqp.Described)
	if fields, _ := refused.Value.([]any); len(fields) != 3 || fields[0] != amqp.Symbol("amqp:link:message-size-exceeded") { // Python reads three fields
		t.Errorf("refused with %v", refused)
	}
}

// An administration client or a browser at the AMQP port gets an answer in HTTP.
func TestHTTPIsRefusedInHTTP(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		r, err := http.NewRequestWithContext(e.ctx, method, "http://"+e.server.Addr()+"/plain?api-version=2021-05", nil)
		e.must(err)
		answer, err := http.DefaultClient.Do(r)
		e.must(err)
		body, err := io.ReadAll(answer.Body)
		e.must(err)
		e.must(answer.Body.Close())
		if answer.StatusCode != http.StatusNotImplemented || !strings.Contains(string(body), "<Detail>The local Service Bus does not support the administration API.") {
			t.Errorf("%s: %d %s", method, answer.StatusCode, body)
		}
	}
}

// A client that begins with TLS at a server without a certificate sees the connection end.
func TestTLSWithoutACertificateEnds(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	nc, err := e.server.Dial()
	e.must(err)
	if err := tls.Client(nc, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(e.ctx); err == nil {
		t.Fatal("TLS without a certificate")
	}
}
