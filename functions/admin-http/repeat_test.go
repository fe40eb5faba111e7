package adminhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// The host repeats a request when it loses the connection before the answer.

// TestEveryRouteMayBeRepeated sends each request of the tour, which has every route, as the
// host does that lost the answer: at the same time and again, with the id of the first. No
// repetition changes anything, and each has the status of the first.
func TestEveryRouteMayBeRepeated(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]bool{"without Idempotency-Key": false, "with Idempotency-Key": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReal(t)
			r.run()
			c := newContract(t, r)
			repeated := map[string]bool{}
			c.after = func(s *sent) {
				repeated[s.operation.OperationID] = true
				c.repeat(r, s)
			}
			c.before = func(o operation, request *http.Request) {
				request.Header.Set("X-Ms-Invocation-Id", uuid.NewString())
				if key && o.Parameters.GetByInAndName(openapi3.ParameterInHeader, "Idempotency-Key") != nil {
					request.Header.Set("Idempotency-Key", uuid.NewString())
				}
			}
			tour(c, r)
			for _, o := range c.operations {
				if !repeated[o.OperationID] {
					t.Errorf("%s was not repeated", o.OperationID)
				}
			}
		})
	}
}

// repeat sends a request again, three times at once and then once more.
func (c *contract) repeat(r *real, s *sent) {
	c.t.Helper()
	if s.status > 299 {
		return
	}
	before := r.changes(c.token["admin"])
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { c.again(s) })
	}
	all.Wait()
	c.again(s)
	if after := r.changes(c.token["admin"]); !slices.Equal(before, after) {
		c.t.Errorf("%s\nrepeated, changed\n%s\nto\n%s", s, strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}

// again sends a request once more and compares the answer with the first.
func (c *contract) again(s *sent) {
	request := s.request.Clone(c.t.Context())
	request.Body = io.NopCloser(strings.NewReader(s.body))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Error(err)
		return
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != s.status || answer.Header.Get("Location") != s.header.Get("Location") {
		c.t.Errorf("%s\nanswered %d %s when repeated: %s, %v", s, answer.StatusCode, answer.Header.Get("Location"), body, err)
	}
}

// changes lists the audit records of commands: each change has one, in the same commit.
func (r *real) changes(token string) []string {
	r.t.Helper()
	var found []string
	for path := "/api/audit?limit=1000"; path != ""; {
		var page api.Page[api.AuditRecord]
		r.call(request{"GET", path, token, "", ""}, http.StatusOK, &page)
		for _, record := range page.Items {
			if (record.Action == "remove_member" || record.Action == "move_members" || record.Action == "move_member") && strings.Contains(record.Target, ": ") {
				continue // the orchestrator carries out a confirmation, or a move
			}
			if record.Action == "add_members" && strings.Contains(string(record.After), "movedFrom") {
				continue // likewise
			}
			if record.ByKind == api.ActorApplication && !strings.HasPrefix(record.Action, "read") {
				found = append(found, fmt.Sprintf("%s %s %d %s %s", record.At, record.Action, record.BatchID, record.Runbook, record.Target))
			}
		}
		if path = ""; page.Continuation != "" {
			path = "/api/audit?limit=1000&continuationToken=" + url.QueryEscape(page.Continuation)
		}
	}
	return found
}

// TestRequestIsRepeatedAfterItsAnswerWasLost has the caller of the first request leave before
// the answer, so that its context ends amid the work.
func TestRequestIsRepeatedAfterItsAnswerWasLost(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	admin := r.token(automationID)
	r.call(request{"POST", "/api/runbooks", admin, "application/yaml", moves}, 201, nil)
	for i := range 20 {
		media, body := form(t, "runbook", "moves", "file", fmt.Sprintf("UserId,Mail\nu%d,a\nv%d,b\n", i, i))
		ctx, leave := context.WithCancel(t.Context())
		id := uuid.NewString()
		post := func(ctx context.Context) (*http.Response, error) {
			q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/api/batches?allowInOtherBatches=true", strings.NewReader(body))
			check(t, err)
			q.Header = http.Header{"Authorization": {"Bearer " + admin}, "Content-Type": {media}, "X-Ms-Invocation-Id": {id}}
			return http.DefaultClient.Do(q)
		}
		calls := 0
		remove := r.cosmos.Inject(cosmos.Fault{Latency: time.Millisecond, Match: func(cosmos.Request) bool { // the lock of the faults guards calls
			if calls++; calls == 1+i%8 {
				leave()
			}
			return true
		}})
		if lost, err := post(ctx); err == nil {
			_ = lost.Body.Close()
		}
		remove()
		answer, err := post(t.Context())
		check(t, err)
		var batch api.Batch
		check(t, json.NewDecoder(answer.Body).Decode(&batch))
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusCreated || batch.MemberCount != 2 {
			t.Errorf("request %d, repeated: %s, %+v", i, answer.Status, batch)
		}
		leave()
	}
	var page api.Page[api.Batch]
	r.call(request{"GET", "/api/batches?limit=100", admin, "", ""}, 200, &page)
	if len(page.Items) != 20 {
		t.Errorf("20 requests made %d batches", len(page.Items))
	}
}
