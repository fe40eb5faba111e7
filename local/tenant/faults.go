package tenant

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/exchange"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// Faults says how the tenant misbehaves until the next SetFaults. The zero
// value is a tenant in good health.
type Faults struct {
	Seed  uint64  `json:"seed"`  // of the random numbers behind Probability
	LagMS int     `json:"lagMs"` // replication lag in milliseconds; 0 keeps Config.Lag
	Rules []Fault `json:"rules"` // the first rule that strikes a request is used

	// ExternalMovesPrimary makes a changed ExternalEmailAddress the primary
	// address when the two were the same before. Reports about Exchange Online
	// differ, so a client has to be right both ways.
	ExternalMovesPrimary bool `json:"externalMovesPrimary"`
	// IgnoresPrimarySMTP has New-MailUser ignore PrimarySmtpAddress: the external address then is
	// the primary one. The reference says that the parameter works on-premises only, and
	// Microsoft's guide for moves uses it in Exchange Online.
	IgnoresPrimarySMTP bool `json:"ignoresPrimarySmtp"`
}

// Fault strikes some of the requests that it matches. Of the requests that
// match, the first After pass; of those that follow every Every-th is struck
// (0 and 1: each), or each with Probability when that is not 0; Count ends it. With
// PerMS it is a limit instead: of the requests in a period of so many milliseconds
// the first After pass and the others are struck. A period begins with the first
// request after the last one has ended.
type Fault struct {
	Service     string  `json:"service,omitempty"`  // "graph", "exchange" or empty for both
	Op          string  `json:"op,omitempty"`       // part of the operation's name, as GET /_local/requests lists it
	Contains    string  `json:"contains,omitempty"` // part of the request body or path, e.g. one person's address
	After       int     `json:"after,omitempty"`
	Every       int     `json:"every,omitempty"`
	Probability float64 `json:"probability,omitempty"`
	Count       int     `json:"count,omitempty"` // at most so many times; 0: no limit
	PerMS       int     `json:"perMs,omitempty"`

	DelayMS    int    `json:"delayMs,omitempty"`    // wait so long first
	Status     int    `json:"status,omitempty"`     // answer with this error status: 408, 429 or 500 to 504
	RetryAfter string `json:"retryAfter,omitempty"` // Retry-After of that answer, as it is ("2", "0.5"); empty: none, with PerMS what is left of the period
	Message    string `json:"message,omitempty"`    // text of that answer; empty: the usual one
	Drop       bool   `json:"drop,omitempty"`       // close the connection instead of answering
	AfterWrite bool   `json:"afterWrite,omitempty"` // fail or drop only once the request has been carried out
}

func (f Faults) check() error {
	for i, r := range f.Rules {
		switch {
		case r.Service != "" && r.Service != "graph" && r.Service != "exchange":
			return fmt.Errorf("tenant: fault rule %d: service %q is neither graph nor exchange", i, r.Service)
		case r.Status != 0 && r.Status != 408 && r.Status != 429 && (r.Status < 500 || r.Status > 504):
			return fmt.Errorf("tenant: fault rule %d: status %d is not one of 408, 429, 500 to 504", i, r.Status)
		case r.Probability < 0 || r.Probability > 1:
			return fmt.Errorf("tenant: fault rule %d: probability %v is not between 0 and 1", i, r.Probability)
		case r.After < 0 || r.Every < 0 || r.Count < 0 || r.DelayMS < 0 || r.PerMS < 0:
			return fmt.Errorf("tenant: fault rule %d: a negative number", i)
		case r.PerMS > 0 && (r.Every > 0 || r.Probability > 0):
			return fmt.Errorf("tenant: fault rule %d: perMs cannot be combined with every or probability", i)
		case r.Status == 0 && !r.Drop && r.DelayMS == 0:
			return fmt.Errorf("tenant: fault rule %d: give status, drop or delayMs", i)
		}
	}
	if f.LagMS < 0 {
		return fmt.Errorf("tenant: lagMs is negative")
	}
	return nil
}

// SetFaults replaces all fault rules and starts their counts anew.
func (s *Server) SetFaults(f Faults) error {
	if err := f.check(); err != nil {
		return err
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.set = f
	s.faults.random = rand.New(rand.NewPCG(f.Seed, f.Seed))
	s.faults.seen = make([]int, len(f.Rules))
	s.faults.struck = make([]int, len(f.Rules))
	s.faults.ends = make([]time.Time, len(f.Rules))
	return nil
}

type injector struct {
	mu           sync.Mutex
	set          Faults
	random       *rand.Rand
	seen, struck []int
	ends         []time.Time // of the running period of each rule with PerMS
}

func (i *injector) lag(configured time.Duration) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.set.LagMS > 0 {
		return time.Duration(i.set.LagMS) * time.Millisecond
	}
	return configured
}

func (i *injector) externalMovesPrimary() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.set.ExternalMovesPrimary
}

func (i *injector) ignoresPrimarySMTP() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.set.IgnoresPrimarySMTP
}

// next returns the fault for this request.
func (i *injector) next(c *odata.Call, clock func() time.Time) Fault {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n, rule := range i.set.Rules {
		if !rule.matches(c) {
			continue
		}
		if period := time.Duration(rule.PerMS) * time.Millisecond; period > 0 {
			now := clock()
			if !now.Before(i.ends[n]) {
				i.seen[n], i.ends[n] = 0, now.Add(period)
			}
			if rule.RetryAfter == "" {
				rule.RetryAfter = fmt.Sprint(math.Ceil(i.ends[n].Sub(now).Seconds()))
			}
		}
		i.seen[n]++
		if i.strikes(n, rule) {
			i.struck[n]++
			return rule
		}
	}
	return Fault{}
}

func (i *injector) strikes(n int, rule Fault) bool {
	turn := i.seen[n] - rule.After
	switch {
	case turn <= 0, rule.Count > 0 && i.struck[n] >= rule.Count:
		return false
	case rule.Probability > 0:
		return i.random.Float64() < rule.Probability
	case rule.Every > 1:
		return turn%rule.Every == 0
	}
	return true
}

func (f Fault) matches(c *odata.Call) bool {
	if f.Service != "" && f.Service != c.Service || !strings.Contains(c.Op, f.Op) {
		return false
	}
	return f.Contains == "" || strings.Contains(strings.Join(c.Path, "/"), f.Contains) || strings.Contains(string(c.Body), f.Contains)
}

// wait delays the request; false means that the caller has gone.
func (f Fault) wait(ctx context.Context) bool {
	if f.DelayMS == 0 {
		return true
	}
	timer := time.NewTimer(time.Duration(f.DelayMS) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// before is the answer given instead of carrying the request out, nil to carry
// it out.
func (f Fault) before(c *odata.Call) *odata.Reply {
	if f.AfterWrite {
		return nil
	}
	return f.answer(c)
}

// after is the answer that takes the place of the true one, nil for none.
func (f Fault) after(c *odata.Call) *odata.Reply {
	if !f.AfterWrite {
		return nil
	}
	return f.answer(c)
}

func (f Fault) answer(c *odata.Call) *odata.Reply {
	switch {
	case f.Drop:
		return odata.Dropped
	case f.Status == 0:
		return nil
	}
	names := map[int][2]string{
		http.StatusRequestTimeout:      {"RequestTimeout", "The request timed out."},
		http.StatusTooManyRequests:     {"TooManyRequests", "Too many requests."},
		http.StatusInternalServerError: {"InternalServerError", "An unexpected error occurred."},
		http.StatusBadGateway:          {"BadGateway", "Bad gateway."},
		http.StatusServiceUnavailable:  {"ServiceUnavailable", "The service is temporarily unavailable."},
		http.StatusGatewayTimeout:      {"GatewayTimeout", "The gateway timed out."},
	}
	name, known := names[f.Status]
	if !known {
		name = [2]string{http.StatusText(f.Status), http.StatusText(f.Status) + "."}
	}
	if f.Message != "" {
		name[1] = f.Message
	}
	r := odata.Error(f.Status, name[0], "%s", name[1])
	if c.Service == "exchange" {
		r = exchange.Failure(f.Status, name[0], "%s", name[1])
	}
	if f.RetryAfter != "" {
		r.Header = map[string]string{"Retry-After": f.RetryAfter}
	}
	return r
}
