package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/internal/webhook"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/notify"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// fault is the answer of a webhook to one post.
type fault struct {
	status     int    // answer; 0: 204
	retryAfter string // header of the answer
	after      bool   // the message was taken before it goes wrong
	drop       bool   // close the connection without an answer
	hang       bool   // answer nothing until the sender gives up
}

// hook is a receiver that has a list of faults, one for each post; later posts succeed. It notes the messages that it takes.
type hook struct {
	mu     sync.Mutex
	faults []fault
	posts  []*http.Request
	taken  []string // id and body
	came   chan struct{}
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	f := fault{after: true}
	if n := len(h.posts); n < len(h.faults) {
		f = h.faults[n]
	}
	h.posts = append(h.posts, r)
	if f.after {
		h.taken = append(h.taken, r.Header.Get(webhook.HeaderID)+" "+string(body))
	}
	h.mu.Unlock()
	h.came <- struct{}{}
	switch {
	case f.hang:
		<-r.Context().Done()
	case f.drop:
		panic(http.ErrAbortHandler)
	case f.status != 0:
		if f.retryAfter != "" {
			w.Header().Set("Retry-After", f.retryAfter)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(f.status)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// hooked is a worker that may post to a hook. Its posts end after limit.
type hooked struct {
	*hook
	url   string
	limit time.Duration

	mu    sync.Mutex
	slept []time.Duration
}

func newHooked(t *testing.T, limit time.Duration, faults ...fault) *hooked {
	t.Helper()
	h := &hooked{hook: &hook{faults: faults, came: make(chan struct{}, 100)}, limit: limit}
	server := httptest.NewServer(h.hook)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// deliver runs the job of Send-WebhookMessage on a worker that was just started.
func (h *hooked) deliver(ctx context.Context, t *testing.T, again bool) error {
	t.Helper()
	pace := throttle.Default()
	pace.Random = func() float64 { return 0 }
	pace.Sleep = func(ctx context.Context, d time.Duration) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.slept = append(h.slept, d)
		return ctx.Err()
	}
	transport := &http.Transport{DisableKeepAlives: true}
	functions := testenv.Must(catalog.New(notify.Functions(notify.Config{Policy: pace, Poster: webhook.New(webhook.Config{
		Program: "worker", List: "WEBHOOK_SETTINGS", Settings: []string{"HOOK_URL"}, Getenv: func(string) string { return h.url }, Local: true,
		HTTP: &http.Client{Transport: transport, Timeout: h.limit},
	})})...))(t)
	ctx = catalog.WithJob(ctx, catalog.Job{ID: "job-1", EffectID: "1/7/1", Redelivered: again})
	answer, err := functions.Call(ctx, "Send-WebhookMessage", json.RawMessage(`{"UrlSetting":"HOOK_URL","Body":{"person":"Ada"}}`))
	if err == nil && answer != true {
		t.Errorf("answered %v", answer)
	}
	return err
}

// received checks that every message that was taken is the same, with the same id, so that its receiver can drop repetitions,
// and that no post has a token of the tenant.
func (h *hooked) received(t *testing.T, least int) {
	t.Helper()
	h.hook.mu.Lock()
	defer h.hook.mu.Unlock()
	if len(h.taken) < least {
		t.Errorf("%d messages were taken, want at least %d", len(h.taken), least)
	}
	for _, message := range h.taken {
		if message != `1/7/1 {"person":"Ada"}` {
			t.Errorf("took the message %s", message)
		}
	}
	for _, post := range h.posts {
		if post.Header.Get("Authorization") != "" || post.URL.Path != "/" {
			t.Errorf("posted to %s with the headers %v", post.URL.Path, post.Header)
		}
	}
}

// Send-WebhookMessage has no row in the fault matrix, whose faults are those of the tenant: this is its row.
func TestWebhookFaults(t *testing.T) {
	t.Parallel()
	documented := catalog.CommonErrors()
	documented = append(documented, catalog.SendWebhookMessage.Errors...)
	always := func(f fault) []fault { return slices.Repeat([]fault{f}, 10) }
	const tooLong = 300 * time.Millisecond // a good post that takes longer is repeated
	for note, tc := range map[string]struct {
		faults    []fault
		limit     time.Duration
		kind      string // of the failure; empty: success
		posts     int    // 0: any number
		throttled bool
		slept     time.Duration // one of the delays
	}{
		"none":                             {posts: 1},
		"429 with Retry-After":             {faults: []fault{{status: 429, retryAfter: "7"}}, posts: 2, slept: 7 * time.Second},
		"three times 429":                  {faults: []fault{{status: 429}, {status: 429}, {status: 429}}, posts: 4},
		"429 after it was taken":           {faults: []fault{{status: 429, after: true}}, posts: 2},
		"429 without end":                  {faults: always(fault{status: 429, retryAfter: "17"}), kind: "HTTP 429", posts: 6, throttled: true},
		"503 with Retry-After":             {faults: []fault{{status: 503, retryAfter: "7"}}, posts: 2, slept: 7 * time.Second},
		"503":                              {faults: []fault{{status: 503}}, posts: 2},
		"500 after it was taken":           {faults: []fault{{status: 500, after: true}}, posts: 2},
		"504 without end":                  {faults: always(fault{status: 504, after: true}), kind: "HTTP 504", posts: 5},
		"408":                              {faults: []fault{{status: 408}}, posts: 2},
		"400":                              {faults: always(fault{status: 400}), kind: "HTTP 400", posts: 1},
		"410":                              {faults: always(fault{status: 410}), kind: "HTTP 410", posts: 1},
		"a redirect":                       {faults: always(fault{status: 302}), kind: "HTTP 302", posts: 1},
		"cut off":                          {faults: []fault{{drop: true}}, posts: 2},
		"cut off after it was taken":       {faults: []fault{{drop: true, after: true}}, posts: 2},
		"cut off without end":              {faults: always(fault{drop: true}), kind: catalog.FailureUnreachable, posts: 5},
		"no answer in time":                {faults: []fault{{hang: true}}, limit: tooLong},
		"no answer, although it was taken": {faults: []fault{{hang: true, after: true}}, limit: tooLong},
	} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			h := newHooked(t, tc.limit, tc.faults...)
			err := h.deliver(t.Context(), t, false)
			var f *catalog.Failure
			switch errors.As(err, &f); {
			case tc.kind == "" && err != nil, tc.kind != "" && (f == nil || f.Type != tc.kind || f.Throttled != tc.throttled || f.Attempts != tc.posts):
				t.Errorf("got %+v, want %q after %d posts", err, tc.kind, tc.posts)
			case tc.kind != "" && !slices.ContainsFunc(documented, func(e catalog.Error) bool { return covers(e.Type, tc.kind) }):
				t.Errorf("%s is not documented", tc.kind)
			}
			if tc.posts != 0 && len(h.posts) != tc.posts {
				t.Errorf("%d posts, want %d", len(h.posts), tc.posts)
			}
			if tc.slept != 0 && !slices.Contains(h.slept, tc.slept) {
				t.Errorf("slept %v, not as Retry-After says", h.slept)
			}
			if tc.kind != "" {
				h.received(t, 0)
				return
			}
			h.received(t, 1)
			if err := h.deliver(t.Context(), t, true); err != nil {
				t.Errorf("a redelivery: %v", err)
			}
			h.received(t, 2)
		})
	}
}

// covers tells whether the documented type of a failure, such as HTTP 4xx, is that of a failure.
func covers(documented, kind string) bool {
	class, ok := strings.CutSuffix(documented, "xx")
	return documented == kind || ok && strings.HasPrefix(kind, class)
}

// The worker is killed while the receiver has the message, before or after it took it, and another worker gets the job.
func TestAKilledPostIsRepeatedWithItsID(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		h := newHooked(t, 0, fault{hang: true, after: after})
		ctx, kill := context.WithCancel(t.Context())
		killed := make(chan error, 1)
		go func() { killed <- h.deliver(ctx, t, false) }()
		<-h.came
		kill()
		if err := <-killed; err == nil || len(h.slept) > 0 {
			t.Errorf("killed: %v, after the delays %v", err, h.slept)
		}
		if err := h.deliver(t.Context(), t, true); err != nil {
			t.Error(err)
		}
		h.received(t, 1)
	}
}

// A lock was lost, and two workers carry out the same job: the receiver gets one message twice.
func TestTwoWorkersPostTheSame(t *testing.T) {
	t.Parallel()
	h := newHooked(t, 0)
	var group sync.WaitGroup
	for _, again := range []bool{false, true} {
		group.Go(func() {
			if err := h.deliver(t.Context(), t, again); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	h.received(t, 2)
}
