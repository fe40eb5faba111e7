package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
)

// A request repeated with its idempotency key has one effect, after any outcome of the
// first.

func adaBy(key string) audit.Caller { return audit.Caller{Name: "ada", Key: key} }

// stored gives every document of a batch's partition of a type.
func storedAs[T any](s *stage, batch int, kind string) []T {
	s.t.Helper()
	items := must(storetest.All[T](s.ctx, s.store, store.BatchPartition(batch), kind))(s.t)
	docs := make([]T, len(items))
	for i, item := range items {
		docs[i] = item.Doc
	}
	return docs
}

// listBatchIDs gives the numbers of the batches that are listed.
func (s *stage) listBatchIDs() []int {
	s.t.Helper()
	page := must(s.app.Batches(s.ctx, api.ListOptions{Limit: 1000}))(s.t)
	ids := []int{}
	for _, b := range page.Items {
		ids = append(ids, b.ID)
	}
	slices.Sort(ids)
	return ids
}

// begun is the number of the newest batch that was begun, made or not.
func (s *stage) readLastBatchID() int {
	s.t.Helper()
	item := must(store.Read[struct{ Last int }](s.ctx, s.store, store.SequenceKey()))(s.t)
	return item.Doc.Last
}

func TestBatchAskedForAgainByItsKeyIsTheSameAsItStands(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always(`{"id":"u"}`)}
		s.publish(mover)
		ask := func(by audit.Caller, runbook, csv string, options ...api.UploadOption) (api.Batch, error) {
			return s.app.CreateBatch(s.ctx, by, runbook, []byte(csv), options...)
		}
		const csv = "Upn,Name,Old\na@x,A,1\n"
		first := must(ask(adaBy("k"), "move", csv))(t)
		if first.Replayed || len(first.Warnings) != 1 {
			t.Fatalf("%+v", first)
		}
		s.advance(first.ID)
		s.publish(strings.Replace(mover, "name: move", "name: move\ndescription: later", 1))
		again := must(ask(adaBy("k"), "move", csv))(t)
		if again.ID != first.ID || !again.Replayed || again.Status != s.status(first.ID) || again.Status == first.Status || !slices.Equal(again.Warnings, first.Warnings) {
			t.Fatalf("first %+v\nagain %+v", first, again)
		}
		s.wantRefused(errorOf(ask(adaBy("k"), "move", csv+"b@x,B,2\n")), api.CodeKeyReused, "other content")
		s.wantRefused(errorOf(ask(adaBy("k"), "other", csv)), api.CodeKeyReused, "other content")
		for n, by := range []audit.Caller{{Name: "grace", Key: "k"}, {Name: "ada", ObjectID: "another", Key: "k"}, adaBy("k2"), ada} {
			if v, err := ask(by, "move", csv, api.AllowInOtherBatches); err != nil || v.ID != first.ID+1+n || v.Replayed {
				t.Fatalf("%+v: %+v, %v", by, v, err)
			}
		}
	})
}

// A refusal is not recorded under the key: the repeated request is judged anew.
func TestRequestThatWasRefusedDoesNotTakeItsKey(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.wantRefused(errorOf(s.app.CreateBatch(s.ctx, adaBy("k"), "move", []byte(people(2)))), api.CodeNotFound, "move")
	s.publish(mover)
	s.wantRefused(errorOf(s.app.CreateBatch(s.ctx, adaBy("k"), "move", []byte("Name\nx\n"))), api.CodeInvalid, "no batch was created")
	b := must(s.app.CreateBatch(s.ctx, adaBy("k"), "move", []byte(people(2))))(t)
	if b.Replayed || b.ID != 1 {
		t.Fatalf("%+v", b)
	}
	s.wantRefused(errorOf(s.app.AddMembers(s.ctx, adaBy("k"), b.ID, []byte("Upn\n"))), api.CodeInvalid, "no member was added")
	if v, err := s.app.AddMembers(s.ctx, adaBy("k"), b.ID, []byte("Upn,Name\nc@x,C\n")); err != nil || v.Added != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
}

// From any partial result of the first request, the second creates the same batch:
// once, with the first's version and time, without overwriting a member.
func TestBatchWhoseCreationWasCutShortIsGoneOnWithByItsKey(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(s *stage){
		"at once": func(*stage) {},
		"days later": func(s *stage) {
			s.pass(25 * time.Hour) // it is no longer listed as in the making
			s.tick()
			s.publish(strings.Replace(flat, "name: flat", "name: flat\ndescription: later", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
				s.publish(flat)
				const members = 2*store.MaxOperations + 3
				csv := []byte(people(members))
				cut := s.kill(write, func(ctx context.Context, a *app.App) error {
					return errorOf(a.CreateBatch(ctx, adaBy("k"), "flat", csv))
				})
				between(s)
				for range 2 {
					v := must(s.app.CreateBatch(s.ctx, adaBy("k"), "flat", csv))(t)
					if v.ID != 1 || v.MemberCount != members || v.RunbookVersion != 1 || !v.DetectedAt.Equal(dawn) || v.CreatedBy != "ada" || !v.Replayed {
						t.Fatalf("after write %d: %+v", write, v)
					}
				}
				if got := s.listBatchIDs(); s.readLastBatchID() != 1 || !slices.Equal(got, []int{1}) {
					t.Fatalf("after write %d batches up to %d were begun, and %v are listed", write, s.readLastBatchID(), got)
				}
				there := storedAs[model.Member](s, 1, "member")
				if len(there) != members {
					t.Fatalf("after write %d there are %d members", write, len(there))
				}
				for i, m := range there {
					if m.ID != i+1 || m.Key != fmt.Sprintf("p%03d@x", i+1) || m.Page != model.PageOf(i+1) || !m.AddedAt.Equal(dawn) {
						t.Fatalf("after write %d member %d is %+v", write, i+1, m)
					}
				}
				if n := len(s.listAudit(1)); n != 1 {
					t.Fatalf("after write %d its making is recorded %d times", write, n)
				}
				return cut
			})
		})
	}
}

// A runbook without an active version creates no batches, also if the creation began
// while it had one; the answer for a created batch is repeated all the same.
func TestBatchThatWasBegunIsNotMadeOnceItsRunbookIsDeactivated(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.publish(flat)
		csv := []byte(people(3))
		cut := s.kill(write, func(ctx context.Context, a *app.App) error {
			return errorOf(a.CreateBatch(ctx, adaBy("k"), "flat", csv))
		})
		_, made := s.app.Batch(s.ctx, ada, 1)
		must(s.app.Deactivate(s.ctx, ada, "flat", 1, ""))(t)
		v, err := s.app.CreateBatch(s.ctx, adaBy("k"), "flat", csv)
		if made == nil {
			if noError(t, err); v.ID != 1 || !v.Replayed {
				t.Fatalf("after write %d: %+v", write, v)
			}
			return cut
		}
		s.wantRefused(err, api.CodeNotFound, "Publish one")
		s.publish(strings.Replace(flat, "name: flat", "name: flat\ndescription: later", 1))
		v = must(s.app.CreateBatch(s.ctx, adaBy("k"), "flat", csv))(t)
		if v.ID != 1 || v.MemberCount != 3 {
			t.Fatalf("after write %d: %+v", write, v)
		}
		return cut
	})
}

// A batch that has begun keeps its members, also from a request that was begun before
// and is late with its writes.
func TestLateRequestWritesOverNobodyInABatchThatHasBegun(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.script = script{"F": always(`{"x":"y"}`)}
		s.publish(flat)
		csv := []byte(people(store.MaxOperations + 3))
		// The late one stands still after a write of its own, while another makes the batch,
		// takes one in and one out, and runs it.
		late, going := s.slow(write, func() {
			v := must(s.app.CreateBatch(s.ctx, adaBy("k"), "flat", csv))(t)
			s.add(v.ID, "later@x")
			s.remove(v.ID, 1)
			s.advance(v.ID)
			s.wantStatus(v.ID, "completed")
		})
		v := must(late.CreateBatch(s.ctx, adaBy("k"), "flat", csv))(t)
		if !going() {
			return false
		}
		if v.ID != 1 || v.Replayed && (v.Status != "completed" || v.MemberCount != store.MaxOperations+4) {
			t.Fatalf("after write %d: %+v", write, v)
		}
		if n := len(storedAs[model.Member](s, 1, "member")); n != store.MaxOperations+4 {
			t.Fatalf("after write %d there are %d members", write, n)
		}
		return true
	})
}

// slow is another process, which stands still after its n-th write until something has
// been done. The func tells whether it came to that.
func (s *stage) slow(write int, meanwhile func()) (*app.App, func() bool) {
	s.t.Helper()
	var written atomic.Int64
	db := s.over(line{after: func(op operation) {
		if op.write && written.Add(1) == int64(write) {
			meanwhile()
		}
	}})
	return app.New(app.Config{Store: db, Bus: s.bus, Now: s.clock.Now, Log: slog.New(slog.DiscardHandler), Sources: s.sources(), Artifacts: s.artifacts}), func() bool { return written.Load() >= int64(write) }
}

func TestRequestsByOneKeyAtTheSameTimeMakeOneBatch(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(flat)
	const members = 2*store.MaxOperations + 3
	views := make([]api.Batch, 12)
	s.atOnce(len(views), func(i int, process *app.App) error {
		var err error
		views[i], err = process.CreateBatch(s.ctx, adaBy("k"), "flat", []byte(people(members)))
		return err
	})
	made := 0
	for _, v := range views {
		if v.ID != 1 || v.MemberCount != members {
			t.Errorf("%+v", v)
		}
		if !v.Replayed {
			made++
		}
	}
	if made > 1 || s.readLastBatchID() != 1 || !slices.Equal(s.listBatchIDs(), []int{1}) || len(storedAs[model.Member](s, 1, "member")) != members {
		t.Errorf("%d made it, %d were begun", made, s.readLastBatchID())
	}
	s.verify()
}

// A request loses the number of the first batch to a repetition of itself, which completes it.
func TestRequestThatLosesTheFirstNumberIsReplayed(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(flat)
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	var begun atomic.Bool
	db := s.over(line{before: func(op operation) error {
		if op.write && begun.CompareAndSwap(false, true) {
			must(s.app.CreateBatch(ctx, adaBy("k"), "flat", []byte(people(3))))(t)
		}
		return nil
	}})
	late := app.New(app.Config{Store: db, Bus: s.bus, Now: s.clock.Now, Log: slog.New(slog.DiscardHandler), Sources: s.sources(), Artifacts: s.artifacts})
	if v := must(late.CreateBatch(ctx, adaBy("k"), "flat", []byte(people(3))))(t); v.ID != 1 || v.MemberCount != 3 || !v.Replayed {
		t.Errorf("%+v", v)
	}
	s.verify()
}

func TestAdditionAskedForAgainByItsKeyAddsNobodyAnew(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = chain()
		s.publish(chained)
		b := s.batch("chained", people(3)) // p001@x to p003@x
		s.advance(b.ID)
		const csv = "Upn,Name\nnew@x,N\np002@x,P\nother@x,O\np003@x,P\n"
		add := func(by audit.Caller, csv string) (api.AddResult, error) {
			defer s.deliverAll()
			return s.app.AddMembers(s.ctx, by, b.ID, []byte(csv))
		}
		first := must(add(adaBy("k"), csv))(t)
		if first.Added != 2 || fmt.Sprint(first.Present) != "[p002@x p003@x]" || first.Replayed {
			t.Fatalf("%+v", first)
		}
		// One who was there is removed, and one who was added.
		s.remove(b.ID, 2)
		s.remove(b.ID, 4)
		for range 2 {
			again := must(add(adaBy("k"), csv))(t)
			if again.Added != 2 || !slices.Equal(again.Present, first.Present) || !again.Replayed || again.Batch.MemberCount != 5 || again.Batch.RemovedCount != 2 {
				t.Fatalf("%+v", again)
			}
		}
		s.wantRefused(errorOf(add(adaBy("k"), csv+"more@x,M\n")), api.CodeKeyReused, "other content")
		if v, err := add(audit.Caller{Name: "grace", Key: "k"}, csv); err != nil || v.Added != 2 || v.Replayed {
			t.Fatalf("%+v, %v", v, err)
		}
		// All are there: that is an answer as well.
		if all := must(add(adaBy("all"), csv))(t); all.Added != 0 || len(all.Present) != 4 {
			t.Fatalf("%+v", all)
		}
		s.remove(b.ID, 3)
		if v, err := add(adaBy("all"), csv); err != nil || v.Added != 0 || len(v.Present) != 4 || !v.Replayed {
			t.Fatalf("%+v, %v", v, err)
		}
		// Nor is a cancelled batch an obstacle.
		must(s.app.Cancel(s.ctx, ada, b.ID, ""))(t)
		s.deliverAll()
		if v, err := add(adaBy("k"), csv); err != nil || v.Added != 2 || v.Batch.Status != "cancelled" {
			t.Fatalf("%+v, %v", v, err)
		}
	})
}

func TestAdditionThatWasCutShortIsGoneOnWithByItsKey(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.script = chain()
		s.publish(chained)
		const rows = 2*model.PageSize + 10  // three pages, without the one who is there
		old := fmt.Sprintf("p%03d@x", rows) // the last row
		b := s.batch("chained", "Upn,Name\n"+old+",Old\nlast@x,Old\n")
		s.advance(b.ID)
		csv := []byte(people(rows))
		cut := s.kill(write, func(ctx context.Context, a *app.App) error {
			return errorOf(a.AddMembers(ctx, adaBy("k"), b.ID, csv))
		})
		s.deliverAll()
		there := len(storedAs[model.Member](s, b.ID, "member"))
		removed := 0
		if there > 2 { // of those who were added, one is taken out again, and so is one who was there
			s.remove(b.ID, 3)
			s.remove(b.ID, 1)
			removed = 2
		}
		for range 2 {
			v := must(s.app.AddMembers(s.ctx, adaBy("k"), b.ID, csv))(t)
			if v.Added != rows-1 || fmt.Sprint(v.Present) != "["+old+"]" || v.Batch.MemberCount != rows+1 || v.Batch.RemovedCount != removed {
				t.Fatalf("after write %d, when there were %d: %+v", write, there, v)
			}
			s.deliverAll()
		}
		seen := map[string]bool{}
		for _, m := range storedAs[model.Member](s, b.ID, "member") {
			if seen[m.Key] {
				t.Fatalf("after write %d %s was added twice", write, m.Key)
			}
			seen[m.Key] = true
		}
		s.advance(b.ID)
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
		return cut
	})
}

func TestRequestsByOneKeyAtTheSameTimeAddEverybodyOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	b := s.createBatch(chained, "Upn,Name\np003@x,Old\n")
	const rows = 3*model.PageSize + 10
	s.atOnce(8, func(_ int, process *app.App) error {
		v, err := process.AddMembers(s.ctx, adaBy("k"), b.ID, []byte(people(rows)))
		if v.Added != rows-1 || fmt.Sprint(v.Present) != "[p003@x]" {
			t.Errorf("%+v", v)
		}
		return err
	})
	s.deliverAll()
	if got := s.batchOf(b.ID).MemberCount; got != rows {
		t.Errorf("%d members", got)
	}
	s.verify()
}

// Of two requests with other content that come by one key at the same time, each when
// neither has been carried out, one is refused and does nothing.
func TestOtherContentByOneKeyAtTheSameTimeIsRefused(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(a *app.App, s *stage, other bool) error{
		"create": func(a *app.App, s *stage, other bool) error {
			return errorOf(a.CreateBatch(s.ctx, adaBy("k"), "chained", []byte(people(map[bool]int{false: 1, true: 2}[other]))))
		},
		"add": func(a *app.App, s *stage, other bool) error {
			return errorOf(a.AddMembers(s.ctx, adaBy("k"), 1, []byte(map[bool]string{false: "Upn,Name\nnew@x,N\n", true: "Upn,Name\nother@x,O\n"}[other])))
		},
		"publish": func(a *app.App, s *stage, other bool) error {
			return errorOf(a.PublishRunbook(s.ctx, adaBy("k"), "", []byte(map[bool]string{false: flat, true: flat + "\n# other\n"}[other]), api.PublishOptions{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			s.publish(chained)
			s.batch("chained", "Upn,Name\nold@x,Old\n")
			var after string
			state := func() string {
				v, err := s.app.Versions(s.ctx, "flat", api.ListOptions{})
				return fmt.Sprint(s.readLastBatchID(), s.listBatchIDs(), s.batchOf(1).MemberCount, len(v.Items), err)
			}
			slow := s.between(readsRequest, func() {
				noError(t, ask(s.other, s, true))
				after = state()
			})
			s.wantRefused(ask(slow, s, false), api.CodeKeyReused, "other content")
			if got := state(); after == "" || got != after {
				t.Errorf("%s, before it was refused %s", got, after)
			}
		})
	}
}

func TestPublishAskedForAgainByItsKeyDoesNotUndoWhatCameAfterIt(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	publish := func(by audit.Caller, yaml string) api.Runbook {
		return must(s.app.PublishRunbook(s.ctx, by, "", []byte(yaml), api.PublishOptions{}))(t)
	}
	later := strings.Replace(flat, "name: flat", "name: flat\ndescription: later", 1)
	if v := publish(adaBy("one"), flat); v.Version != 1 || v.Replayed {
		t.Fatalf("%+v", v)
	}
	if v := publish(adaBy("same"), flat); v.Version != 1 || !v.Unchanged || v.Replayed {
		t.Fatalf("%+v", v)
	}
	publish(ada, later)
	for key, unchanged := range map[string]bool{"one": false, "same": true} {
		if v := publish(adaBy(key), flat); v.Version != 1 || v.Active || v.Unchanged != unchanged || !v.Replayed {
			t.Fatalf("%s: %+v", key, v)
		}
	}
	if v, err := s.app.Runbook(s.ctx, "flat"); err != nil || v.Version != 2 {
		t.Fatalf("%+v, %v", v, err)
	}
	s.wantRefused(errorOf(s.app.PublishRunbook(s.ctx, adaBy("one"), "", []byte(later), api.PublishOptions{})), api.CodeKeyReused, "other content")
	s.wantRefused(errorOf(s.app.PublishRunbook(s.ctx, adaBy("one"), "", []byte(flat), api.PublishOptions{RerunInit: true})), api.CodeKeyReused, "other content")
	if v := publish(audit.Caller{Name: "grace", Key: "one"}, flat); v.Version != 3 || v.Replayed {
		t.Fatalf("%+v", v)
	}
}

func TestPublishThatWasCutShortOrIsAskedForByManyIsOneVersion(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		cut := s.kill(write, func(ctx context.Context, a *app.App) error {
			return errorOf(a.PublishRunbook(ctx, adaBy("k"), "", []byte(flat), api.PublishOptions{}))
		})
		s.atOnce(6, func(_ int, process *app.App) error {
			v, err := process.PublishRunbook(s.ctx, adaBy("k"), "", []byte(flat), api.PublishOptions{})
			if v.Version != 1 {
				t.Errorf("%+v", v)
			}
			return err
		})
		if page, err := s.app.Versions(s.ctx, "flat", api.ListOptions{}); err != nil || len(page.Items) != 1 {
			t.Errorf("%+v, %v", page, err)
		}
		return cut
	})
}
