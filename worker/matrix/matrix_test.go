package matrix_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/calls"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// outcome is the outcome of a row without faults: the answer, the tenant before and
// after, and the number of requests.
type outcome struct {
	answer        string
	before, after []string
	requests      int
}

func undisturbed(t *testing.T, r row) outcome {
	t.Helper()
	w := start(t, r, nil)
	o := outcome{before: w.state()}
	var err error
	if o.answer, err = w.deliver(t.Context(), r, false); err != nil {
		t.Fatalf("without any trouble: %v", err)
	}
	o.after, o.requests = w.state(), w.requests()
	return o
}

// expect holds a later run to what came of the undisturbed one.
func (w *world) expect(o outcome, note, answer string, err error) {
	w.t.Helper()
	if err != nil || answer != o.answer {
		w.t.Errorf("%s: got %s, %v; want %s", note, answer, err, o.answer)
	}
	if d := difference(o.after, w.state()); len(d) > 0 {
		w.t.Errorf("%s: the tenant is not as it should be:\n%s", note, strings.Join(d, "\n"))
	}
}

// each runs a test for each row, with what comes of it when nothing is in the way.
func each(t *testing.T, test func(t *testing.T, r row, o outcome)) {
	t.Helper()
	t.Parallel()
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			test(t, r, undisturbed(t, r))
		})
	}
}

// The golden files tell what each function answers and changes, to be read.
func TestSuccess(t *testing.T) {
	each(t, func(t *testing.T, r row, o outcome) {
		lines := append([]string{fmt.Sprintf("%s, %d requests", o.answer, o.requests)}, difference(o.before, o.after)...)
		got := strings.Join(lines, "\n") + "\n"
		path := filepath.Join("testdata", r.name+".golden")
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != got {
			t.Errorf("%s differs (UPDATE_GOLDEN=1 writes it anew), %v:\n%s", path, err, got)
		}
	})
}

// Every described call is made by some function.
func TestEveryDescribedCallIsMade(t *testing.T) {
	t.Parallel()
	made := map[string]bool{}
	for _, r := range rows() {
		w := start(t, r, nil)
		for _, again := range []bool{false, true} {
			if _, err := w.deliver(t.Context(), r, again); err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
		}
		for name := range w.calls.Seen() {
			made[name] = true
		}
	}
	for _, name := range calls.Names() {
		if !made[name] {
			t.Errorf("%s is described, but no function asks for it", name)
		}
	}
}

func TestDeliveredAgainAfterItWasDone(t *testing.T) {
	each(t, func(t *testing.T, r row, o outcome) {
		w := start(t, r, nil)
		for range 3 {
			answer, err := w.deliver(t.Context(), r, false)
			w.expect(o, "a retry", answer, err)
			answer, err = w.deliver(t.Context(), r, true)
			w.expect(o, "a redelivery", answer, err)
		}
	})
}

// One request of a function goes wrong, each in its turn.
func TestOneRequestFails(t *testing.T) {
	for note, fault := range map[string]tenant.Fault{
		"429 with Retry-After":    {Status: 429, RetryAfter: "7"},
		"429 with a fraction":     {Status: 429, RetryAfter: "0.5"},
		"429":                     {Status: 429},
		"three times 429":         {Status: 429, Count: 3},
		"503 with Retry-After":    {Status: 503, RetryAfter: "7"},
		"503":                     {Status: 503},
		"500":                     {Status: 500},
		"504 after the write":     {Status: 504, AfterWrite: true},
		"cut off":                 {Drop: true},
		"cut off after the write": {Drop: true, AfterWrite: true},
		"429 after the write":     {Status: 429, AfterWrite: true},
	} {
		t.Run(note, func(t *testing.T) {
			each(t, func(t *testing.T, r row, o outcome) {
				for n := range o.requests {
					w := start(t, r, nil)
					fault := fault
					fault.After, fault.Count = n, max(fault.Count, 1)
					w.faults(r, fault)
					answer, err := w.deliver(t.Context(), r, false)
					w.expect(o, fmt.Sprintf("request %d", n+1), answer, err)
					if want := 7 * time.Second; fault.RetryAfter == "7" && !slices.Contains(w.clock.slept, want) {
						t.Errorf("request %d: slept %v, not as Retry-After says", n+1, w.clock.slept)
					}
				}
			})
		})
	}
}

// Every second request is refused, all the way.
func TestBursts(t *testing.T) {
	each(t, func(t *testing.T, r row, o outcome) {
		for _, every := range []int{2, 3} {
			w := start(t, r, nil)
			w.faults(r, tenant.Fault{Status: 429, Every: every})
			answer, err := w.deliver(t.Context(), r, false)
			w.expect(o, fmt.Sprintf("every %d", every), answer, err)
		}
	})
}

// Throttling that does not end fails the job, as what it is, and changes nothing.
func TestThrottlingWithoutEnd(t *testing.T) {
	each(t, func(t *testing.T, r row, o outcome) {
		w := start(t, r, nil)
		w.faults(r, tenant.Fault{Status: 429, RetryAfter: "17"})
		_, err := w.deliver(t.Context(), r, false)
		var f *catalog.Failure
		if !errors.As(err, &f) || !f.Throttled || f.Attempts != 6 || f.RetryAfter != 17*time.Second {
			t.Errorf("got %+v, want a throttled failure after 6 attempts, to be tried after 17 s", err)
		}
		if d := difference(o.before, w.state()); len(d) > 0 {
			t.Errorf("the tenant was changed:\n%s", strings.Join(d, "\n"))
		}
	})
}

// The worker is killed before and after each request, and another one gets the job.
func TestKilledBetweenTwoRequests(t *testing.T) {
	each(t, func(t *testing.T, r row, o outcome) {
		for n := 1; n <= o.requests; n++ {
			for _, sent := range []bool{false, true} {
				w := start(t, r, nil)
				ctx, kill := context.WithCancel(t.Context())
				w.interrupt(func(at int, _ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
					if at != n {
						return send()
					}
					if sent {
						if response, err := send(); err == nil {
							_ = response.Body.Close()
						}
					}
					kill()
					return nil, context.Canceled
				})
				note := fmt.Sprintf("killed at request %d (sent: %v)", n, sent)
				if answer, err := w.deliver(ctx, r, false); err == nil {
					t.Errorf("%s: answered %s", note, answer)
				}
				kill()
				w.interrupt(nil)
				answer, err := w.deliver(t.Context(), r, true)
				w.expect(o, note, answer, err)
			}
		}
	})
}

// A lock was lost and two workers carry out the same job.
func TestTwoWorkersAtOnce(t *testing.T) {
	each(t, func(t *testing.T, r row, o outcome) {
		w := start(t, r, nil)
		w.allow(r.function, r.permissions)
		workers := []*catalog.Catalog{w.worker(), w.worker(), w.worker()}
		answers, failures := make([]string, len(workers)), make([]error, len(workers))
		var group sync.WaitGroup
		for i, worker := range workers {
			group.Go(func() { answers[i], failures[i] = w.callOn(t.Context(), worker, r.function, r.params, i > 0) })
		}
		group.Wait()
		for i := range workers {
			w.expect(o, fmt.Sprintf("worker %d", i), answers[i], failures[i])
		}
	})
}

// Reads are stale for a while, also for a second delivery right after the first.
func TestReplicationLag(t *testing.T) {
	each(t, func(t *testing.T, r row, o outcome) {
		w := start(t, r, func(c *tenant.Config) { c.Lag = 10 * time.Second })
		for _, again := range []bool{false, true} {
			answer, err := w.deliver(t.Context(), r, again)
			w.expect(o, fmt.Sprintf("again: %v", again), answer, err)
		}
	})
}

// The token ends at each request in its turn.
func TestTokenExpiresInTheMiddle(t *testing.T) {
	each(t, func(t *testing.T, r row, o outcome) {
		for n := 1; n <= o.requests; n++ {
			w := start(t, r, nil)
			var err error
			if w.signin, err = open(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(w.signin.Close)
			w.interrupt(func(at int, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				if at == n {
					w.mu.Lock()
					w.revoked[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")] = true
					w.mu.Unlock()
				}
				return send()
			})
			answer, err := w.deliver(t.Context(), r, false)
			w.expect(o, fmt.Sprintf("at request %d", n), answer, err)
		}
	})
}

// Without the permission, or without the directory role that Exchange Online wants
// besides, a job fails at once and says so.
func TestWithoutPermission(t *testing.T) {
	for note, lacks := range map[string]error{"permission": tenant.ErrMissingPermission, "role": tenant.ErrMissingRole} {
		t.Run(note, func(t *testing.T) {
			each(t, func(t *testing.T, r row, o outcome) {
				w := start(t, r, nil)
				w.refuse = lacks
				_, err := w.deliver(t.Context(), r, false)
				want := "Authorization_RequestDenied"
				if onExchange(r.function) {
					want = map[error]string{tenant.ErrMissingPermission: "HTTP 401", tenant.ErrMissingRole: "Microsoft.Exchange.Admin.OData.Core.ODataServiceException"}[lacks]
				}
				if !slices.ContainsFunc(catalog.CommonErrors(), func(e catalog.Error) bool { return e.Type == want }) {
					t.Errorf("%s is not documented", want)
				}
				var f *catalog.Failure
				if !errors.As(err, &f) || f.Type != want || f.Throttled || f.Attempts != 1 {
					t.Errorf("got %+v, want %s at the first attempt", err, want)
				}
				if d := difference(o.before, w.state()); len(d) > 0 {
					t.Errorf("the tenant was changed:\n%s", strings.Join(d, "\n"))
				}
			})
		})
	}
}

func onExchange(function string) bool {
	return strings.Contains(function, "-Exchange") || function == "Set-EntraProxyAddresses"
}

func TestDocumentedErrors(t *testing.T) {
	each(t, func(t *testing.T, r row, o outcome) {
		for _, refused := range r.refusals {
			w := start(t, r, nil)
			params := maps.Clone(r.params)
			for name, value := range refused.change {
				params[name] = value
			}
			w.allow(r.function, r.permissions)
			answer, err := w.callOn(t.Context(), w.worker(), r.function, params, false)
			var f *catalog.Failure
			if !errors.As(err, &f) || f.Type != refused.kind || !strings.Contains(f.Message, refused.says) || f.Throttled {
				t.Errorf("%s: got %s, %+v; want %s about %q", refused.note, answer, err, refused.kind, refused.says)
			}
			if d := difference(o.before, w.state()); len(d) > 0 {
				t.Errorf("%s: the tenant was changed:\n%s", refused.note, strings.Join(d, "\n"))
			}
		}
	})
}
