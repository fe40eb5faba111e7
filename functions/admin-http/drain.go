package adminhttp

import (
	"io"
	"net/http"
	"time"
)

// The Functions host forwards the body of a request while it waits for the answer. When
// the handler answers before it has read the body, and closes the connection, the host
// drops that answer and sends its own: 500 without a body.
const (
	// maxDiscard is how many bytes of a body are discarded before an answer. The host
	// accepts no larger body.
	maxDiscard = 100 << 20
	// discardTimeout is how long discarding a body takes at most.
	discardTimeout = time.Minute
)

// drained is a ResponseWriter that discards the rest of the request's body before the
// answer begins, so that a refusal reaches a caller who is still sending.
type drained struct {
	http.ResponseWriter
	body io.Reader // nil: the answer has begun
}

func drain(w http.ResponseWriter, r *http.Request) *drained {
	return &drained{ResponseWriter: w, body: r.Body}
}

// discard reads the body to its end or to a limit. A body that cannot be read is left:
// the answer may still arrive.
func (d *drained) discard() {
	body := d.body
	d.body = nil
	if body == nil || body == http.NoBody {
		return
	}
	control := http.NewResponseController(d.ResponseWriter)
	if control.SetReadDeadline(time.Now().Add(discardTimeout)) == nil { // a recorder of a test has none
		defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxDiscard))
}

func (d *drained) WriteHeader(status int) {
	d.discard()
	d.ResponseWriter.WriteHeader(status)
}

func (d *drained) Write(p []byte) (int, error) {
	d.discard()
	return d.ResponseWriter.Write(p)
}

// Flush sends the bytes written so far. A report goes out while it is made.
func (d *drained) Flush() {
	d.discard()
	_ = http.NewResponseController(d.ResponseWriter).Flush() // it fails only where nothing can be flushed
}

// Unwrap returns the writer for http.ResponseController.
func (d *drained) Unwrap() http.ResponseWriter { return d.ResponseWriter }
