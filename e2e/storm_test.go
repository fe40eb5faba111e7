package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/local/demo"
)

// weather is how large a storm is.
type weather struct {
	members int
	length  time.Duration // things are killed for so long
	outage  time.Duration // of the store, once
	calm    time.Duration // from one kill to the next, at most
}

var (
	small = weather{members: 100, length: 15 * time.Second, outage: 3 * time.Second, calm: 2 * time.Second}
	full  = weather{members: 500, length: 2 * time.Minute, outage: time.Minute, calm: 4 * time.Second}
)

// victims are the processes that a storm kills.
var victims = []string{"handler", workerProcess, "servicebus", "cosmos", "host"}

// TestStorm kills the parts at random, several at a time, while a batch goes
// through its phases in a tenant that throttles and lags, and the store is gone
// for long once. The batch ends as it does for one person after the other when
// nothing goes wrong. With -soak it goes on with new seeds.
func TestStorm(t *testing.T) {
	t.Parallel()
	if *soak < 0 {
		storm(t, small, *seed)
		return
	}
	began := time.Now()
	for s := *seed; *soak == 0 || s == *seed || time.Since(began) < *soak; s++ {
		if !t.Run(fmt.Sprint(s), func(t *testing.T) { storm(t, full, s) }) {
			return
		}
	}
}

func storm(t *testing.T, w weather, seed uint64) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			how := ""
			if w == full {
				how = " -timeout 0 -soak 1s"
			}
			t.Logf("to see it again: go test ./e2e -run '^TestStorm$' -count 1 -v -seed %d%s", seed, how)
		}
	})
	random := rand.New(rand.NewPCG(seed, 0))
	all := people(random, w.members)
	blows := schedule(random, w)

	m := newMachineWith(t, encode(tenantOf(all)), environment{worker: map[string]string{"LAG_TIMEOUT_SECONDS": "2", "MAX_PARALLELISM": "32"}}, separate...)
	if err := misbehave(m.endpoints.TenantURL, encode(faultsOf(all, seed))); err != nil {
		t.Fatal(err)
	}
	members := m.path("members.csv")
	if err := writeMembers(members, all); err != nil {
		t.Fatal(err)
	}
	a := newAdminOf(m, "storm", filepath.Join("testdata", "storm.yaml"), members)
	a.patience, a.every = w.length+4*time.Minute, 300*time.Millisecond

	began := time.Now()
	s := &tempest{machine: m, began: began, down: map[string]bool{}, kills: map[string]int{}}
	over := make(chan error, 1)
	go func() { over <- s.blow(blows) }()
	err := a.play(w.length, s.note)
	took := time.Since(began)
	err = errors.Join(err, <-over)
	m.write("storm.log", []byte(s.log()))
	if err != nil {
		t.Errorf("%v\n%s", err, s.log())
		t.FailNow()
	}
	checkStorm(m, a, all)
	t.Logf("seed %d: %d members in %s, %.1f a second, with kills of %s", seed, w.members, took.Round(time.Second), float64(w.members)/took.Seconds(), s.tally())
	if t.Failed() {
		t.Log(s.log())
	}
}

// play takes the batch through its phases, each at the earliest in its part of the
// storm, so that the storm meets all of them.
func (a *admin) play(length time.Duration, note func(format string, args ...any)) error {
	began := time.Now()
	names := []string{"init"}
	for _, phase := range sequence {
		names = append(names, phase.phase)
	}
	for i, name := range names {
		part := length * time.Duration(max(0, i-1)) / time.Duration(len(sequence))
		time.Sleep(time.Until(began.Add(part))) // an administrator's own pace
		if err := a.advance(); err != nil {
			return fmt.Errorf("advance to %s: %w", name, err)
		}
		note("%s is set going", name)
		if err := a.await(name, ended); err != nil {
			return err
		}
		note("%s has ended", name)
	}
	return nil
}

// misbehave tells the tenant with its local endpoints at an address how to.
func misbehave(address string, faults []byte) error {
	request, err := http.NewRequest(http.MethodPut, address+"/_local/faults", bytes.NewReader(faults))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		text, _ := io.ReadAll(response.Body)
		return fmt.Errorf("the tenant answered %s: %s", response.Status, text)
	}
	return nil
}

// blow is the kill of one victim.
type blow struct {
	at     time.Duration // from the beginning
	victim string
	down   time.Duration // until it is started again
}

// schedule draws the times at which each process is killed. The store's long outage begins early, while the
// first phase is under way, and the others are killed during it as well.
func schedule(random *rand.Rand, w weather) []blow {
	long := blow{at: w.length/40 + time.Duration(random.Int64N(int64(w.length/10))), victim: "cosmos", down: w.outage}
	blows := []blow{long}
	for at := time.Duration(0); ; {
		at += w.calm/8 + time.Duration(random.Int64N(int64(w.calm)))
		if at >= w.length {
			break
		}
		blows = append(blows, blow{at, victims[random.IntN(len(victims))], time.Duration(random.Int64N(int64(1500 * time.Millisecond)))})
	}
	slices.SortStableFunc(blows, func(a, b blow) int { return int(a.at - b.at) })
	return blows
}

// tempest carries a schedule out.
type tempest struct {
	machine *machine
	began   time.Time

	mu    sync.Mutex
	down  map[string]bool
	kills map[string]int
	lines []string
	errs  []error
}

// blow returns when all is over and everything runs again.
func (s *tempest) blow(blows []blow) error {
	var restarts sync.WaitGroup
	for _, b := range blows {
		time.Sleep(time.Until(s.began.Add(b.at))) // the fault's own moment, not a wait for anything
		if !s.strike(b) {
			continue
		}
		restarts.Go(func() {
			err := s.machine.kill(b.victim, b.down)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.down[b.victim] = false
			if err != nil {
				s.errs = append(s.errs, fmt.Errorf("start %s again: %w", b.victim, err))
			}
		})
	}
	restarts.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

// strike tells whether the victim is there to be killed. A handler is gone with
// its host.
func (s *tempest) strike(b blow) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down[b.victim] || b.victim == "handler" && s.down["host"] {
		return false
	}
	s.down[b.victim] = true
	s.kills[b.victim]++
	s.add("killed %s for %s", b.victim, b.down.Round(time.Millisecond))
	return true
}

// note puts a line into the log.
func (s *tempest) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(format, args...)
}

func (s *tempest) add(format string, args ...any) {
	s.lines = append(s.lines, time.Since(s.began).Round(10*time.Millisecond).String()+": "+fmt.Sprintf(format, args...))
}

func (s *tempest) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func (s *tempest) tally() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	for _, v := range victims {
		parts = append(parts, fmt.Sprintf("%s %d", v, s.kills[v]))
	}
	return strings.Join(parts, ", ")
}

// checkStorm compares the visible end state with the expected one.
func checkStorm(m *machine, a *admin, all []person) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	want := expect(all, a.batch)
	checkBatch(a, want)
	checkSteps(a, want, all)
	state, err := demo.State(ctx, m.endpoints.TenantURL)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, line := range difference(want.tenant, describeState(state)) {
		m.t.Errorf("the tenant: %s", line)
	}
	checkBroker(ctx, m)
	checkStore(ctx, m)
}

// checkBatch looks at the batch, its members and its phases.
func checkBatch(a *admin, want expectation) {
	a.t.Helper()
	var batch api.Batch
	for end := time.Now().Add(patience); batch.Status != "completed" && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		a.ask(&batch, "batch", "get", a.batch)
	}
	if batch.Status != "completed" {
		a.t.Errorf("the batch is %s: %s", batch.Status, batch.Error)
	}
	var members api.Page[api.Member]
	a.ask(&members, "batch", "members", a.batch, "--all")
	for _, m := range members.Items {
		at, fails := want.stumble[m.Key]
		switch {
		case fails && (m.Status != "failed" || !at.matches(m.Error)):
			a.t.Errorf("%s must fail in %s at %s because %q, and is %s: %s", m.Key, at.phase, at.step, at.reason, m.Status, m.Error)
		case !fails && m.Status != "done":
			a.t.Errorf("%s is %s: %s", m.Key, m.Status, m.Error)
		}
	}
	for name, w := range want.phases {
		p, err := a.phase(name)
		if err != nil {
			a.t.Error(err)
		}
		if got := (tally{p.Members, p.Succeeded, p.Failed}); got != w || p.Status != "completed" || p.Running+p.Waiting+p.Cancelled != 0 {
			a.t.Errorf("phase %s: got %+v, want completed with %+v", name, p, w)
		}
	}
}

// checkSteps counts the steps anew, and holds those who were throttled for long to
// have needed the orchestrator's patience too.
func checkSteps(a *admin, want expectation, all []person) {
	a.t.Helper()
	var steps api.Page[api.Step]
	a.ask(&steps, "batch", "steps", a.batch, "--all")
	throttled := map[string]bool{}
	for _, p := range all {
		throttled[p.UPN] = p.Throttled != ""
	}
	got, retried := map[string]int{}, 0
	for _, s := range steps.Items {
		got[s.Phase+"/"+s.Name+" "+s.Status]++
		if throttled[s.MemberKey] && s.RetryCount > 0 {
			retried++
		}
	}
	for _, line := range difference(counted(want.steps), counted(got)) {
		a.t.Errorf("steps: %s", line)
	}
	if retried == 0 {
		a.t.Error("nobody's step was tried again by the orchestrator, although the tenant refused longer than the worker is patient")
	}
}

func counted(counts map[string]int) []string {
	var lines []string
	for name, n := range counts {
		lines = append(lines, fmt.Sprintf("%s: %d", name, n))
	}
	return sorted(lines)
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// difference tells which lines are missing and which are too many, the same line
// counting as often as it is there.
func difference(want, got []string) []string {
	count := map[string]int{}
	for _, line := range want {
		count[line]++
	}
	for _, line := range got {
		count[line]--
	}
	var out []string
	for line, n := range count {
		switch {
		case n > 0:
			out = append(out, "missing: "+line)
		case n < 0:
			out = append(out, "unexpected: "+line)
		}
	}
	return sorted(out)
}
