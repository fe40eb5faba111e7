package functionshost

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/matoolkit/matoolkit/local/clock"
)

// ClockSetting is the setting that tells the handler by how much the clock was
// moved, as a duration of Go such as 120h0m0s. It is there only where it was.
const ClockSetting = "MATOOLKIT_CLOCK_OFFSET"

// Run tells how a timer ran that was fired by hand, as JSON.
type Run struct {
	Function string `json:"function"`
	TookMs   int64  `json:"tookMs"`
}

// local serves what no Azure host has: the clock, and running a timer to its end.
func (s *Server) local() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_local/clock", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.clock.Reading()) })
	mux.HandleFunc("POST /_local/clock", s.moveClock)
	mux.HandleFunc("POST /_local/functions/{name}", s.runTimer)
	return mux
}

// badMove is a move that the clock does not make.
type badMove struct{ error }

// moveClock answers when the handler goes by the moved clock. Those who ask at once
// are served one after the other.
func (s *Server) moveClock(w http.ResponseWriter, r *http.Request) {
	if !sentAsJSON(w, r) {
		return
	}
	if !s.movable {
		refuse(w, http.StatusConflict, "cannot move the clock: Service Bus runs in another process and no state directory is shared")
		return
	}
	move, err := readMove(r)
	if err == nil {
		err = move.Check(s.clock)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	ctx, cancel := s.whileRunning(r.Context())
	defer cancel()
	err = s.supervisor.replace(ctx, func() error {
		if err := move.Check(s.clock); err != nil { // another move came first
			return badMove{err}
		}
		return move.Apply(s.clock)
	})
	switch {
	case err == nil:
		s.log.Info("moved the clock", "ahead", s.clock.Offset())
		answer(w, http.StatusOK, s.clock.Reading())
	case errors.As(err, new(badMove)):
		refuse(w, http.StatusBadRequest, err.Error())
	case errors.As(err, new(errNotStarted)):
		refuse(w, http.StatusBadGateway, "the clock was moved, but the handler did not start with it: "+err.Error())
	default:
		refuse(w, http.StatusServiceUnavailable, "cannot move the clock: "+err.Error())
	}
}

func readMove(r *http.Request) (clock.Move, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 4096))
	if err != nil {
		return clock.Move{}, err
	}
	var request clock.Request
	if err := strict(raw, &request); err != nil {
		return clock.Move{}, errors.New(`the body is not an object such as {"advance":"5d"} or {"to":"2026-03-06T09:00:00Z"}: ` + err.Error())
	}
	return request.Parse()
}

// runTimer answers when the run has ended.
func (s *Server) runTimer(w http.ResponseWriter, r *http.Request) {
	t := s.timerToRun(w, r)
	if t == nil {
		return
	}
	ctx, cancel := s.whileRunning(r.Context())
	defer cancel()
	began := time.Now()
	if err := t.runToItsEnd(ctx); err != nil {
		refuse(w, http.StatusBadGateway, t.name+": "+err.Error())
		return
	}
	answer(w, http.StatusOK, Run{Function: t.name, TookMs: time.Since(began).Milliseconds()})
}

// whileRunning bounds what a request waits for by the life of the host.
func (s *Server) whileRunning(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.running, cancel)
	return ctx, func() { stop(); cancel() }
}
