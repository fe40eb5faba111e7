package graph_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// inProcess calls a tenant without a network, so that a bubble's clock can run.
type inProcess struct{ *tenant.Server }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result(), nil
}

// limitedTenant is a tenant that takes a fifth of a second for each request and
// has the limit, with the functions on it. It goes by the bubble's clock.
func limitedTenant(t *testing.T, server *tenant.Server, limit tenant.Fault, config graph.Config) *catalog.Catalog {
	t.Helper()
	limit.Status, limit.DelayMS = http.StatusTooManyRequests, 200
	if err := server.SetFaults(tenant.Faults{Rules: []tenant.Fault{limit, {DelayMS: 200}}}); err != nil {
		t.Fatal(err)
	}
	config.URL, config.Credential, config.Policy = "https://graph.microsoft.com", &credential{}, throttle.Default()
	config.HTTP = &http.Client{Transport: inProcess{server}}
	client := testenv.Must(graph.New(config))(t)
	return testenv.Must(catalog.New(client.Functions()...))(t)
}

// makeUsers makes so many users, sixteen at a time.
func makeUsers(t *testing.T, functions *catalog.Catalog, n int) {
	t.Helper()
	var jobs sync.WaitGroup
	room := make(chan struct{}, 16)
	for i := range n {
		room <- struct{}{}
		jobs.Go(func() {
			defer func() { <-room }()
			if _, err := functions.Call(t.Context(), "New-EntraUser", fmt.Appendf(nil,
				`{"DisplayName": "User %d", "UserPrincipalName": "user%d@contoso.example"}`, i, i)); err != nil {
				t.Errorf("user %d: %v", i, err)
			}
		})
	}
	jobs.Wait()
}

func newTenant(t *testing.T) *tenant.Server {
	t.Helper()
	return testenv.Started(tenant.Start(t.Context(), tenant.Config{Now: time.Now}))(t)
}

// A tenant that allows forty writes in ten seconds refuses the calls under way
// when they are used up, and then gets no call until Retry-After.
func TestSixteenJobsMakeFewCallsInVain(t *testing.T) {
	t.Parallel()
	server := newTenant(t)
	synctest.Test(t, func(t *testing.T) {
		functions := limitedTenant(t, server, tenant.Fault{Op: "POST /users", After: 40, PerMS: 10_000}, graph.Config{})
		makeUsers(t, functions, 200)
		posts := server.Requests()["graph POST /users"]
		// Five periods of forty, at the end of four of which sixteen calls at most are
		// under way.
		if posts[http.StatusCreated] != 200 || posts[http.StatusTooManyRequests] > 4*16 || posts[http.StatusTooManyRequests] < 4 {
			t.Errorf("%v, want 200 users and few calls in vain", posts)
		}
		if n := len(server.State().Users); n != 200 {
			t.Errorf("%d users", n)
		}
	})
}

// A worker that knows the limit does not run into it.
func TestNoCallIsMadeInVainWithinTheLimit(t *testing.T) {
	t.Parallel()
	server := newTenant(t)
	synctest.Test(t, func(t *testing.T) {
		functions := limitedTenant(t, server, tenant.Fault{Op: "POST /users", After: 40, PerMS: 10_000}, graph.Config{
			Writes: throttle.Rate{Calls: 40, Per: 10 * time.Second},
		})
		began := time.Now()
		makeUsers(t, functions, 200)
		if posts := server.Requests()["graph POST /users"]; posts[http.StatusCreated] != 200 || posts[http.StatusTooManyRequests] != 0 {
			t.Errorf("%v, want 200 users and no call in vain", posts)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// A job whose turn would come after its time limit is throttled, and says so at
// once; the tenant is not asked.
func TestAJobWhoseTurnComesTooLateIsThrottled(t *testing.T) {
	t.Parallel()
	server := newTenant(t)
	synctest.Test(t, func(t *testing.T) {
		functions := limitedTenant(t, server, tenant.Fault{Op: "POST /users", After: 1, PerMS: 300_000}, graph.Config{})
		makeUsers(t, functions, 1)
		for _, want := range []struct {
			kind     string
			attempts int
			calls    int // refused in all
		}{{"TooManyRequests", 1, 1}, {catalog.FailureThrottled, 0, 1}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := functions.Call(ctx, "New-EntraUser", []byte(`{"DisplayName": "Grace", "UserPrincipalName": "grace@contoso.example"}`))
			var f *catalog.Failure
			if !errors.As(err, &f) || f.Type != want.kind || !f.Throttled || f.Attempts != want.attempts ||
				f.RetryAfter < 290*time.Second || f.RetryAfter > 310*time.Second {
				t.Errorf("got %+v, want %+v", f, want)
			}
			if ctx.Err() != nil {
				t.Error("it took its whole time limit")
			}
			if n := server.Requests()["graph POST /users"][http.StatusTooManyRequests]; n != want.calls {
				t.Errorf("%d calls in vain, want %d", n, want.calls)
			}
		}
	})
}
