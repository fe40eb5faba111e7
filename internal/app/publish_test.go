package app_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// tryPublish publishes, and gives what went wrong.
func (s *stage) tryPublish(yaml string, o api.PublishOptions) (api.Runbook, error) {
	return s.app.PublishRunbook(s.ctx, ada, "", []byte(yaml), o)
}

func (s *stage) mustPublish(yaml string, o api.PublishOptions) api.Runbook {
	s.t.Helper()
	v := must(s.tryPublish(yaml, o))(s.t)
	if v.Changes == nil {
		s.t.Fatalf("the answer tells no changes: %+v", v)
	}
	return v
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestDryRunTellsWhatAPublishChangesAndStoresNothing(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		dry := api.PublishOptions{DryRun: true}
		if v := s.mustPublish(twoSteps, dry); !v.DryRun || v.Active || v.Version != 1 || v.Changes.Against != 0 || v.Changes.BatchCount != 0 {
			t.Fatalf("%+v", v)
		}
		if _, err := s.app.Runbook(s.ctx, "two"); problem.CodeOf(err) != api.CodeNotFound {
			t.Fatalf("the dry run stored something: %v", err)
		}
		s.publish(twoSteps)
		done := s.batch("two", people(1))
		s.advance(done.ID)
		s.advance(done.ID)
		s.wantStatus(done.ID, "completed")
		b := s.batch("two", people(2))
		s.advance(b.ID)

		v := s.mustPublish(second(twoSteps), dry)
		c := v.Changes
		if !v.DryRun || v.Version != 2 || c.Against != 1 || c.BatchCount != 1 || len(c.Batches) != 1 {
			t.Fatalf("%+v", c)
		}
		if !slices.Contains(c.Runbook, api.Change{Kind: "changed", Path: "phases[second].steps[check].function", From: "Check", To: "Check2"}) {
			t.Errorf("changes: %+v", c.Runbook)
		}
		want := api.BatchForecast{BatchID: b.ID, Status: "active", Manual: true, From: 1, Superseded: []string{"second"}, Skipped: []string{"first"}, Pending: []string{"second"}}
		if encoded(c.Batches[0]) != encoded(want) {
			t.Errorf("foreseen: %s", encoded(c.Batches[0]))
		}
		again := s.mustPublish(second(twoSteps), api.PublishOptions{DryRun: true, Overdue: api.OverdueRerun}).Changes.Batches[0]
		if !slices.Equal(again.Again, []string{"first"}) || again.Skipped != nil {
			t.Errorf("foreseen: %+v", again)
		}
		s.tick()
		s.wantVersions("two", "1 by ada ignore active")
		s.wantPhases(b.ID, "first completed 2/0/0, second pending 0/0/0")

		published := s.mustPublish(second(twoSteps), api.PublishOptions{})
		if published.DryRun || !published.Active || encoded(published.Changes) != encoded(c) {
			t.Errorf("published: %s\nforeseen: %s", encoded(published.Changes), encoded(c))
		}
		unchanged := s.mustPublish(second(twoSteps), dry)
		if !unchanged.Unchanged || !unchanged.DryRun || len(unchanged.Changes.Runbook) != 0 || unchanged.Version != 2 {
			t.Errorf("%+v", unchanged)
		}
	})
}

// A batch whose record cannot be read is named and does not prevent publishing.
func TestPublishingBesideABatchThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(twoSteps)
	broken, good := s.batch("two", people(1)).ID, s.batch("two", people(1), api.AllowInOtherBatches).ID
	whole := must(store.Read[any](s.ctx, s.store, store.BatchKey(broken)))(t)
	s.commit(store.Replace(store.BatchKey(broken), "torn", whole.Version))
	for _, dry := range []bool{true, false} {
		c := s.mustPublish(strings.ReplaceAll(twoSteps, "Check", "Check2"), api.PublishOptions{DryRun: dry}).Changes
		if c.BatchCount != 2 || len(c.Batches) != 2 {
			t.Fatalf("dry run %t: %s", dry, encoded(c))
		}
		if got := c.Batches[0]; got.BatchID != broken || !strings.Contains(got.Problem, "cannot be read") || got.Status != "" {
			t.Errorf("dry run %t: the broken one: %s", dry, encoded(got))
		}
		if got := c.Batches[1]; got.BatchID != good || got.Problem != "" || got.From != 1 {
			t.Errorf("dry run %t: the other: %s", dry, encoded(got))
		}
	}
	if got, err := s.app.Runbook(s.ctx, "two"); err != nil || got.Version != 2 {
		t.Errorf("version %d, %v", got.Version, err)
	}
}

// drawn is a runbook with some of the phases, in any order, and perhaps init steps.
func drawn(r *rand.Rand, function string) string {
	var b strings.Builder
	b.WriteString("name: drawn\ndata_source: {type: csv, primary_key: Upn}\n")
	if r.IntN(2) == 0 {
		fmt.Fprintf(&b, "init: [{name: prepare, worker_id: worker-01, function: %s}]\n", function)
	}
	b.WriteString("phases:\n")
	names := []string{"a", "b", "c", "d", "e"}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i, name := range names[:1+r.IntN(len(names))] {
		approval := ""
		if r.IntN(4) == 0 && i > 0 {
			approval = "approval: required, "
		}
		fmt.Fprintf(&b, "  - {name: %s, offset: T%+dh, %ssteps: [{name: s, worker_id: worker-01, function: %s}]}\n", name, 1+r.IntN(40)-20+i%2, approval, function)
	}
	return strings.ReplaceAll(strings.ReplaceAll(b.String(), "T+0h", "T-0"), "T-0h", "T-0")
}

// The forecast for batches in flight agrees with what the scheduler then does: for
// random runbooks, batches in any state, and all options.
func TestWhatIsForeseenOfBatchesComesAbout(t *testing.T) {
	t.Parallel()
	const rounds = 12
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(round), 5))
			s := newStage(t, false)
			first := drawn(r, "New")
			s.publish(first)
			var manual []int
			for range 4 {
				manual = append(manual, s.batch("drawn", people(1), api.AllowInOtherBatches).ID)
			}
			var all []int
			for i := range 3 {
				id := 100 + i
				s.schedule(id, first, 1, dawn.Add(time.Duration(r.IntN(40)-20)*time.Hour))
				all = append(all, id)
			}
			for _, id := range manual {
				for range r.IntN(4) {
					_, err := s.app.Advance(s.ctx, ada, id, s.next(id))
					if err != nil && problem.CodeOf(err) != api.CodeConflict {
						t.Fatal(describe(err))
					}
					s.deliverAll()
				}
			}
			all = append(all, manual...)
			slices.Sort(all)
			for _, id := range all {
				var err error
				switch r.IntN(5) {
				case 0:
					_, err = s.app.Pause(s.ctx, ada, id, "")
				case 1:
					_, err = s.app.Cancel(s.ctx, ada, id, "")
				}
				if err != nil && problem.CodeOf(err) != api.CodeConflict {
					t.Fatal(describe(err))
				}
				s.deliverAll()
			}
			if r.IntN(2) == 0 {
				s.tickAfter(time.Duration(r.IntN(20)) * time.Hour)
			}
			s.tick() // two handlers may have listed a batch in the wrong order

			before := map[int][]api.Phase{}
			for _, id := range all {
				before[id] = s.phases(id)
			}
			o := api.PublishOptions{Overdue: []string{api.OverdueIgnore, api.OverdueRerun}[r.IntN(2)], RerunInit: r.IntN(2) == 0}
			next := drawn(r, "Newer")
			dry := o
			dry.DryRun = true
			foreseen := s.mustPublish(next, dry).Changes
			if got := s.mustPublish(next, o).Changes; encoded(got) != encoded(foreseen) {
				t.Fatalf("foreseen %s, then %s", encoded(foreseen), encoded(got))
			}
			inFlight := 0
			for _, id := range all {
				at := slices.IndexFunc(foreseen.Batches, func(f api.BatchForecast) bool { return f.BatchID == id })
				if terminal := slices.Contains([]string{"completed", "failed", "cancelled"}, s.status(id)); terminal != (at < 0) {
					t.Errorf("batch %d is %s, and foreseen: %v", id, s.status(id), at >= 0)
				}
				if at >= 0 {
					inFlight++
				}
			}
			if foreseen.BatchCount != inFlight {
				t.Errorf("%d batches in flight, not %d", foreseen.BatchCount, inFlight)
			}
			s.tick()
			for _, f := range foreseen.Batches {
				s.cameAbout(f, before[f.BatchID])
			}
		})
	}
}

// cameAbout fails unless a batch, which had these executions before, matches its
// forecast.
func (s *stage) cameAbout(f api.BatchForecast, before []api.Phase) {
	s.t.Helper()
	is := s.batchOf(f.BatchID)
	if followed := is.RunbookVersion == 2; followed != (f.Stays == "") {
		s.t.Errorf("%s: the batch is of version %d", encoded(f), is.RunbookVersion)
	}
	got := api.BatchForecast{BatchID: f.BatchID, Status: f.Status, Manual: is.IsManual, From: 1, Stays: f.Stays, Ends: f.Ends}
	if f.Stays == "" {
		after := s.phases(f.BatchID)
		begun := map[string]bool{}
		for i, was := range before {
			begun[was.Kind+was.Name] = begun[was.Kind+was.Name] || was.DispatchedAt != nil
			switch {
			case was.Status == "pending" && after[i].Status == "superseded":
				got.Superseded = append(got.Superseded, was.Name)
			case was.Status == "dispatched":
				got.UnderWay = append(got.UnderWay, was.Name)
			}
		}
		for _, p := range after[len(before):] {
			again := begun[p.Kind+p.Name]
			switch {
			case p.Status == "skipped":
				got.Skipped = append(got.Skipped, p.Name)
			case p.Kind == "init":
				got.Init, got.InitAgain = true, again
			case again:
				got.Again = append(got.Again, p.Name)
			default:
				got.Pending = append(got.Pending, p.Name)
			}
		}
		if f.Ends && is.CompletedAt == nil {
			s.t.Errorf("%s: the batch is %s", encoded(f), is.Status)
		}
	}
	if encoded(got) != encoded(f) {
		s.t.Errorf("foreseen  %s\ncame about %s\nof %s", encoded(f), encoded(got), s.phaseText(f.BatchID))
	}
}

// A faulty runbook does not affect the active version and its batches.
func TestBadVersionNeverReplacesAGoodOne(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	const good = `name: two
data_source: {type: csv, primary_key: Upn}
phases:
  - {name: first, offset: T-1d, steps: [{name: new, worker_id: worker-01, function: New}]}
  - {name: second, offset: T-0, steps: [{name: check, worker_id: worker-01, function: Check, params: {Mail: "{{Upn}}"}}]}
`
	check := message.CatalogFunction{Name: "Check", Parameters: []message.CatalogParameter{{Name: "Mail", Required: true}, {Name: "Site"}}}
	s.announce(catalogOf("w", dawn, "New"), announcement(message.Catalog{WorkerID: "worker-01", Timestamp: dawn, Functions: []message.CatalogFunction{{Name: "New"}, {Name: "Join"}, check}}))
	b := s.startBatch(good, people(1))
	strict := api.PublishOptions{Strict: true}
	for name, bad := range map[string]struct {
		yaml string
		o    api.PublishOptions
		says []string
	}{
		"not YAML":           {good + "\tx", api.PublishOptions{}, []string{"6:1 tab"}},
		"empty":              {"", api.PublishOptions{}, []string{"1:1 empty-runbook"}},
		"an unknown field":   {good + "retries: 3\n", api.PublishOptions{}, []string{"6:1 unknown-field"}},
		"too long":           {good + "#" + strings.Repeat("x", 1<<20), api.PublishOptions{}, []string{"1:1 too-large"}},
		"an unused rollback": {good + "rollbacks: {undo: [{name: n, worker_id: w, function: New}]}\n", strict, []string{"6:13 unused-rollback"}},
		"calls that no worker takes": {strings.NewReplacer("function: New}", "function: Nwe}", "{Mail:", "{Mial:").Replace(good), strict, []string{
			`4:75 unknown-function: did you mean "New"?`, "5:94 missing-parameter", `5:103 unknown-parameter: did you mean "Mail"?`,
		}},
	} {
		for _, dry := range []bool{false, true} {
			o := bad.o
			o.DryRun = dry
			_, err := s.tryPublish(bad.yaml, o)
			var got []string
			for _, p := range problemsOf(err) {
				text := fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Code)
				if _, hint, ok := strings.Cut(p.Message, "; did"); ok {
					text += ": did" + hint
				}
				got = append(got, text)
			}
			if problem.CodeOf(err) != api.CodeInvalid || !slices.Equal(got, bad.says) {
				t.Errorf("%s: %v; problems %q", name, err, got)
			}
		}
	}
	s.tick()
	s.wantVersions("two", "1 by ada ignore active")
	s.wantPhases(b.ID, "first completed 1/0/0, second pending 0/0/0")
	if _, err := s.tryPublish(good+"# as good\n", strict); err != nil {
		t.Error(describe(err))
	}
}

func problemsOf(err error) []api.InputProblem {
	if err == nil {
		return nil
	}
	return problem.Explain(err).Problems
}

// Each of two concurrent publishes gets the changes that it made, one after the other.
func TestPublishesAtTheSameTimeFollowEachOther(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(twoSteps)
	const n = 8
	views := make([]api.Runbook, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			v, err := s.app.PublishRunbook(s.ctx, ada, "", []byte(strings.ReplaceAll(twoSteps, "function: New", fmt.Sprintf("function: New%d", i))), api.PublishOptions{})
			if err != nil {
				t.Error(describe(err))
			}
			views[i] = v
		})
	}
	all.Wait()
	seen := map[int]api.Runbook{}
	for _, v := range views {
		if v.Changes == nil || v.Changes.Against != v.Version-1 || len(v.Changes.Runbook) != 1 {
			t.Fatalf("%s", encoded(v))
		}
		seen[v.Version] = v
	}
	from := "New"
	for version := 2; version <= n+1; version++ { // each is compared with the one that it replaced
		c := seen[version].Changes.Runbook[0]
		if c.From != from {
			t.Errorf("version %d: %s", version, c)
		}
		from = c.To
	}
}

// After a deactivation the version that batches are under is the one to compare with.
func TestVersionAfterADeactivationIsComparedWithTheLatest(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	b := s.createBatch(twoSteps, people(1))
	must(s.app.Deactivate(s.ctx, ada, "two", 1, ""))(t)
	c := s.mustPublish(second(twoSteps), api.PublishOptions{DryRun: true}).Changes
	if c.Against != 1 || len(c.Runbook) != 3 || len(c.Batches) != 1 || c.Batches[0].BatchID != b.ID {
		t.Errorf("%s", encoded(c))
	}
}

// A version that a newer program no longer reads must not keep anybody from publishing
// one that it does.
func TestVersionThatCanNoLongerBeReadIsReplaced(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.commit(
		store.Create(store.RunbookKey("two"), map[string]any{"name": "two", "latest": 1, "active": 1}),
		store.Create(store.VersionKey("two", 1), map[string]any{"name": "two", "version": 1, "yaml": twoSteps + "legacy: true\n"}))
	c := s.mustPublish(twoSteps, api.PublishOptions{}).Changes
	if c.Against != 1 || len(c.Runbook) != 0 || !strings.Contains(c.Problem, "cannot be read") || !strings.Contains(c.Problem, "legacy") {
		t.Errorf("%s", encoded(c))
	}
	b := s.batch("two", people(1))
	s.advance(b.ID)
	s.wantCalls(1, "New Join")
}

func TestOnlyTheFirstBatchesAreForeseenOneByOne(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(twoSteps)
	rb, _ := runbook.Parse([]byte(twoSteps))
	start := dawn.Add(time.Hour)
	const n = 103
	for id := n; id > 0; id-- {
		s.commit(store.Create(store.BatchKey(id), engine.NewBatch(id, rb, 1, 1, &start, "", dawn)))
		s.commit(store.Create(store.EntryKey(id), map[string]any{"id": id, "runbookName": "two", "status": "active"}))
	}
	s.commit(store.Create(store.EntryKey(n+1), map[string]any{"id": n + 1, "runbookName": "two", "status": "detected", "creating": true}))
	c := s.mustPublish(second(twoSteps), api.PublishOptions{DryRun: true}).Changes
	if c.BatchCount != n+1 || len(c.Batches) != 100 || c.Batches[0].BatchID != 1 || c.Batches[99].BatchID != 100 {
		t.Errorf("%d batches, of which %d are foreseen", c.BatchCount, len(c.Batches))
	}
	for _, f := range c.Batches {
		// first is due and waits: no member has completed it, so it is not skipped.
		if both := []string{"first", "second"}; f.Skipped != nil || !slices.Equal(f.Superseded, both) || !slices.Equal(f.Pending, both) {
			t.Errorf("%s", encoded(f))
		}
	}
}
