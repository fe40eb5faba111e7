package scaling_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/scalertest"
	"github.com/matoolkit/matoolkit/internal/scaling"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/arm"
)

// world is a scaler with a local Azure and a store. Time passes by ticks.
type world struct {
	*scaling.Scaler
	*scalertest.Azure
	t     *testing.T
	store *memory.Store
	away  atomic.Bool // the store
	clock *testenv.Clock
	log   *testenv.Buffer
}

// start makes a world. Without run, containers run until they are ended.
func start(t *testing.T, instances int, run arm.Runner) *world {
	t.Helper()
	w := &world{t: t, clock: testenv.NewClock(), log: &testenv.Buffer{}}
	w.store = memory.New(memory.Config{Hook: func(context.Context, memory.Operation) memory.Fault {
		if w.away.Load() {
			return memory.Fault{Before: store.ErrUnavailable}
		}
		return memory.Fault{}
	}})
	w.Azure = scalertest.Start(t, scalertest.Config{Settings: map[string]string{"ACI_MAX_INSTANCES": fmt.Sprint(instances)}, Run: run, Now: w.clock.Now})
	w.Scaler = w.process()
	return w
}

// process is another process with the same settings.
func (w *world) process() *scaling.Scaler {
	return scaling.New(scaling.Config{Azure: w.Azure, Store: w.store, Now: w.clock.Now, NewID: uuid.NewString, Log: slog.New(slog.NewJSONHandler(w.log, nil))})
}

// tick runs a tick, a minute after the one before, and waits until no group is created or deleted.
func (w *world) tick() api.ScalerTick {
	w.t.Helper()
	w.clock.Advance(time.Minute)
	if err := w.ScaleContainers(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.Settled()
	status := testenv.Must(w.ScalerStatus(w.t.Context()))(w.t)
	if status.LastTick == nil {
		return api.ScalerTick{}
	}
	messages := 0
	for _, n := range status.LastTick.Verdicts {
		messages += n
	}
	if tick := status.LastTick; messages != tick.MessageCount || tick.Verdicts[api.ScalerCreate] != tick.CreatedCount {
		w.t.Errorf("the numbers do not add up: %+v", tick)
	}
	return *status.LastTick
}

func (w *world) groups() (ids []string) {
	for _, g := range w.ARM.Groups() {
		ids = append(ids, g.Tags["message_id"]+" "+g.Instance)
	}
	slices.Sort(ids)
	return ids
}

func (w *world) complete(subscription string) {
	w.t.Helper()
	if err := w.Complete(w.t.Context(), subscription); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) oncePerGroup() {
	w.t.Helper()
	for name, n := range w.ARM.Counters().Starts {
		if n != 1 {
			w.t.Errorf("the container of %s was started %d times", name, n)
		}
	}
}

func TestAllMessagesAreSettledWithinTheLimitAndAllGroupsGo(t *testing.T) {
	t.Parallel()
	var azure *scalertest.Azure
	w := start(t, 4, func(ctx context.Context, c arm.Container) (int, error) {
		if azure.Complete(ctx, c.Env["SUBSCRIPTION"]) != nil {
			return 1, nil
		}
		return 0, nil
	})
	azure = w.Azure
	sizes := map[string]float64{}
	for i := range 12 {
		subscription, id := []string{"a", "b", "c"}[i%3], fmt.Sprint("m", i)
		w.SendSize(subscription, id, 512*(i+1))
		sizes[id] = max(1, float64(512*(i+1))/1024)
	}
	created := 0
	testenv.Eventually(t, "all messages are settled and all groups are gone", func() bool {
		for _, g := range w.ARM.Groups() {
			if g.Container.MemoryGB != sizes[g.Tags["message_id"]] {
				t.Errorf("%s has %v GB", g.Tags["message_id"], g.Container.MemoryGB)
			}
		}
		created += w.tick().CreatedCount
		return w.MessageCount() == 0 && len(w.ARM.Groups()) == 0
	})
	if c := w.ARM.Counters(); c.Peak > 4 || len(c.Starts) != 12 || created != 12 {
		t.Errorf("%d created; counters %+v", created, c)
	}
	w.oncePerGroup()
	if status := testenv.Must(w.ScalerStatus(t.Context()))(t); len(status.LostContainers) != 0 || status.LastTick.ActiveCount != 0 {
		t.Errorf("status %+v", status)
	}
}

func TestEndedGroupsAreDeletedAfterTheCreations(t *testing.T) {
	t.Parallel()
	w := start(t, 2, nil)
	w.SendSize("a", "m1", 1)
	w.tick()
	w.Exit("a", "m1", 0)
	w.complete("a")
	w.SendSize("a", "m2", 1)
	before := len(w.ARM.Requests())
	if tick := w.tick(); tick.CreatedCount != 1 || tick.DeletedCount != 1 || !slices.Equal(w.groups(), []string{"m2 Running"}) {
		t.Errorf("tick %+v, groups %q", tick, w.groups())
	}
	var changes []string
	for _, r := range w.ARM.Requests()[before:] {
		if r.Method != http.MethodGet {
			changes = append(changes, r.Method)
		}
	}
	if !slices.Equal(changes, []string{http.MethodPut, http.MethodDelete}) {
		t.Errorf("changes %q", changes)
	}
}

func TestACrashBetweenCreationAndListCreatesNoSecondGroup(t *testing.T) {
	t.Parallel()
	w := start(t, 5, nil)
	w.SendSize("a", "m1", 1)
	w.SendSize("b", "m2", 1)
	w.ARM.Fail(arm.Fault{Method: http.MethodPut, Count: 1, Lost: true}) // created without an answer
	dying, kill := context.WithCancel(t.Context())
	w.ARM.Fail(arm.Fault{Method: http.MethodPut, Count: 1, Status: 500, Code: "InternalServerError", Then: kill})
	w.clock.Advance(time.Minute)
	_ = w.ScaleContainers(dying)
	kill()
	w.Scaler = w.process()
	for range 3 {
		w.tick()
	}
	if got := w.groups(); !slices.Equal(got, []string{"m1 Running", "m2 Running"}) {
		t.Errorf("groups %q", got)
	}
	w.oncePerGroup()
}

func TestTwoTicksAtOnceStayWithinTheLimitAndCreateNoSecondGroup(t *testing.T) {
	t.Parallel()
	w := start(t, 3, nil)
	for i := range 12 {
		w.SendSize([]string{"a", "b", "c"}[i%3], fmt.Sprint("m", i), 1)
	}
	for range 3 {
		w.clock.Advance(time.Minute)
		var both sync.WaitGroup
		for range 4 {
			one := w.process()
			both.Go(func() {
				if err := one.ScaleContainers(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		w.Settled()
		if got := w.groups(); len(got) != 3 {
			t.Fatalf("groups %q", got)
		}
	}
	w.oncePerGroup()
	if n := strings.Count(w.log.String(), "another tick of the container scaler runs"); n == 0 {
		t.Error("no tick made way for another")
	}
}

func TestATickThatDiedDoesNotHinderTheNextOne(t *testing.T) {
	t.Parallel()
	w := start(t, 3, nil)
	w.SendSize("a", "m1", 1)
	dead, kill := context.WithCancel(t.Context())
	w.ARM.Fail(arm.Fault{Method: http.MethodGet, Count: 1, Status: 500, Code: "InternalServerError", Then: func() {
		kill()
		w.away.Store(true) // nor does it store its result
	}})
	w.clock.Advance(time.Minute)
	_ = w.ScaleContainers(dead)
	w.away.Store(false)
	if tick := w.tick(); tick.CreatedCount != 1 {
		t.Errorf("the tick a minute later: %+v", tick)
	}
}

func TestWithoutServiceBusNothingIsCreatedAndTheNextTickGoesOn(t *testing.T) {
	t.Parallel()
	w := start(t, 3, nil)
	w.SendSize("a", "m1", 1)
	w.tick()
	w.Exit("a", "m1", 0)
	w.complete("a")
	w.SendSize("a", "m2", 1)
	w.ARM.Fail(arm.Fault{Path: "Microsoft.ServiceBus", Status: 503, Code: "ServiceUnavailable", Message: "away"})
	tick := w.tick()
	if tick.CreatedCount != 0 || tick.DeletedCount != 1 || !strings.Contains(tick.Error, "messages cannot be read, so that no container group is created") || len(w.groups()) != 0 {
		t.Errorf("tick %+v, groups %q", tick, w.groups())
	}
	w.ARM.Heal()
	if tick := w.tick(); tick.CreatedCount != 1 || tick.Error != "" {
		t.Errorf("tick %+v", tick)
	}
}

func TestWithoutTheBrokerNothingIsCreatedAndEndedGroupsAreDeleted(t *testing.T) {
	t.Parallel()
	w := start(t, 3, nil)
	w.SendSize("a", "m1", 1)
	w.tick()
	w.Exit("a", "m1", 0)
	w.SendSize("a", "m2", 1)
	if err := w.Bus.Close(); err != nil {
		t.Fatal(err)
	}
	tick := w.tick()
	if tick.CreatedCount != 0 || tick.DeletedCount != 1 || !strings.Contains(tick.Error, "messages cannot be read, so that no container group is created: peek at the subscription") || len(w.groups()) != 0 {
		t.Errorf("tick %+v, groups %q", tick, w.groups())
	}
}

func TestWithoutResourceManagerNothingHappensAndTheNextTickGoesOn(t *testing.T) {
	t.Parallel()
	w := start(t, 3, nil)
	w.SendSize("a", "m1", 1)
	w.ARM.Fail(arm.Fault{Status: 500, Code: "InternalServerError", Message: "away"})
	if tick := w.tick(); tick.CreatedCount != 0 || tick.Error != "container groups cannot be read: 500 InternalServerError: away" {
		t.Errorf("tick %+v", tick)
	}
	if !strings.Contains(w.log.String(), `"Event":"scaler-tick","Created":0,"Deleted":0,"Active":0,"Failed":true`) {
		t.Errorf("log %s", w.log)
	}
	w.ARM.Heal()
	if tick := w.tick(); tick.CreatedCount != 1 || tick.Error != "" {
		t.Errorf("tick %+v", tick)
	}
}

func TestACreationThatFailsDoesNotPreventTheOthers(t *testing.T) {
	t.Parallel()
	w := start(t, 5, nil)
	for _, s := range []string{"a", "b", "c"} {
		w.SendSize(s, "of-"+s, 1)
	}
	w.ARM.Fail(arm.Fault{Method: http.MethodPut, Path: w.Settings().NameFor("b", "of-b"), Count: 1, Status: 400, Code: "InaccessibleImage", Message: "no image"})
	tick := w.tick()
	if tick.CreatedCount != 2 || tick.Error != "" || len(tick.Failures) != 1 || tick.Failures[0].MessageID != "of-b" || tick.Failures[0].Reason != "400 InaccessibleImage: no image" ||
		!slices.Equal(w.groups(), []string{"of-a Running", "of-c Running"}) {
		t.Errorf("tick %+v, groups %q", tick, w.groups())
	}
	if tick := w.tick(); tick.CreatedCount != 1 || len(tick.Failures) != 0 {
		t.Errorf("the next tick %+v", tick)
	}
}

func TestALargeMessageWithoutCapacityDoesNotHinderSmallerOnes(t *testing.T) {
	t.Parallel()
	w := start(t, 1, nil)
	w.SendSize("a", "large", 8192)
	w.SendSize("a", "small", 1)
	w.SendSize("b", "larger", 9216)
	w.SendSize("c", "medium", 4096)
	w.ARM.Fail(arm.Fault{Method: http.MethodPut, Path: w.Settings().NameFor("a", "large"), Status: 409, Code: "ServiceUnavailable", Message: "no room"})
	tick := w.tick()
	if tick.CreatedCount != 1 || tick.Error != "" || len(tick.Failures) != 1 || tick.Failures[0].Reason != "409 ServiceUnavailable: no room" || !slices.Equal(w.groups(), []string{"medium Running"}) {
		t.Errorf("tick %+v, groups %q", tick, w.groups())
	}
	if want := (map[api.ScalerVerdict]int{api.ScalerCreate: 1, api.ScalerCreateFailed: 1, api.ScalerNoCapacity: 2}); tick.MessageCount != 4 || !maps.Equal(tick.Verdicts, want) {
		t.Errorf("%d messages, verdicts %v, want %v", tick.MessageCount, tick.Verdicts, want)
	}
	attempts := testenv.Must(store.Read[scaler.Record](t.Context(), w.store, store.ScalerKey()))(t).Doc.Attempts
	if !slices.ContainsFunc(attempts, func(a scaler.Attempt) bool { return a.MessageID == "medium" && a.Open }) {
		t.Errorf("attempts %+v", attempts)
	}
	w.Exit("c", "medium", 0)
	w.complete("c")
	if w.tick(); !slices.Equal(w.groups(), []string{"small Running"}) {
		t.Errorf("groups %q", w.groups())
	}
}

func TestRefusedCreationsAreTriedABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	w := start(t, 100, nil)
	for i := range 20 {
		w.SendSize("a", fmt.Sprint("m", i), 1)
	}
	w.ARM.Fail(arm.Fault{Method: http.MethodPut, Status: 400, Code: "InaccessibleImage", Message: "no image"})
	if tick := w.tick(); tick.CreatedCount != 0 || len(tick.Failures) != 10 {
		t.Errorf("tick %+v", tick)
	}
}

func TestACreationWithoutAnAnswerCountsTowardsTheLimit(t *testing.T) {
	t.Parallel()
	w := start(t, 1, nil)
	w.SendSize("a", "m1", 1)
	w.SendSize("b", "m2", 1)
	w.ARM.Fail(arm.Fault{Method: http.MethodPut, Count: 1, Lost: true})
	if tick := w.tick(); len(tick.Failures) != 1 || !slices.Equal(w.groups(), []string{"m1 Running"}) {
		t.Errorf("tick %+v, groups %q", tick, w.groups())
	}
}

func TestAQuotaEndsTheTickWithItsReason(t *testing.T) {
	t.Parallel()
	w := start(t, 5, nil)
	for _, s := range []string{"a", "b", "c"} {
		w.SendSize(s, "of-"+s, 1)
	}
	w.ARM.Fail(arm.Fault{Method: http.MethodPut, Skip: 1, Status: 409, Code: "ContainerGroupQuotaReached", Message: "StandardCores, limit 1"})
	tick := w.tick()
	puts := 0
	for _, r := range w.ARM.Requests() {
		if r.Method == http.MethodPut {
			puts++
		}
	}
	if tick.CreatedCount != 1 || puts != 2 || !strings.Contains(tick.Error, "409 ContainerGroupQuotaReached: StandardCores, limit 1") {
		t.Errorf("%d requests, tick %+v", puts, tick)
	}
	if want := (map[api.ScalerVerdict]int{api.ScalerCreate: 1, api.ScalerCreateFailed: 1, api.ScalerNextTick: 1}); !maps.Equal(tick.Verdicts, want) {
		t.Errorf("verdicts %v, want %v", tick.Verdicts, want)
	}
}

func TestGroupsAreCreatedWithoutTheStore(t *testing.T) {
	t.Parallel()
	w := start(t, 5, nil)
	w.SendSize("a", "m1", 1)
	w.away.Store(true)
	if err := w.ScaleContainers(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Settled()
	if got := w.groups(); !slices.Equal(got, []string{"m1 Running"}) {
		t.Errorf("groups %q", got)
	}
	w.away.Store(false)
	if tick := w.tick(); tick.ActiveCount != 1 || tick.CreatedCount != 0 {
		t.Errorf("tick %+v", tick)
	}
}

func TestSkippedMessagesAreShownWithTheirReason(t *testing.T) {
	t.Parallel()
	w := start(t, 5, nil)
	w.Send("a", "poison", "nonsense")
	w.SendSize("a", "good", 1)
	tick := w.tick()
	if len(tick.Skipped) != 1 || tick.Skipped[0].MessageID != "poison" || tick.Skipped[0].Subscription != "a" || tick.Skipped[0].Verdict != api.ScalerBodyNotJSON || tick.CreatedCount != 1 {
		t.Errorf("tick %+v", tick)
	}
	if len(tick.Subscriptions) != 2 || tick.Subscriptions[0].Subscription != "s" || !strings.Contains(tick.Subscriptions[0].Reason, "sessions") {
		t.Errorf("blocked %+v", tick.Subscriptions)
	}
}

func TestSubscriptionsWithMoreMessagesThanATickReadsAreNamed(t *testing.T) {
	t.Parallel()
	w := start(t, 3, nil)
	for i := range 2*3 + 100 {
		w.SendSize("b", fmt.Sprint("m", i), 1)
	}
	w.SendSize("a", "only", 1)
	tick := w.tick()
	if want := []string{"b"}; !slices.Equal(tick.Partial, want) || tick.MessageCount != 107 || !slices.Equal(testenv.Must(w.PlanScaling(t.Context()))(t).Partial, want) {
		t.Errorf("%d messages, partly read %q", tick.MessageCount, tick.Partial)
	}
}

func TestContainersThatDieBeforeTheyReceiveAreCountedAndReported(t *testing.T) {
	t.Parallel()
	w := start(t, 5, nil)
	w.SendSize("a", "m1", 1)
	for want := range 4 {
		status := testenv.Must(w.ScalerStatus(t.Context()))(t)
		if want == 0 && len(status.LostContainers) != 0 || want > 0 && (len(status.LostContainers) != 1 || status.LostContainers[0].Count != want) {
			t.Fatalf("after %d: %+v", want, status.LostContainers)
		}
		if w.tick().CreatedCount == 0 {
			t.Fatal("no container was created")
		}
		w.Exit("a", "m1", 1)
		w.tick() // deletes the group; the lock, if there was one, is over
	}
	var counts []float64
	for line := range bytes.Lines([]byte(w.log.String())) {
		var record map[string]any
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		if record["Event"] == alert.ContainerLost {
			counts = append(counts, record["Count"].(float64))
			if record["MessageId"] != "m1" || record["Subscription"] != "a" || record["Reason"] != "Error" {
				t.Errorf("record %v", record)
			}
		}
	}
	if !slices.Equal(counts, []float64{1, 2, 3, 4}) {
		t.Errorf("reported %v", counts)
	}
	w.complete("a")
	w.tick()
	w.tick()
	if status := testenv.Must(w.ScalerStatus(t.Context()))(t); len(status.LostContainers) != 0 {
		t.Errorf("after the message was settled: %+v", status.LostContainers)
	}
}

func TestAPlanIsADryRun(t *testing.T) {
	t.Parallel()
	w := start(t, 1, nil)
	w.SendSize("b", "m2", 2048)
	w.SendSize("a", "m1", 1536)
	for range 2 {
		plan := testenv.Must(w.PlanScaling(t.Context()))(t)
		want := []api.PlannedGroup{{Group: w.Settings().NameFor("a", "m1"), Subscription: "a", MessageID: "m1", FileSizeMB: "1536", CPU: 1, MemoryGB: 1.5}}
		if !reflect.DeepEqual(plan.Create, want) || plan.MaxInstances != 1 || len(plan.Messages) != 2 || plan.Messages[1].Verdict != api.ScalerNoCapacity ||
			!maps.Equal(plan.Verdicts, map[api.ScalerVerdict]int{api.ScalerCreate: 1, api.ScalerNoCapacity: 1}) {
			t.Errorf("plan %+v", plan)
		}
	}
	for _, r := range w.ARM.Requests() {
		if r.Method != http.MethodGet {
			t.Errorf("a dry run sends %s %s", r.Method, r.Path)
		}
	}
	w.ARM.Fail(arm.Fault{Status: 403, Code: "AuthorizationFailed", Message: "no role"})
	if _, err := w.PlanScaling(t.Context()); problem.CodeOf(err) != api.CodeUnavailable || !strings.Contains(err.Error(), "403 AuthorizationFailed: no role") {
		t.Errorf("without a role: %v", err)
	}
}

func TestAScalerThatIsOff(t *testing.T) {
	t.Parallel()
	log := &testenv.Buffer{}
	off := scaling.New(scaling.Config{
		Store: memory.New(memory.Config{}), Now: time.Now, NewID: uuid.NewString,
		Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if status, err := off.ScalerStatus(t.Context()); err != nil || !reflect.DeepEqual(status, api.ScalerStatus{}) {
		t.Errorf("status %+v, %v", status, err)
	}
	if _, err := off.PlanScaling(t.Context()); problem.CodeOf(err) != api.CodeConflict {
		t.Errorf("plan: %v", err)
	}
	for range 3 { // its timer runs each minute, if not disabled
		if err := off.ScaleContainers(t.Context()); err != nil {
			t.Errorf("tick: %v", err)
		}
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `"level":"DEBUG"`) || !strings.Contains(text, "AzureWebJobs.containerscaler.Disabled") {
		t.Errorf("log %s", text)
	}
}

// TestTheVerdictsOfTheAPIAreThoseOfThePlan: package api imports nothing.
func TestTheVerdictsOfTheAPIAreThoseOfThePlan(t *testing.T) {
	t.Parallel()
	var verdicts []scaler.Verdict
	for _, v := range api.ScalerVerdicts {
		verdicts = append(verdicts, scaler.Verdict(v))
	}
	if !slices.Equal(verdicts, scaler.Verdicts) {
		t.Errorf("the API has %q, a plan %q", verdicts, scaler.Verdicts)
	}
}
