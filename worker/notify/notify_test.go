package notify_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/internal/webhook"
	"github.com/matoolkit/matoolkit/local/receiver"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/notify"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

var key = []byte("0123456789abcdef0123456789abcdef")

// world is a receiver, and a worker that may post to it.
type world struct {
	t        *testing.T
	receiver *receiver.Receiver
	catalog  *catalog.Catalog
	slept    []time.Duration
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, receiver: testenv.Must(receiver.Start(t.Context(), key))(t)}
	t.Cleanup(func() { _ = w.receiver.Close() })
	settings := map[string]string{"HOOK_URL": w.receiver.URL(), "HOOK_KEY": base64.StdEncoding.EncodeToString(key), "DOWN_URL": "http://127.0.0.1:1/hunter2", "OTHER_URL": w.receiver.URL()}
	pace := throttle.Default()
	pace.Random = func() float64 { return 0 }
	pace.Sleep = func(ctx context.Context, d time.Duration) error {
		w.slept = append(w.slept, d)
		return ctx.Err()
	}
	w.catalog = testenv.Must(catalog.New(notify.Functions(notify.Config{Policy: pace, Poster: webhook.New(webhook.Config{
		Program: "worker", List: "WEBHOOK_SETTINGS", Parameter: "webhookVaultSettings",
		Settings: []string{"HOOK_URL", "HOOK_KEY", "DOWN_URL"}, Getenv: func(name string) string { return settings[name] }, Local: true,
	})})...))(t)
	return w
}

// post runs a job of Send-WebhookMessage.
func (w *world) post(params map[string]any) error {
	w.t.Helper()
	ctx := catalog.WithJob(w.t.Context(), catalog.Job{ID: "job-1", EffectID: "1/7/1"})
	answer, err := w.catalog.Call(ctx, "Send-WebhookMessage", testenv.Must(json.Marshal(params))(w.t))
	if err == nil && answer != true {
		w.t.Errorf("answered %v", answer)
	}
	return err
}

// A card for Teams and a signed body arrive; a repetition has the same id.
func TestPosts(t *testing.T) {
	t.Parallel()
	w := start(t)
	for range 2 {
		if err := w.post(map[string]any{"UrlSetting": "HOOK_URL", "Title": "Ada has moved", "Text": "See *you*"}); err != nil {
			t.Fatal(err)
		}
		if err := w.post(map[string]any{"UrlSetting": "HOOK_URL", "KeySetting": "HOOK_KEY", "Body": map[string]any{"person": "Ada"}}); err != nil {
			t.Fatal(err)
		}
	}
	posts := w.receiver.Posts()
	if len(posts) != 4 || w.receiver.Refused() > 0 {
		t.Fatalf("%d posts, %d refused", len(posts), w.receiver.Refused())
	}
	for i, p := range posts {
		if p.ID != "1/7/1" || p.Signed != (i%2 == 1) {
			t.Errorf("post %d has the id %s, signed %v", i, p.ID, p.Signed)
		}
	}
	if body := string(posts[0].Body); !strings.Contains(body, "AdaptiveCard") || !strings.Contains(body, "Ada has moved") || !strings.Contains(body, "See *you*") {
		t.Errorf("got the card %s", body)
	}
	if body := string(posts[1].Body); body != `{"person":"Ada"}` {
		t.Errorf("got %s", body)
	}
}

// What may pass is repeated; all else fails at once, and no failure has the address.
func TestFailuresOfPosts(t *testing.T) {
	t.Parallel()
	title := map[string]any{"UrlSetting": "HOOK_URL", "Title": "x"}
	for note, tc := range map[string]struct {
		params    map[string]any
		answers   []int
		kind      string // empty: success
		says      string
		attempts  int
		throttled bool
	}{
		"a receiver that has a bad moment":  {title, []int{500, 503, 408}, "", "", 4, false},
		"a receiver that is busy":           {title, []int{429, 429}, "", "", 3, false},
		"a receiver that stays busy":        {title, []int{429, 429, 429, 429, 429, 429}, "HTTP 429", "HOOK_URL", 6, true},
		"a receiver that is gone":           {title, []int{404}, "HTTP 404", "answered with the status 404", 1, false},
		"nobody at the address":             {map[string]any{"UrlSetting": "DOWN_URL", "Title": "x"}, nil, catalog.FailureUnreachable, "no answer from the address in DOWN_URL", 5, false},
		"a setting that is not for posts":   {map[string]any{"UrlSetting": "OTHER_URL", "Title": "x"}, nil, catalog.FailureNotConfigured, "not listed in WEBHOOK_SETTINGS of the worker", 0, false},
		"a setting that is no URL":          {map[string]any{"UrlSetting": "HOOK_KEY", "Title": "x"}, nil, catalog.FailureNotConfigured, "does not contain an https URL", 0, false},
		"a setting that is no key":          {map[string]any{"UrlSetting": "HOOK_URL", "KeySetting": "HOOK_URL", "Title": "x"}, nil, catalog.FailureNotConfigured, "24 to 64 bytes", 0, false},
		"nothing to say":                    {map[string]any{"UrlSetting": "HOOK_URL"}, nil, catalog.FailureParameters, "one of Title and Body", 0, false},
		"a card and a body":                 {map[string]any{"UrlSetting": "HOOK_URL", "Title": "x", "Body": map[string]any{"a": 1}}, nil, catalog.FailureParameters, "one of Title and Body", 0, false},
		"a text beside a body":              {map[string]any{"UrlSetting": "HOOK_URL", "Text": "x", "Body": map[string]any{"a": 1}}, nil, catalog.FailureParameters, "Text is given with Body", 0, false},
		"a body that is a text":             {map[string]any{"UrlSetting": "HOOK_URL", "Body": "x"}, nil, catalog.FailureParameters, "Body", 0, false},
		"an address instead of its setting": {map[string]any{"UrlSetting": "https://example.com", "Title": "x"}, nil, catalog.FailureNotConfigured, "not listed", 0, false},
	} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			w.receiver.Answer(tc.answers...)
			err := w.post(tc.params)
			var f *catalog.Failure
			if tc.kind == "" {
				if err != nil || len(w.receiver.Posts()) != tc.attempts {
					t.Errorf("got %v after %d posts", err, len(w.receiver.Posts()))
				}
				return
			}
			if !errors.As(err, &f) || f.Type != tc.kind || !strings.Contains(f.Message, tc.says) || f.Attempts != tc.attempts || f.Throttled != tc.throttled {
				t.Errorf("got %+v, want %s after %d attempts about %q", err, tc.kind, tc.attempts, tc.says)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the failure has the address: %v", err)
			}
		})
	}
}
