package adminhttp_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	adminhttp "github.com/matoolkit/matoolkit/functions/admin-http"
	"github.com/matoolkit/matoolkit/internal/api"
)

// followed are the routes of a batch that answer 304.
var followed = []string{"", "?include=phases", "/members", "/members/5", "/phases", "/steps", "/steps?include=params,result", "/steps/10000005000", "/errors", "/tasks/1", "/checks", "/removals", "/audit"}

func TestUnchangedBatchIsNotReadAgain(t *testing.T) {
	t.Parallel()
	for _, path := range followed {
		for header, notModified := range map[string]bool{
			`W/"m1"`: true, `"m1"`: true, `"b.m1"`: true, `W/"x", "b.m1"`: true, "m1": true,
			"": false, "*": false, `W/"m0"`: false, `"m1.m0"`: false, `""`: false,
		} {
			h := &recorder{marks: map[int]string{7: "m1"}}
			in := httptest.NewRequest(http.MethodGet, "/api/batches/7"+path, nil)
			in.Header.Set("Authorization", "Bearer reader")
			if header != "" {
				in.Header.Set("If-None-Match", header)
			}
			w := httptest.NewRecorder()
			adminhttp.New(adminhttp.Config{UseCases: h.useCases(), Verifier: tokens{}, Log: slog.New(slog.DiscardHandler)}).ServeHTTP(w, in)
			if !notModified {
				if w.Code != http.StatusOK || !strings.HasSuffix(w.Header().Get("ETag"), `m1"`) || len(h.calls) == 0 {
					t.Errorf("%s with If-None-Match %s: %d, ETag %s, calls %v", path, header, w.Code, w.Header().Get("ETag"), h.calls)
				}
				continue
			}
			if w.Code != http.StatusNotModified || w.Body.Len() > 0 || w.Header().Get("ETag") != `W/"m1"` || len(w.Header().Get("X-Trace-Id")) != 32 || h.calls != nil {
				t.Errorf("%s with If-None-Match %s: %d %s, ETag %s, calls %v", path, header, w.Code, w.Body, w.Header().Get("ETag"), h.calls)
			}
		}
	}
}

// Each change of a batch is seen by a caller who follows it, and only changes are.
func TestFollowerSeesEachChange(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin := r.token(automationID)
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", moves}, http.StatusCreated, nil)
	media, body := form(t, "runbook", "moves", "file", "UserId,Mail\nu1,a\nu2,b\n")
	r.call(request{"POST", "/api/batches", admin, media, body}, http.StatusCreated, nil)

	read := func(path, tag string) (status int, next string) {
		t.Helper()
		in, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/api/batches/1"+path, nil)
		check(t, err)
		in.Header.Set("Authorization", "Bearer "+admin)
		in.Header.Set("If-None-Match", tag)
		answer, err := http.DefaultClient.Do(in)
		check(t, err)
		check(t, answer.Body.Close())
		return answer.StatusCode, answer.Header.Get("ETag")
	}
	paths := []string{"", "/phases", "/members", "/steps"}
	tags := map[string]string{}
	for _, path := range paths { // the audit records of these reads are changes
		_, _ = read(path, "")
	}
	changed := func(what string) {
		t.Helper()
		for _, path := range paths {
			status, tag := read(path, tags[path])
			if status != http.StatusOK || tag == "" {
				t.Errorf("%s: %s is %d with the ETag %s", what, path, status, tag)
			}
			tags[path] = tag
		}
		for _, path := range paths {
			if status, tag := read(path, tags[path]); status != http.StatusNotModified && tag == tags[path] {
				t.Errorf("%s: %s is %d with the same ETag", what, path, status)
			}
		}
	}
	changed("the first read")
	steer := func(what, with string) {
		t.Helper()
		r.call(request{"POST", "/api/batches/1/" + what, admin, jsonMedia, with}, map[string]int{"advance": 202}[what]+map[bool]int{true: 200}[what != "advance"], nil)
		changed(what)
	}
	steer("pause", `{}`)
	steer("resume", `{}`)
	steer("advance", `{"phase":"move"}`)
	var member api.Member
	r.call(request{"GET", "/api/batches/1/members/1", admin, "", ""}, http.StatusOK, &member)
	r.call(request{"PATCH", "/api/batches/1/members/1", admin, jsonMedia, `{"data":{"Mail":"c"}}`}, http.StatusOK, nil)
	changed("a correction")
}

// The ETag of a batch is for If-Match, too, with its change mark and without.
func TestETagOfABatchIsForBothConditions(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin := r.token(automationID)
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", moves}, http.StatusCreated, nil)
	media, body := form(t, "runbook", "moves", "file", "UserId,Mail\nu1,a\n")
	r.call(request{"POST", "/api/batches", admin, media, body}, http.StatusCreated, nil)
	for _, stale := range []bool{false, true} {
		in, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/api/batches/1", nil)
		check(t, err)
		in.Header.Set("Authorization", "Bearer "+admin)
		answer, err := http.DefaultClient.Do(in)
		check(t, err)
		check(t, answer.Body.Close())
		tag, want := answer.Header.Get("ETag"), http.StatusOK
		if stale {
			r.call(request{"PATCH", "/api/batches/1", admin, jsonMedia, `{"note":"in between"}`}, http.StatusOK, nil)
			want = http.StatusPreconditionFailed
		}
		change, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, r.url+"/api/batches/1", strings.NewReader(`{"note":"`+tag[1:8]+`"}`))
		check(t, err)
		change.Header.Set("Authorization", "Bearer "+admin)
		change.Header.Set("Content-Type", jsonMedia)
		change.Header.Set("If-Match", tag)
		answer, err = http.DefaultClient.Do(change)
		check(t, err)
		check(t, answer.Body.Close())
		if answer.StatusCode != want || !strings.Contains(tag, ".") {
			t.Errorf("with the ETag %s: %d, want %d", tag, answer.StatusCode, want)
		}
	}
}
