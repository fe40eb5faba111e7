package dispatch_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/clock"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/local/servicebus/topology"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

// deliveries is who watches jobs pass.
type deliveries struct {
	came  chan dispatch.Delivery
	ended chan dispatch.Outcome
}

func newDeliveries() *deliveries {
	return &deliveries{make(chan dispatch.Delivery, 1000), make(chan dispatch.Outcome, 1000)}
}

func (d *deliveries) Received(ctx context.Context, delivery dispatch.Delivery) (context.Context, func(dispatch.Outcome)) {
	d.came <- delivery
	return ctx, func(o dispatch.Outcome) { d.ended <- o }
}

func next[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("waited in vain for ", what)
		panic("unreachable")
	}
}

// noMoreResults tells that the orchestrator has taken all results.
func (b *bus) noMoreResults(t testing.TB) {
	t.Helper()
	r := testenv.Must(b.client.NewReceiverForSubscription(message.TopicWorkerResults, message.SubscriptionOrchestrator, nil))(t)
	defer r.Close(context.Background())
	left, err := r.PeekMessages(t.Context(), 10, nil)
	if err != nil || len(left) > 0 {
		t.Fatalf("%d more results: %v", len(left), err)
	}
}

// losing starts a bus whose locks all end when lose is called.
func losing(t *testing.T, change func(*servicebus.Topology)) (b *bus, lose func()) {
	t.Helper()
	return losingBy(t, clock.New(nil), change)
}

// losingBy starts one whose locks end by a clock.
func losingBy(t *testing.T, locks *clock.Clock, change func(*servicebus.Topology)) (b *bus, lose func()) {
	t.Helper()
	topology := servicebus.DefaultTopology()
	change(&topology)
	server := testenv.Started(servicebus.Start(context.Background(), servicebus.Config{
		Addr: "127.0.0.1:0", Topology: topology, Key: "c2VjcmV0", Locks: locks.Now,
	}))(t)
	b = &bus{server: server, client: connect(t, server.ConnectionString())}
	b.open(t)
	return b, func() {
		if err := locks.Advance(time.Hour); err != nil {
			t.Error(err)
		}
		server.Tick()
	}
}

// The delivery that comes again joins the run, and the job is answered once.
func TestAJobWhoseLockIsLostIsFinishedAndAnsweredOnce(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f, seen := until(release), newDeliveries()
	b, lose := losing(t, withoutDuplicateDetection)
	work(t, dial(t, b.server.ConnectionString()), f, dispatch.Config{MaxParallelism: 2, Observer: seen})
	b.send(t, job(1))
	awaitStart(t, f)
	next(t, "the delivery", seen.came)
	lose()
	if again := next(t, "the second delivery", seen.came); again.Count != 2 {
		t.Errorf("delivery %d", again.Count)
	}
	close(release)
	if got := b.result(t); got.Status != message.StatusSuccess {
		t.Errorf("got %+v", got.Error)
	}
	b.jobsLeft(t, 0, nil)
	b.noMoreResults(t)
	if calls, _ := f.counts(); calls != 1 {
		t.Errorf("%d calls", calls)
	}
	for range 2 {
		if o := next(t, "its end", seen.ended); !o.Answered || o.Result.Status != message.StatusSuccess {
			t.Errorf("an outcome is %+v", o)
		}
	}
}

// A worker that stood still while a job came to it has a lock that has passed, as has one whose clock is far ahead. It asks
// the broker before it begins: another worker may have done the job.
func TestAJobWithAPassedLockIsBegunOnlyWhileItIsHeld(t *testing.T) {
	t.Parallel()
	f, seen := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}, newDeliveries()
	b, lose := losingBy(t, clock.New(func() time.Time { return time.Now().AddDate(-1, 0, 0) }), func(*servicebus.Topology) {})
	l := newLine(t, b.server.Addr)
	work(t, dial(t, l.connectionString()), f, dispatch.Config{MaxParallelism: 1, Observer: seen})
	b.send(t, job(9))
	b.result(t)
	b.jobsLeft(t, 0, nil)
	if o := next(t, "the end of the first", seen.ended); !o.Ran {
		t.Errorf("a job whose lock is held: %+v", o)
	}

	l.down.hold()
	b.send(t, job(1))
	l.down.awaitHeld(t)
	atWork{bus: b, lose: lose}.locksEnd(t)
	other := &function{run: f.run}
	work(t, dial(t, b.server.ConnectionString()), other, dispatch.Config{})
	if got := b.result(t); got.JobID != job(1).JobID || got.Status != message.StatusSuccess {
		t.Errorf("got %s: %+v", got.JobID, got.Error)
	}
	b.jobsLeft(t, 0, nil)
	l.down.release()
	if o := next(t, "the end of what was held up", seen.ended); o.Ran {
		t.Errorf("a job that another worker did: %+v", o)
	}
	if calls, _ := other.counts(); calls != 1 {
		t.Errorf("%d calls by the other worker", calls)
	}
}

// Where the broker does not answer, a job with a passed lock is not begun either.
func TestAJobWithAPassedLockIsNotBegunWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	f, seen := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}, newDeliveries()
	b, _ := losingBy(t, clock.New(func() time.Time { return time.Now().AddDate(-1, 0, 0) }), func(*servicebus.Topology) {})
	l := newLine(t, b.server.Addr)
	work(t, dial(t, l.connectionString()), f, dispatch.Config{MaxParallelism: 1, Observer: seen})
	b.send(t, job(9))
	b.result(t)
	b.jobsLeft(t, 0, nil)
	next(t, "the end of the first", seen.ended)

	l.down.hold()
	b.send(t, job(1))
	l.down.awaitHeld(t)
	l.up.hold()
	l.down.release()
	if o := next(t, "the end of the second", seen.ended); o.Ran {
		t.Errorf("the outcome is %+v", o)
	}
	l.up.release()
	if got := b.result(t); got.JobID != job(1).JobID || got.Status != message.StatusSuccess {
		t.Errorf("when the broker answers again: %s, %+v", got.JobID, got.Error)
	}
}

// Until the broker has the result the worker may die, and the job with it: the delivery
// that joined the run must not settle it.
func TestADeliveryThatJoinsARunWaitsUntilItsResultIsSent(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f, seen := until(release), newDeliveries()
	b, lose := losing(t, withoutDuplicateDetection)
	l := newLine(t, b.server.Addr)
	stop, stopped := work(t, dial(t, l.connectionString()), f,
		dispatch.Config{MaxParallelism: 2, Observer: seen, ShutdownGrace: 100 * time.Millisecond})
	b.send(t, job(1))
	awaitStart(t, f)
	next(t, "the delivery", seen.came)
	lose()
	next(t, "the second delivery", seen.came)
	l.up.hold()
	close(release)
	l.up.awaitHeld(t)
	b.noMoreResults(t)
	l.sever()
	stop()
	await(t, "the worker stops", stopped)
	for range 2 {
		if o := next(t, "its end", seen.ended); o.Answered {
			t.Errorf("without a result the outcome is %+v", o)
		}
	}
}

// With one slot the job comes again only after it has been answered: the broker
// has the result, so that there is nothing to do but to settle the job.
func TestAJobThatComesAgainBecauseItWasNotSettledIsNotAnsweredAgain(t *testing.T) {
	t.Parallel()
	b, lose := losing(t, withoutDuplicateDetection)
	f, seen := &function{run: func(context.Context, string, []byte) (any, error) {
		lose()
		return true, nil
	}}, newDeliveries()
	work(t, dial(t, b.server.ConnectionString()), f, dispatch.Config{MaxParallelism: 1, Observer: seen})
	b.send(t, job(1))
	b.result(t)
	for n := range uint32(2) {
		if d := next(t, "a delivery", seen.came); d.Count != int(n)+1 {
			t.Errorf("delivery %d", d.Count)
		}
		if o := next(t, "its end", seen.ended); !o.Answered || o.Ran != (n == 0) {
			t.Errorf("delivery %d: %+v", n+1, o)
		}
	}
	b.jobsLeft(t, 0, nil)
	b.noMoreResults(t)
	if calls, _ := f.counts(); calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

// faults cut the line between a worker and the broker at one point of a job's way.
var faults = []struct {
	note string
	cut  func(t *testing.T, w atWork)
}{
	{"before the job comes", func(t *testing.T, w atWork) {
		w.sever()
		w.send(t, job(1))
		close(w.release)
	}},
	{"the job on its way", func(t *testing.T, w atWork) {
		w.down.hold()
		w.send(t, job(1))
		w.jobsLeft(t, 1, nil)
		w.sever()
		close(w.release)
	}},
	{"while the job runs", func(t *testing.T, w atWork) {
		w.send(t, job(1))
		awaitStart(t, w.f)
		w.sever()
		close(w.release)
	}},
	{"the result on its way", func(t *testing.T, w atWork) {
		w.send(t, job(1))
		awaitStart(t, w.f)
		w.up.hold()
		close(w.release)
		w.up.awaitHeld(t)
		w.noMoreResults(t)
		w.sever()
	}},
	{"the broker's receipt on its way", func(t *testing.T, w atWork) {
		w.send(t, job(1))
		awaitStart(t, w.f)
		w.down.hold()
		close(w.release)
		w.resultComes(t)
		w.sever()
	}},
	{"the completion on its way", func(t *testing.T, w atWork) {
		w.send(t, job(1))
		awaitStart(t, w.f)
		w.down.hold()
		close(w.release)
		w.resultComes(t)
		w.up.hold()
		w.down.release()
		w.up.awaitHeld(t)
		w.jobsLeft(t, 1, nil)
		w.sever()
	}},
}

// resultComes waits until the broker has a result, and leaves it there.
func (b *bus) resultComes(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		r := testenv.Must(b.client.NewReceiverForSubscription(message.TopicWorkerResults, message.SubscriptionOrchestrator, nil))(t)
		there, _ := r.PeekMessages(ctx, 1, nil)
		_ = r.Close(ctx)
		if len(there) > 0 {
			return
		}
	}
	t.Fatal("no result comes")
}

// atWork is a worker that has done one job, with a line between it and the broker.
type atWork struct {
	*bus
	*line
	f       *function
	release chan struct{} // what the next job waits for
	lose    func()
}

func startOnLine(t *testing.T) atWork {
	t.Helper()
	release := make(chan struct{})
	w := atWork{release: release, f: &function{started: make(chan string, 100), run: func(ctx context.Context, name string, _ []byte) (any, error) {
		if name == "First" {
			return true, nil
		}
		select {
		case <-release:
			return true, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}}
	w.bus, w.lose = losing(t, func(*servicebus.Topology) {})
	w.line = newLine(t, w.server.Addr)
	w.stop, w.stopped = work(t, dial(t, w.line.connectionString()), w.f, dispatch.Config{MaxParallelism: 2, ShutdownGrace: 100 * time.Millisecond})
	firstJob := job(9)
	firstJob.FunctionName = "First"
	w.send(t, firstJob)
	awaitStart(t, w.f)
	w.result(t)
	w.jobsLeft(t, 0, nil)
	return w
}

// locksEnd makes what the lost connection held come again, also what the broker
// gives it before it finds it lost.
func (w atWork) locksEnd(t *testing.T) {
	t.Helper()
	w.lose()
	ticker, done := time.NewTicker(200*time.Millisecond), make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				w.lose()
			case <-done:
				return
			}
		}
	}()
}

// answeredOnce waits until job 1 is answered with success, once, and nothing is left.
func (w atWork) answeredOnce(t *testing.T) {
	t.Helper()
	if got := w.result(t); got.JobID != job(1).JobID || got.Status != message.StatusSuccess {
		t.Errorf("got %s: %+v", got.JobID, got.Error)
	}
	w.jobsLeft(t, 0, nil)
	w.noMoreResults(t)
}

func TestABrokerThatIsAwayAtAnyPointMakesNoJobRunTwice(t *testing.T) {
	t.Parallel()
	for _, point := range faults {
		t.Run(point.note, func(t *testing.T) {
			t.Parallel()
			w := startOnLine(t)
			point.cut(t, w)
			w.locksEnd(t)
			w.mend()
			w.answeredOnce(t)
			if calls, _ := w.f.counts(); calls != 2 {
				t.Errorf("%d calls for 2 jobs", calls)
			}
		})
	}
}

// A worker that is killed leaves its jobs to the next one, which cannot know what
// has been done: functions are idempotent. The broker drops the second result.
func TestTheJobsOfAKilledWorkerAreDoneByTheNext(t *testing.T) {
	t.Parallel()
	for _, point := range faults {
		t.Run(point.note, func(t *testing.T) {
			t.Parallel()
			w := startOnLine(t)
			point.cut(t, w) // for good: what the worker does now nobody hears
			w.locksEnd(t)
			f := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
			work(t, dial(t, w.server.ConnectionString()), f, dispatch.Config{})
			w.answeredOnce(t)
			if calls, _ := f.counts(); calls != 1 {
				t.Errorf("%d calls by the next worker", calls)
			}
			w.stop() // one that has no broker left ends in time as well
			await(t, "the worker stops", w.stopped)
		})
	}
}

// A worker that is stopped at any stage of its jobs stops in time, and the next
// worker gets the unanswered jobs at once, long before a lock would end.
func TestAWorkerThatStopsLosesNothingAtAnyStage(t *testing.T) {
	t.Parallel()
	ends := make(chan struct{})
	started := make(chan string, 100)
	f := &function{run: func(ctx context.Context, name string, _ []byte) (any, error) {
		started <- name
		if name == "Long" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		<-ends
		return true, nil
	}}
	b := start(t, f, options{config: dispatch.Config{MaxParallelism: 4, ShutdownGrace: 3 * time.Second}})
	jobs := make([]message.Job, 12)
	for n := range jobs {
		jobs[n] = job(n + 1)
		jobs[n].FunctionName = [...]string{"Short", "Long"}[n%2]
	}
	b.send(t, jobs...)
	for range 4 {
		next(t, "a job to start", started)
	}
	b.stop()
	close(ends) // two end within the grace, two do not, and eight have not begun
	await(t, "the worker stops", b.stopped)
	if calls, _ := f.counts(); calls != 4 {
		t.Errorf("%d jobs were begun, want none after it was told to stop", calls)
	}
	rest := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
	work(t, dial(t, b.server.ConnectionString()), rest, dispatch.Config{MaxParallelism: 4})
	answered := map[string]bool{}
	results, _ := b.receive(t, 12)
	for _, r := range results {
		answered[r.JobID] = r.Status == message.StatusSuccess
	}
	b.jobsLeft(t, 0, nil)
	b.noMoreResults(t)
	if calls, _ := rest.counts(); calls != 10 || len(answered) != 12 {
		t.Errorf("the next worker was given %d jobs; %d were answered", calls, len(answered))
	}
}

// Without a topic for results the broker takes everything but them.
func TestAJobWhoseResultCannotBeSentIsGivenBack(t *testing.T) {
	t.Parallel()
	without := func(t *servicebus.Topology) {
		t.Topics = slices.DeleteFunc(t.Topics, func(of topology.Topic) bool { return of.Name == message.TopicWorkerResults })
	}
	ended := make(chan struct{})
	f := &function{run: func(context.Context, string, []byte) (any, error) {
		close(ended)
		return true, nil
	}}
	b := start(t, f, options{topology: without, config: dispatch.Config{ShutdownGrace: 100 * time.Millisecond}})
	b.send(t, job(1))
	await(t, "the function ends", ended)
	b.stop()
	await(t, "the worker stops", b.stopped)
	b.jobsLeft(t, 1, nil)
}

// The broker refuses at once, or does not answer at all: the worker cannot tell that
// there are no jobs.
func TestAWorkerThatIsCutOffIsNotIdle(t *testing.T) {
	t.Parallel()
	for note, away := range map[string]func(*line){"refused": (*line).sever, "not answered": func(l *line) { l.up.hold() }} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			b := &bus{server: serve(t, "127.0.0.1:0", servicebus.DefaultTopology())}
			b.client = connect(t, b.server.ConnectionString())
			b.open(t)
			l := newLine(t, b.server.Addr)
			away(l)
			f := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
			_, stopped := work(t, dial(t, l.connectionString()), f, dispatch.Config{IdleTimeout: time.Second})
			other := serve(t, "127.0.0.1:0", servicebus.DefaultTopology())
			_, idle := work(t, dial(t, other.ConnectionString()), f, dispatch.Config{IdleTimeout: 2 * time.Second})
			await(t, "a worker with a broker is idle, later than this one would be", idle)
			select {
			case <-stopped:
				t.Fatal("it takes itself for idle")
			default:
			}
			b.send(t, job(1)) // before it is idle
			l.mend()
			l.up.release()
			b.result(t)
			await(t, "the worker is idle", stopped)
		})
	}
}

// Workers that come and go, as when the platform scales. What the broker gives a
// worker in the very moment in which it takes leave is locked until its lock ends;
// the SDK cannot take its credit back.
func TestJobsAreDoneOnceByWorkersThatComeAndGo(t *testing.T) {
	t.Parallel()
	const n = 60
	seen := newDeliveries()
	f := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
	b, lose := losing(t, withoutDuplicateDetection)
	begin := func() {
		b.stop, b.stopped = work(t, dial(t, b.server.ConnectionString()), f,
			dispatch.Config{MaxParallelism: 3, Observer: seen, ShutdownGrace: patience})
	}
	begin()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range n {
			b.send(t, job(i+1))
		}
	}()
	for range 10 {
		for range 5 {
			if o := next(t, "a job to end", seen.ended); !o.Answered || !o.Ran {
				t.Errorf("an outcome is %+v", o)
			}
		}
		b.stop()
		await(t, "the worker stops", b.stopped)
		lose()
		begin()
	}
	await(t, "all jobs are sent", sent)
	b.receive(t, n)
	b.jobsLeft(t, 0, nil)
	b.noMoreResults(t)
	if calls, _ := f.counts(); calls != n {
		t.Errorf("%d calls for %d jobs", calls, n)
	}
}
