package health_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/health"
)

type watched struct{ alive, ready atomic.Pointer[error] }

func (w *watched) Alive(time.Time) error { return deref(w.alive.Load()) }
func (w *watched) Ready() error          { return deref(w.ready.Load()) }

func deref(err *error) error {
	if err == nil {
		return nil
	}
	return *err
}

func TestProbesTellWhetherAndWhyNot(t *testing.T) {
	t.Parallel()
	s := testenv.Must(health.Listen("127.0.0.1:0"))(t)
	t.Cleanup(s.Close)
	expect := func(note, path, want string) {
		t.Helper()
		err := health.Ask(t.Context(), s.Address(), path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %s answers %v, want %q", note, path, err, want)
		}
	}
	expect("while it starts", health.Live, "")
	expect("while it starts", health.Ready, "starting")
	w := &watched{}
	s.Watch(w)
	expect("when it works", health.Live, "")
	expect("when it works", health.Ready, "")
	stuck, away := errors.New("has not gone round"), errors.New("the broker is away")
	w.ready.Store(&away)
	expect("without its broker", health.Live, "")
	expect("without its broker", health.Ready, "the broker is away")
	w.alive.Store(&stuck)
	expect("when it stands still", health.Live, "has not gone round")
	s.Close()
	expect("when it is gone", health.Live, "refused")
}

func TestOnlyTheTwoProbesAreAnswered(t *testing.T) {
	t.Parallel()
	s := testenv.Must(health.Listen("localhost:0"))(t)
	t.Cleanup(s.Close)
	for _, tc := range []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, health.Live, 200},
		{http.MethodHead, health.Live, 200},
		{http.MethodPost, health.Live, 405},
		{http.MethodGet, "/", 404},
		{http.MethodGet, "/debug/pprof/", 404},
		{http.MethodPost, health.Ready, 405},
		{http.MethodGet, health.Ready, 503},
	} {
		request := testenv.Must(http.NewRequestWithContext(t.Context(), tc.method, "http://"+s.Address()+tc.path, nil))(t)
		response := testenv.Must(http.DefaultClient.Do(request))(t)
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != tc.want {
			t.Errorf("%s %s answers %d, want %d", tc.method, tc.path, response.StatusCode, tc.want)
		}
	}
}

// What listens on all addresses is asked on this machine's own.
func TestAskFindsWhatListensOnAllAddresses(t *testing.T) {
	t.Parallel()
	s := testenv.Must(health.Listen("127.0.0.1:0"))(t)
	t.Cleanup(s.Close)
	for _, host := range []string{"0.0.0.0", "localhost"} {
		if err := health.Ask(t.Context(), strings.Replace(s.Address(), "127.0.0.1", host, 1), health.Live); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:8080": "", "localhost:8080": "", "0.0.0.0:8080": "", "[::]:8080": "", "[::1]:0": "",
		"": "such as", "8080": "such as", ":8080": "invalid host", "example.com:80": "invalid host",
		"127.0.0.1:http": "invalid port", "127.0.0.1:65536": "invalid port", "127.0.0.1:": "invalid port",
	} {
		err := health.CheckAddress(address)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
}
