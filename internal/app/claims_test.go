package app_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
)

// newInterrupted makes a process that is held up after its n-th request to the store, while
// something else is done. It tells whether it came that far.
func (s *stage) newInterrupted(n int, do func()) (process *app.App, reached func() bool) {
	s.t.Helper()
	var count atomic.Int64
	db := s.over(line{after: func(operation) {
		if count.Add(1) == int64(n) {
			do()
		}
	}})
	return app.New(app.Config{Store: db, Bus: s.bus, Now: s.clock.Now, Log: s.log, Sources: s.sources(), Artifacts: s.artifacts}), func() bool { return count.Load() >= int64(n) }
}

// upload is a CSV of people, named by a prefix and numbers.
func upload(names ...string) []byte {
	return []byte("Upn\n" + strings.Join(names, "\n") + "\n")
}

func numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s%03d@x", prefix, i))
	}
	return names
}

// wantOneOpenBatch fails if a person whose key has the prefix is an active member of two
// open batches, and returns how many are in one.
func (s *stage) wantOneOpenBatch(prefix string) (people int) {
	s.t.Helper()
	homes := map[string]int{}
	page := must(s.app.Batches(s.ctx, api.ListOptions{Limit: 1000}))(s.t)
	for _, b := range page.Items {
		if model.BatchStatus(b.Status).Terminal() {
			continue
		}
		members := must(storetest.All[model.Member](s.ctx, s.store, store.BatchPartition(b.ID), "member"))(s.t)
		for _, m := range members {
			key := strings.ToLower(m.Doc.Key)
			if m.Doc.Status != model.MemberActive || !strings.HasPrefix(key, prefix) {
				continue
			}
			if other := homes[key]; other != 0 {
				s.t.Errorf("%s is in the batches %d and %d", m.Doc.Key, other, b.ID)
			}
			homes[key] = b.ID
		}
	}
	return len(homes)
}

// flatUpn is a runbook whose members are uploaded.
const flatUpn = `name: uploaded
data_source: {type: csv, primary_key: Upn}
phases:
  - name: only
    offset: T-0
    steps:
      - {name: only, worker_id: worker-01, function: New, params: {Upn: "{{Upn}}"}}
`

// At every point of one creation at which another begins and ends, the two share no
// person: one batch is created, and the other is refused with the names.
func TestBatchesCreatedAtOnceShareNobody(t *testing.T) {
	t.Parallel()
	for _, size := range []int{3, 230} {
		t.Run(fmt.Sprintf("%d members", size), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			s.publish(flatUpn)
			for n := 1; ; n += cutStep() {
				prefix := fmt.Sprintf("u%03d-", n)
				shared := numbered(prefix+"b", 2)
				var second error
				process, reached := s.newInterrupted(n, func() {
					_, second = s.other.CreateBatch(s.ctx, ada, "uploaded", upload(append(numbered(prefix+"c", size), strings.ToUpper(shared[0]), shared[1])...))
				})
				_, first := process.CreateBatch(s.ctx, ada, "uploaded", upload(append(numbered(prefix+"a", size), shared...)...))
				if !reached() {
					noError(t, first)
					break
				}
				if (first == nil) == (second == nil) {
					t.Fatalf("after request %d: %v, %v", n, first, second)
				}
				for _, err := range []error{first, second} {
					if err != nil {
						says := strings.ToLower(err.Error())
						if problem.CodeOf(err) != api.CodeConflict || !strings.Contains(says, shared[0]) && !strings.Contains(says, shared[1]) {
							t.Fatalf("after request %d: %v names nobody", n, err)
						}
					}
				}
				if got := s.wantOneOpenBatch(prefix); got != size+2 {
					t.Fatalf("after request %d: %d people are in a batch", n, got)
				}
			}
		})
	}
}

// The same of additions to two batches, and of an addition and a creation.
func TestAdditionsAtOnceShareNobody(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(s *stage, csv []byte) error{
		"another addition": func(s *stage, csv []byte) error { return errorOf(s.other.AddMembers(s.ctx, ada, 2, csv)) },
		"a creation": func(s *stage, csv []byte) error {
			return errorOf(s.other.CreateBatch(s.ctx, ada, "uploaded", csv))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			s.publish(flatUpn)
			s.batch("uploaded", string(upload("first")))
			s.batch("uploaded", string(upload("second")))
			for n := 1; ; n += cutStep() {
				prefix := fmt.Sprintf("u%03d-", n)
				shared := numbered(prefix+"b", 2)
				var second error
				process, reached := s.newInterrupted(n, func() { second = meanwhile(s, upload(append(numbered(prefix+"c", 60), shared...)...)) })
				_, first := process.AddMembers(s.ctx, ada, 1, upload(append(numbered(prefix+"a", 60), shared...)...))
				s.deliverAll()
				if !reached() {
					noError(t, first)
					break
				}
				if (first == nil) == (second == nil) {
					t.Fatalf("after request %d: %v, %v", n, first, second)
				}
				if got := s.wantOneOpenBatch(prefix); got != 62 {
					t.Fatalf("after request %d: %d people are in a batch", n, got)
				}
			}
		})
	}
}

// Of several who want some of the same people, at least one gets all that it wants.
func TestThreeBatchesCreatedAtOnceShareNobody(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(flatUpn)
	for n := 1; n <= 12; n += 2 {
		for inner := 1; inner <= 12; inner += 3 {
			prefix := fmt.Sprintf("u%02d%02d-", n, inner)
			pair := func(p, q string) []byte {
				return upload(append(numbered(prefix+p, 120), append(numbered(prefix+"x"+p, 1), numbered(prefix+"x"+q, 1)...)...)...)
			}
			var errs [3]error
			first, _ := s.newInterrupted(n, func() {
				second, _ := s.newInterrupted(inner, func() { _, errs[2] = s.app.CreateBatch(s.ctx, ada, "uploaded", pair("c", "a")) })
				_, errs[1] = second.CreateBatch(s.ctx, ada, "uploaded", pair("b", "c"))
			})
			_, errs[0] = first.CreateBatch(s.ctx, ada, "uploaded", pair("a", "b"))
			made := 0
			for _, err := range errs {
				if err == nil {
					made++
				} else if problem.CodeOf(err) != api.CodeConflict {
					t.Fatal(describe(err))
				}
			}
			if made == 0 {
				t.Fatalf("after requests %d and %d nobody made a batch: %v", n, inner, errs)
			}
			s.wantOneOpenBatch(prefix)
		}
	}
}

// A tick does not add a person who is in a batch of another runbook, also when that batch
// is new since the tick began. The next tick after that batch has ended adds the person.
func TestTickAddsNobodyWhoIsInAnotherBatch(t *testing.T) {
	t.Parallel()
	for n := 1; ; n += cutStep() {
		s := newStage(t, false)
		people := s.tableOf(dawn.Add(5*day), crowd(60)...)
		people.put(dawn.Add(6*day), "solo")
		s.publish(flatUpn)
		s.publishAutomated(found(twoPhases, ""))
		var second error
		process, reached := s.newInterrupted(n, func() { _, second = s.other.CreateBatch(s.ctx, ada, "uploaded", upload("P003@X", "solo@x")) })
		noError(t, process.Tick(s.ctx))
		s.deliverAll()
		s.wantOneOpenBatch("")
		if !reached() {
			break
		}
		s.tick()
		s.wantOneOpenBatch("")
		if second != nil { // the tick was first
			s.wantRefused(second, api.CodeConflict, "of runbook found")
			continue
		}
		v := s.automation("found")
		if !slices.ContainsFunc(v.Problems, func(p api.RowProblem) bool { return p.Code == "other-batch" && strings.Contains(p.Message, "P003@X") }) {
			t.Fatalf("after request %d: %+v", n, v)
		}
		page := must(s.app.Batches(s.ctx, api.ListOptions{Runbook: "uploaded"}))(t)
		must(s.app.Cancel(s.ctx, ada, page.Items[0].ID, ""))(t)
		s.deliverAll()
		s.tick()
		if got := s.wantOneOpenBatch(""); got != 61 {
			t.Fatalf("after request %d: %d people are in a batch", n, got)
		}
	}
}

// The preview names the people whom the next tick does not add, since another batch has
// them, and counts only the others.
func TestPreviewNamesPeopleInOtherBatches(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(5*day), "p000", "p001", "p002")
		s.publish(flatUpn)
		s.publish(guardedBy("{number: 2}", found(twoPhases, "")))
		s.tick()
		s.batch("uploaded", string(upload("P001@X", "solo@x", "late@x")))
		people.put(dawn.Add(6*day), "solo")
		preview := func() api.QueryPreview {
			return must(s.app.PreviewQuery(s.ctx, ada, "found", 1))(t)
		}
		want := func(v api.QueryPreview, groups string, keys ...string) {
			t.Helper()
			var got []string
			for _, p := range v.Problems {
				if p.Code != "other-batch" || !strings.Contains(p.Message, "batch 1 of runbook uploaded") {
					t.Errorf("%+v", p)
				}
				got = append(got, p.Key)
			}
			var counts []string
			for _, g := range v.Groups {
				counts = append(counts, fmt.Sprintf("%d: %d+%d", g.BatchID, g.Add, g.AddHeld))
			}
			if slices.Sort(got); !slices.Equal(got, keys) || v.ProblemCount != len(keys) || strings.Join(counts, ", ") != groups {
				t.Errorf("%d problems %v, groups %v; want %v, %s", v.ProblemCount, v.Problems, counts, keys, groups)
			}
		}
		held := preview()
		want(held, "0: 0+3, 0: 0+1", "p001@x", "solo@x")
		if held.Additions == nil {
			t.Fatal("no additions are held")
		}
		must(s.app.EnableAutomation(s.ctx, ada, "found", held.Additions.Revision))(t)
		want(preview(), "0: 2+0, 0: 0+0", "p001@x", "solo@x")
		s.tick()
		s.wantOneOpenBatch("")

		// A member who moves is in no other batch; a row that is new to a batch is.
		people.put(dawn.Add(6*day), "p000")
		people.put(dawn.Add(5*day), "late")
		want(preview(), "2: 0+2, 0: 1+1", "late@x", "p001@x", "solo@x")
	})
}

// A creation that dies keeps its people for ten minutes from others, and no longer.
func TestCreationThatDiesKeepsItsPeopleForTenMinutes(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.publish(flatUpn)
		csv := upload(numbered("u", 230)...)
		cut := s.kill(write, func(ctx context.Context, a *app.App) error {
			return errorOf(a.CreateBatch(ctx, ada, "uploaded", csv))
		})
		_, err := s.app.CreateBatch(s.ctx, ada, "uploaded", csv)
		if s.wantRefused(err, api.CodeConflict, "is in batch 1 of runbook uploaded"); !strings.Contains(err.Error(), "being created") {
			return cut // it was whole
		}
		s.pass(10 * time.Minute)
		s.batch("uploaded", string(csv))
		s.tick()
		if got := s.wantOneOpenBatch("u"); got != 230 {
			t.Fatalf("%d people are in a batch", got)
		}
		return cut
	})
}

// Repeated with its idempotency key, an interrupted creation continues only with
// people who are in no other batch by then.
func TestCreationThatGoesOnLateSharesNobody(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(flatUpn)
	by := audit.Caller{Name: "ada", Key: "k"}
	s.kill(2, func(ctx context.Context, a *app.App) error {
		return errorOf(a.CreateBatch(ctx, by, "uploaded", upload(numbered("u", 130)...)))
	})
	s.pass(10 * time.Minute)
	s.batch("uploaded", string(upload("u001@x")))
	s.wantRefused(errorOf(s.app.CreateBatch(s.ctx, by, "uploaded", upload(numbered("u", 130)...))), api.CodeConflict, "u001@x is in batch 2")
	s.wantOneOpenBatch("u")
}

func TestPeopleInOtherBatchesAreTakenWhereThatIsAllowed(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.tableOf(dawn.Add(5*day), "found")
	s.publish(flatUpn)
	s.publish(strings.NewReplacer("name: uploaded", "name: apart", "worker-01", "worker-02").Replace(flatUpn))
	s.findBatches(found(twoPhases, ""))
	s.batch("uploaded", string(upload("ann")))
	s.wantRefused(errorOf(s.app.CreateBatch(s.ctx, ada, "uploaded", upload(append(numbered("u", 300), "ANN")...))), api.CodeConflict, "1 of 301 people cannot be added: ANN is in batch 2 of runbook uploaded, as ann")
	s.wantRefused(errorOf(s.app.CreateBatch(s.ctx, ada, "uploaded", upload("found@x"))), api.CodeConflict, "found@x is in batch 1 of runbook found")
	s.batch("apart", string(upload("ann"))) // no worker serves both runbooks
	shared := s.batch("uploaded", string(upload("ann", "found@x")), api.AllowInOtherBatches)
	if !shared.Shared || !s.batchOf(shared.ID).Shared || s.batchOf(2).Shared {
		t.Errorf("%+v", shared)
	}
	if record := s.listAudit(shared.ID)[0]; !strings.Contains(string(record.After), `"allowInOtherBatches":true`) {
		t.Errorf("%s", record.After)
	}
	s.wantRefused(errorOf(s.app.AddMembers(s.ctx, ada, 2, upload("found@x"))), api.CodeConflict, "found@x is in batch 1 of runbook found")
	s.wantRefused(errorOf(s.app.AddMembers(s.ctx, ada, 2, upload(numbered("many", 10_001)...))), api.CodeTooLarge, "the CSV has 10001 rows; at most 10000 people can be added to a batch at once")
	if added := must(s.app.AddMembers(s.ctx, ada, 2, upload("found@x"), api.AllowInOtherBatches))(t); added.Added != 1 || !added.Batch.Shared {
		t.Errorf("%+v", added)
	}
	s.wantRefused(errorOf(s.app.AddMembers(s.ctx, ada, 1, []byte("Upn,Name\nann,Ann\n"), api.AllowInOtherBatches)), api.CodeConflict, "follows a data source")

	// Whom two batches have is free when both have ended.
	for _, id := range []int{2, shared.ID} {
		s.wantRefused(errorOf(s.app.CreateBatch(s.ctx, ada, "uploaded", upload("ann"))), api.CodeConflict, "ann is in batch")
		must(s.app.Cancel(s.ctx, ada, id, ""))(t)
		s.deliverAll()
	}
	s.batch("uploaded", string(upload("ann")))

	// A refusal names a hundred people.
	s.batch("uploaded", string(upload(numbered("n", 300)...)))
	_, err := s.app.CreateBatch(s.ctx, ada, "uploaded", upload(numbered("n", 300)...))
	s.wantRefused(err, api.CodeConflict, "300 of 300 people cannot be added")
	s.wantRefused(err, api.CodeConflict, "allowInOtherBatches (--allow-in-other-batches)")
	var e *problem.Error
	if !errors.As(err, &e) || len(e.Problems) != 101 || e.Problems[0].Line != 2 || e.Problems[100].Message != "200 more people are in other batches" {
		t.Errorf("%+v", e)
	}
}

// What an upload costs does not depend on how many batches there are, nor on how many
// people are in them.
func TestCostOfAClaim(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	s.publish(flatUpn)
	cost := func(prefix string) store.Counts {
		before := s.store.Counts()
		s.batch("uploaded", string(upload(numbered(prefix, 25)...)))
		after := s.store.Counts()
		return store.Counts{Reads: after.Reads - before.Reads, Queries: after.Queries - before.Queries, Writes: after.Writes - before.Writes}
	}
	cost("warm")
	first := cost("first")
	for n := range 10 {
		s.batch("uploaded", string(upload(numbered(fmt.Sprintf("more%d-", n), 120)...)))
	}
	if last := cost("last"); last != first || first != (store.Counts{Reads: 3, Queries: 2, Writes: 3}) {
		t.Errorf("it cost %+v, and with more batches %+v", first, last)
	}
}
