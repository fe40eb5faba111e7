package adminhttp_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/api"
)

// sendWithKey sends a request with idempotency keys and returns the answer's replay header.
func (r *real) sendWithKey(q request, status int, into any, keys ...string) (replayed string) {
	r.t.Helper()
	out, err := http.NewRequestWithContext(r.t.Context(), q.method, r.url+q.path, strings.NewReader(q.body))
	check(r.t, err)
	out.Header = http.Header{"Authorization": {"Bearer " + q.token}, "Content-Type": {q.media}, "Idempotency-Key": keys}
	answer, err := http.DefaultClient.Do(out)
	check(r.t, err)
	defer answer.Body.Close()
	if answer.StatusCode != status {
		r.t.Fatalf("%s %s: status %d, want %d", q.method, q.path, answer.StatusCode, status)
	}
	check(r.t, json.NewDecoder(answer.Body).Decode(into))
	return answer.Header.Get("Idempotency-Replayed")
}

// hear sends a request with keys and gives what the use cases were called with.
func hear(q request, keys ...string) (*recorder, *httptest.ResponseRecorder) {
	h := &recorder{}
	in := httptest.NewRequest(q.method, q.path, strings.NewReader(q.body))
	in.Header = http.Header{"Authorization": {"Bearer " + q.token}, "Content-Type": {q.media}, "Idempotency-Key": keys}
	w := httptest.NewRecorder()
	adminhttp.New(adminhttp.Config{UseCases: h.useCases(), Verifier: tokens{}, Log: slog.New(slog.DiscardHandler)}).ServeHTTP(w, in)
	return h, w
}

// The three requests that take a key, over HTTP: the same content in another form, the
// same answer; other content and bad keys refused.
func TestRequestIsCarriedOutOnceByItsKey(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin := r.token(automationID)
	publish := request{"POST", "/api/runbooks", admin, "application/yaml", moves}
	var first, again api.Runbook
	if was := r.sendWithKey(publish, 201, &first, "k"); was != "" {
		t.Errorf("replayed: %q", was)
	}
	if was := r.sendWithKey(publish, 201, &again, "k"); was != "true" || fmt.Sprint(again.Version, again.CreatedAt) != fmt.Sprint(first.Version, first.CreatedAt) {
		t.Errorf("replayed: %q, %+v", was, again)
	}
	other := publish
	other.body += "\n# other\n"
	var refusal struct{ Error string }
	r.sendWithKey(other, 422, &refusal, "k")
	if refusal.Error != string(api.CodeKeyReused) {
		t.Errorf("%+v", refusal)
	}

	upload := func(csv string) request { // each form has a boundary of its own
		media, body := form(t, "runbook", "moves", "file", csv)
		return request{"POST", "/api/batches", admin, media, body}
	}
	var made, same api.Batch
	r.sendWithKey(upload("UserId,Mail\nu1,m\n"), 201, &made, "k")
	if was := r.sendWithKey(upload("UserId,Mail\nu1,m\n"), 201, &same, "k"); was != "true" || same.ID != made.ID {
		t.Errorf("replayed: %q, %+v", was, same)
	}
	r.sendWithKey(upload("UserId,Mail\nu2,m\n"), 422, &refusal, "k")
	if r.sendWithKey(upload("UserId,Mail\nu2,m\n"), 201, &same, "K"); same.ID == made.ID {
		t.Errorf("%+v", same)
	}

	add := func(csv string) request {
		media, body := form(t, "file", csv)
		return request{"POST", fmt.Sprintf("/api/batches/%d/members", made.ID), admin, media, body}
	}
	var added api.AddResult
	for _, want := range []string{"", "true"} {
		if was := r.sendWithKey(add("UserId,Mail\nu7,m\n"), 201, &added, "k"); was != want || added.Added != 1 || added.Batch.MemberCount != 2 {
			t.Errorf("replayed: %q, want %q: %+v", was, want, added)
		}
	}
	for _, want := range []string{"", "true"} { // nobody is new
		if was := r.sendWithKey(add("UserId,Mail\nu7,m\n"), 200, &added, "k2"); was != want || added.Added != 0 || len(added.Present) != 1 {
			t.Errorf("replayed: %q, want %q: %+v", was, want, added)
		}
	}
	r.sendWithKey(add("UserId,Mail\nu8,m\n"), 422, &refusal, "k")
}

func TestKeyOfARequestIsVisibleASCII(t *testing.T) {
	t.Parallel()
	media, members := form(t, "file", "Key\n")
	batchMedia, batch := form(t, "runbook", "moves", "file", "Key\n")
	for _, q := range []request{
		{"POST", "/api/runbooks", "admin", "application/yaml", "name: x"},
		{"POST", "/api/batches", "admin", batchMedia, batch},
		{"POST", "/api/batches/7/members", "admin", media, members},
	} {
		for name, keys := range map[string][]string{
			"empty": {""}, "long": {strings.Repeat("k", 256)}, "a space": {"a b"}, "a tab": {"a\tb"}, "beyond ASCII": {"ké"}, "two": {"a", "b"},
		} {
			h, w := hear(q, keys...)
			if p := readProblem(t, w); w.Code != http.StatusBadRequest || p.Error != "invalid" || !strings.Contains(p.Detail, "Idempotency-Key") {
				t.Errorf("%s, %s: %d %+v", q.path, name, w.Code, p)
			} else if name == "long" && !strings.Contains(p.Detail, "has 256 bytes; a key has 1 to 255 visible ASCII characters without spaces") {
				t.Errorf("%s: %s", q.path, p.Detail)
			}
			if len(h.calls) > 0 {
				t.Errorf("%s, %s: %v", q.path, name, h.calls)
			}
		}
		for _, key := range []string{"!", "~", `"quoted"`, strings.Repeat("k", 255)} {
			if h, w := hear(q, key); w.Code > 299 || len(h.calls) != 1 || h.by.Key != key || h.by.Name != "avery@contoso" {
				t.Errorf("%s, %s: %d %v by %+v", q.path, key, w.Code, h.calls, h.by)
			}
		}
	}
}

// A caller who sends a key relies on it, so a route that takes none refuses it.
func TestKeyIsHonouredOrRefused(t *testing.T) {
	t.Parallel()
	d := rawDoc{t, rawDocument(t)}
	d.operations(func(where string, o node) {
		takes := false
		parameters, _ := o["parameters"].([]any)
		for _, p := range parameters {
			takes = takes || d.resolve(p.(node))["name"] == "Idempotency-Key"
		}
		method, path, _ := strings.Cut(where, " ")
		for name, key := range map[string]string{"a key": "k", "an empty key": "", "a key with a space": "a b"} {
			h, w := hear(request{method, "/api" + described.ReplaceAllString(path, "1"), "admin", jsonMedia, "{}"}, key)
			var p api.Problem
			_ = json.Unmarshal(w.Body.Bytes(), &p)
			refused := w.Code == http.StatusBadRequest && p.Error == api.CodeInvalid && strings.Contains(p.Detail, "Idempotency-Key") && h.calls == nil
			if want := !takes || name != "a key"; refused != want {
				t.Errorf("%s with %s: %d %s, calls %v", where, name, w.Code, w.Body, h.calls)
			}
			if !takes && !strings.Contains(p.Detail, "this route takes no Idempotency-Key") {
				t.Errorf("%s with %s: %s", where, name, p.Detail)
			}
		}
	})
}
