package app_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
)

// sizes counts the members of each batch, by id.
func (s *stage) sizes() []int {
	s.t.Helper()
	page := must(s.app.Batches(s.ctx, api.ListOptions{Limit: 100}))(s.t)
	sizes := make([]int, len(page.Items))
	for _, b := range page.Items {
		sizes[b.ID-1] = b.MemberCount
	}
	return sizes
}

func (s *stage) wantSizes(want ...int) {
	s.t.Helper()
	got := s.sizes()
	if len(got) != len(want) {
		s.t.Fatalf("batches of %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			s.t.Fatalf("batches of %v, want %v", got, want)
		}
	}
}

// lostWhere is a runbook of five people whose query then returns people of all starts.
func (s *stage) lostWhere(all int) *table {
	s.t.Helper()
	rows := s.tableOf(dawn.Add(3*day), crowd(5)...)
	s.findBatches(guardedBy("", found(twoPhases, "")))
	s.wantSizes(5)
	names := crowd(all)
	rows.put(dawn.Add(3*day), names[:all/2]...)
	rows.put(dawn.Add(4*day), names[all/2:]...)
	return rows
}

func (s *stage) additions() api.AdditionHold {
	s.t.Helper()
	return must(s.app.HeldAdditions(s.ctx, reader, "found", api.ListOptions{}))(s.t)
}

func TestQueryThatLosesItsWhereClauseAddsNobodyBeforeItIsConfirmed(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.lostWhere(500)
		preview := must(s.app.PreviewQuery(s.ctx, ada, "found", 1))(t)
		if preview.Additions == nil || preview.Additions.People != 495 || preview.Groups[0].AddHeld != 245 || preview.Groups[1].AddHeld != 250 || preview.Groups[1].Add != 0 {
			t.Fatalf("%+v %+v", preview.Additions, preview.Groups)
		}
		s.tick()
		since := s.clock.Now()
		s.tickAfter(5 * time.Minute)
		s.wantSizes(5)
		held := s.additions()
		if held.People != 495 || held.Of != 5 || !held.Since.Equal(since) || held.Revision != preview.Additions.Revision || len(held.Starts) != 2 || held.Starts[0].People != 245 ||
			len(held.Items) != 100 || held.Items[0].Key != "p005@x" || !held.Items[0].BatchStartTime.Equal(dawn.Add(3*day)) || held.Confirmed != nil ||
			held.Reason != "the query returns 495 new people for 5 members, more than the addition_guard's number of 100 allows" {
			t.Fatalf("%+v", held)
		}
		if v := s.automation("found"); v.Additions == nil || v.Additions.People != 495 || v.LastError != "" {
			t.Fatalf("%+v", v)
		}
		if rb, err := s.app.Runbook(s.ctx, "found"); err != nil || rb.Additions != 495 {
			t.Fatalf("%+v %v", rb, err)
		}

		s.wantRefused(errorOf(s.app.ConfirmAdditions(s.ctx, ada, "found", "", "")), api.CodeInvalid, "invalid revision")
		s.wantRefused(errorOf(s.app.ConfirmAdditions(s.ctx, ada, "found", "0123456789abcdef", "")), api.CodeConflict, "have changed")
		for range 2 { // also again
			v := must(s.app.ConfirmAdditions(s.ctx, ada, "found", held.Revision, "the whole company"))(t)
			if v.Confirmed == nil || v.Confirmed.By != "ada" || v.Confirmed.Why != "the whole company" {
				t.Fatalf("%+v", v)
			}
		}
		if held := s.additions(); held.Confirmed == nil {
			t.Fatalf("%+v", held)
		}
		s.wantSizes(5)
		s.tick()
		s.wantSizes(250, 250)
		s.wantRefused(errorOf(s.app.HeldAdditions(s.ctx, reader, "found", api.ListOptions{})), api.CodeNotFound, "no held additions")
	})
}

// All held people are listed page by page, also more than one document has. A tick that
// holds others makes another list, and the documents of the list before are deleted.
func TestHeldAdditionsAreListedPageByPage(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		rows := s.lostWhere(1210)
		s.tick()
		everybody := func(limit int) (keys []string) {
			for o := (api.ListOptions{Limit: limit}); ; {
				v := must(s.app.HeldAdditions(s.ctx, reader, "found", o))(t)
				if v.People != 1205 || len(v.Items) == 0 || len(v.Items) > limit {
					t.Fatalf("%+v", v)
				}
				for _, i := range v.Items {
					keys = append(keys, i.Key)
				}
				if o.Continuation = v.Continuation; o.Continuation == "" {
					return keys
				}
			}
		}
		for _, limit := range []int{70, 500, 1000} {
			if keys := everybody(limit); len(keys) != 1205 || !slices.IsSorted(keys) || len(slices.Compact(keys)) != 1205 {
				t.Fatalf("%d people by %d", len(keys), limit)
			}
		}
		page := must(s.app.HeldAdditions(s.ctx, reader, "found", api.ListOptions{}))(t)
		if len(page.Items) != 100 {
			t.Fatalf("%d people", len(page.Items))
		}
		for _, token := range []string{"x", "100", page.Revision + "-x", strings.Replace(page.Continuation, "-100", "-1205", 1), strings.Replace(page.Continuation, "-100", "--1", 1)} {
			s.wantRefused(errorOf(s.app.HeldAdditions(s.ctx, reader, "found", api.ListOptions{Continuation: token})), api.CodeInvalid, "does not belong to this list")
		}
		rows.put(dawn.Add(3*day), "another")
		s.tick()
		s.wantRefused(errorOf(s.app.HeldAdditions(s.ctx, reader, "found", api.ListOptions{Continuation: page.Continuation})), api.CodeConflict, "have changed")
		if n := s.additionDocuments(); n != 3 {
			t.Fatalf("%d documents", n)
		}
		rows.drop(crowd(1210)[5:]...)
		rows.drop("another")
		s.tick()
		if n := s.additionDocuments(); n != 0 {
			t.Fatalf("%d documents", n)
		}
	})
}

// additionDocuments counts the documents with people whose addition is held.
func (s *stage) additionDocuments() int {
	s.t.Helper()
	return len(must(storetest.All[json.RawMessage](s.ctx, s.store, store.PartitionRunbooks, "additions"))(s.t))
}

func TestHeldAdditionsShowTheDisplayColumn(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	rows := s.tableOf(dawn.Add(3*day), crowd(5)...)
	s.findBatches(guardedBy("", strings.Replace(found(twoPhases, ""), "name: found\n", "name: found\ndisplay: Upn\n", 1)))
	rows.put(dawn.Add(3*day), crowd(135)...)
	s.tick()
	page := must(s.app.HeldAdditions(s.ctx, reader, "found", api.ListOptions{}))(t)
	if page.People != 130 || len(page.Items) != 100 || page.Items[0].Display != page.Items[0].Key {
		t.Fatalf("%+v", page)
	}
}

func TestOtherAdditionsThanThoseConfirmedStayHeld(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		rows := s.lostWhere(300)
		s.tick()
		first := s.additions()
		must(s.app.ConfirmAdditions(s.ctx, ada, "found", first.Revision, ""))(t)
		rows.put(dawn.Add(3*day), "another")
		s.tick()
		s.wantSizes(5)
		second := s.additions()
		if second.People != 296 || second.Revision == first.Revision || second.Confirmed != nil {
			t.Fatalf("%+v", second)
		}
		rows.drop("another") // what was confirmed before is no longer confirmed
		s.tick()
		s.wantSizes(5)
		if again := s.additions(); again.Revision != first.Revision || again.Confirmed != nil {
			t.Fatalf("%+v", again)
		}
		rows.drop(crowd(300)[5:]...) // the query is repaired
		s.tick()
		s.wantSizes(5)
		s.wantRefused(errorOf(s.app.HeldAdditions(s.ctx, reader, "found", api.ListOptions{})), api.CodeNotFound, "no held additions")
	})
}

// A tick that dies while it adds confirmed people leaves the rest to the next one.
func TestConfirmedAdditionsGoOnAfterACrash(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.lostWhere(160)
		s.tick()
		must(s.app.ConfirmAdditions(s.ctx, ada, "found", s.additions().Revision, ""))(t)
		cut := s.kill(write, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) })
		s.pass(10 * time.Minute) // until the lease has ended
		s.tick()
		s.pass(10 * time.Minute) // until claims without a member have ended
		s.tick()
		s.wantSizes(80, 80)
		return cut
	})
}

func TestFirstFillIsConfirmedWithTheRevisionOfThePreview(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.tableOf(dawn.Add(3*day), crowd(101)...)
		s.publish(found(twoPhases, ""))
		preview := must(s.app.PreviewQuery(s.ctx, ada, "found", 1))(t)
		if preview.Additions == nil || preview.Additions.Of != 0 || !strings.Contains(preview.Groups[0].Note, "confirmed") {
			t.Fatalf("%+v %+v", preview.Additions, preview.Groups)
		}
		must(s.app.ConfirmAdditions(s.ctx, ada, "found", preview.Additions.Revision, "wave 1"))(t)
		s.tick()
		s.wantSizes()
		s.automate("found")
		s.tick()
		s.wantSizes(101)
	})
}

// An administrator previews the query and enables automation with the preview's revision:
// the next tick makes the batches.
func TestFirstFillIsConfirmedWhileAutomationIsEnabled(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		rows := s.tableOf(dawn.Add(3*day), crowd(101)...)
		s.publish(found(twoPhases, ""))
		s.wantRefused(errorOf(s.app.EnableAutomation(s.ctx, ada, "found", "r1")), api.CodeInvalid, "invalid revision")
		if s.automation("found").Enabled {
			t.Fatal("a refused request enabled automation")
		}
		preview := must(s.app.PreviewQuery(s.ctx, ada, "found", 1))(t)
		for range 2 { // also again
			if v := must(s.app.EnableAutomation(s.ctx, ada, "found", preview.Additions.Revision))(t); !v.Enabled || v.EnabledBy != "ada" {
				t.Fatalf("%+v", v)
			}
		}
		if records := s.listRunbookAudit("found", "enable_automation"); len(records) != 1 || !strings.Contains(string(records[0].After), preview.Additions.Revision) {
			t.Fatalf("%+v", records)
		}
		s.tick()
		s.wantSizes(101)

		// The same on a runbook whose automation is on: the request only confirms the held additions.
		rows.put(dawn.Add(3*day), crowd(300)...)
		s.tick()
		s.wantSizes(101)
		s.wantRefused(errorOf(s.app.EnableAutomation(s.ctx, ada, "found", preview.Additions.Revision)), api.CodeConflict, "have changed")
		must(s.app.EnableAutomation(s.ctx, ada, "found", s.additions().Revision))(t)
		if records := s.listRunbookAudit("found", "confirm_additions"); len(records) != 1 {
			t.Fatalf("%+v", records)
		}
		s.tick()
		s.wantSizes(300)
	})
}

// What a tick held without automation keeps no revision of a preview from being confirmed
// once automation is on, also before the next tick.
func TestPreviewIsConfirmedBetweenEnableAndTick(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.lostWhere(300)
		must(s.app.SetAutomation(s.ctx, ada, "found", false))(t)
		s.tick()
		s.pass(time.Minute)
		preview := must(s.app.PreviewQuery(s.ctx, ada, "found", 1))(t)
		if held := s.additions(); held.Revision == preview.Additions.Revision {
			t.Fatalf("%+v", held)
		}
		s.automate("found")
		must(s.app.ConfirmAdditions(s.ctx, ada, "found", preview.Additions.Revision, ""))(t)
		s.tick()
		s.wantSizes(150, 150)
	})
}

// listRunbookAudit is the audit trail of a runbook's records of one action.
func (s *stage) listRunbookAudit(name, action string) []api.AuditRecord {
	s.t.Helper()
	return must(s.app.RunbookAudit(s.ctx, name, api.AuditFilter{Action: action}, api.ListOptions{}))(s.t).Items
}

func TestFirstFillOfMoreThanTenPeopleIsHeld(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		rows := s.tableOf(dawn.Add(3*day), crowd(11)...)
		s.findBatches(guardedBy("", found(twoPhases, "")))
		s.wantSizes()
		if held := s.additions(); held.People != 11 || held.Of != 0 {
			t.Fatalf("%+v", held)
		}
		rows.drop("p010")
		s.tick()
		s.wantSizes(10)
	})
}

// People who move are no additions, also while they are in no batch.
func TestPeopleWhoMoveAreNoAdditions(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		rows := s.tableOf(dawn.Add(3*day), crowd(100)...)
		rows.put(dawn.Add(4*day), "stays")
		s.findBatches(guardedBy("{share: 1%, number: 100}", found(twoPhases, "")))
		if _, err := s.app.HeldAdditions(s.ctx, reader, "found", api.ListOptions{}); err == nil {
			must(s.app.ConfirmAdditions(s.ctx, ada, "found", s.additions().Revision, ""))(t)
			s.tick()
		}
		s.wantSizes(100, 1)
		s.publish(guardedBy("{share: 1%, number: 1}", found(twoPhases, undone)))
		rows.put(dawn.Add(4*day), crowd(100)...)
		s.tick()
		s.confirm(1)
		s.deliverAll()
		s.tick()
		s.tick()
		if got := s.batchOf(2); got.MemberCount != 101 {
			t.Fatalf("%+v %v", got, s.sizes())
		}
	})
}

// discard discards the held additions, as a caller that repeats the request.
func (s *stage) discard(revision string) (v api.AdditionsDiscard) {
	s.t.Helper()
	for range 2 {
		v = must(s.app.DiscardAdditions(s.ctx, ada, "found", revision, "a broken query"))(s.t)
	}
	return v
}

func TestDiscardedAdditionsStayOutWhileTheQueryReturnsThem(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		rows := s.lostWhere(500)
		s.tick()
		held := s.additions()
		s.wantRefused(errorOf(s.app.DiscardAdditions(s.ctx, ada, "found", "", "")), api.CodeInvalid, "invalid revision")
		s.wantRefused(errorOf(s.app.DiscardAdditions(s.ctx, ada, "found", "0123456789abcdef", "")), api.CodeConflict, "have changed: review them again (revision "+held.Revision+")")
		if p := must(s.app.PreviewDiscard(s.ctx, "found", held.Revision, ""))(t); p.Members != 495 || p.Jobs != 0 || p.Action != "discard_additions" {
			t.Fatalf("%+v", p)
		}
		if v := s.discard(held.Revision); v.People != 495 || v.Discarded.By != "ada" || v.Discarded.Why != "a broken query" || v.Revision != held.Revision {
			t.Fatalf("%+v", v)
		}
		if records := s.listRunbookAudit("found", "discard_additions"); len(records) != 1 || string(records[0].After) != `{"discarded":495}` {
			t.Fatalf("%+v", records)
		}
		nothingHeld := func() {
			t.Helper()
			s.wantRefused(errorOf(s.app.HeldAdditions(s.ctx, reader, "found", api.ListOptions{})), api.CodeNotFound, "no held additions")
		}
		nothingHeld()
		if v := s.automation("found"); v.Additions != nil || v.Discarded == nil || v.Discarded.People != 495 {
			t.Fatalf("%+v", v)
		}
		if rb, err := s.app.Runbook(s.ctx, "found"); err != nil || rb.Additions != 0 {
			t.Fatalf("%+v %v", rb, err)
		}

		rows.put(dawn.Add(3*day), "another")
		for range 2 {
			s.tick()
			nothingHeld()
			s.wantSizes(6)
		}
		if p := must(s.app.PreviewQuery(s.ctx, ada, "found", 1))(t); p.Discarded != 495 || p.Additions != nil {
			t.Fatalf("%d %+v", p.Discarded, p.Additions)
		}

		rows.drop(crowd(500)[10:]...) // of those who were discarded, five are left
		s.tick()
		if v := s.automation("found"); v.Discarded == nil || v.Discarded.People != 5 || s.additionDocuments() != 1 {
			t.Fatalf("%+v in %d documents", v.Discarded, s.additionDocuments())
		}
		rows.put(dawn.Add(3*day), crowd(14)...) // four of the others come back, and are new
		s.tick()
		s.wantSizes(10)
		rows.drop(crowd(500)[5:10]...)
		s.tick()
		if v := s.automation("found"); v.Discarded != nil || s.additionDocuments() != 0 {
			t.Fatalf("%+v in %d documents", v.Discarded, s.additionDocuments())
		}
		rows.put(dawn.Add(3*day), crowd(500)...)
		s.tick()
		if held := s.additions(); held.People != 491 { // all but those who are members
			t.Fatalf("%d people", held.People)
		}
	})
}

func TestDiscardIsTakenBackByAConfirmation(t *testing.T) {
	t.Parallel()
	for name, confirm := range map[string]func(*stage, string) error{
		"confirm": func(s *stage, revision string) error {
			return errorOf(s.app.ConfirmAdditions(s.ctx, ada, "found", revision, "they are right"))
		},
		"enable": func(s *stage, revision string) error {
			return errorOf(s.app.EnableAutomation(s.ctx, ada, "found", revision))
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.lostWhere(500)
				s.tick()
				revision := s.additions().Revision
				s.discard(revision)
				s.tick()
				s.wantSizes(5)
				noError(t, confirm(s, revision))
				if v := s.automation("found"); v.Discarded != nil {
					t.Fatalf("%+v", v.Discarded)
				}
				s.tick()
				s.wantSizes(250, 250)
				if n := s.additionDocuments(); n != 0 {
					t.Fatalf("%d documents", n)
				}
			})
		})
	}
}

func TestAdditionsThatWereConfirmedAreNotDiscarded(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.lostWhere(300)
	s.wantRefused(errorOf(s.app.DiscardAdditions(s.ctx, ada, "found", "0123456789abcdef", "")), api.CodeConflict, "holds no additions: there is nothing to discard")
	s.tick()
	revision := s.additions().Revision
	must(s.app.ConfirmAdditions(s.ctx, ada, "found", revision, ""))(t)
	for _, err := range []error{errorOf(s.app.DiscardAdditions(s.ctx, ada, "found", revision, "")), errorOf(s.app.PreviewDiscard(s.ctx, "found", revision, ""))} {
		s.wantRefused(err, api.CodeConflict, "were confirmed by ada: the next tick adds the people")
	}
}

// Each discard adds its people to those of the earlier ones, in one list after the next tick.
func TestDiscardsAddUp(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		rows := s.lostWhere(300)
		s.tick()
		s.discard(s.additions().Revision)
		rows.put(dawn.Add(3*day), crowd(600)...)
		s.tick()
		held := s.additions()
		if held.People != 300 || held.Items[0].Key != "p300@x" {
			t.Fatalf("%+v", held)
		}
		if v := s.discard(held.Revision); v.People != 595 {
			t.Fatalf("%+v", v)
		}
		for range 2 {
			s.tick()
			s.wantSizes(5)
			if v := s.automation("found"); v.Discarded == nil || v.Discarded.People != 595 || v.Additions != nil || s.additionDocuments() != 2 {
				t.Fatalf("%+v %+v in %d documents", v.Discarded, v.Additions, s.additionDocuments())
			}
		}
	})
}

// heldWithADiscardedRevision discards 295 people. The query returns 150 more all the time, who have then no
// other batch any more: they are held with the revision that was discarded.
func (s *stage) heldWithADiscardedRevision() (revision string) {
	s.t.Helper()
	rows := s.lostWhere(300)
	csv := "Upn,Name\n"
	for _, name := range crowd(450)[300:] {
		csv += name + "@x,N\n"
	}
	other := must(s.app.CreateBatch(s.ctx, ada, "found", []byte(csv)))(s.t).ID
	rows.put(dawn.Add(4*day), crowd(450)[300:]...)
	s.tick()
	revision = s.additions().Revision
	s.discard(revision)
	s.cancel(other)
	s.deliverAll()
	s.tick()
	if held := s.additions(); held.People != 150 || held.Revision != revision {
		s.t.Fatalf("%+v", held)
	}
	return revision
}

func TestConfirmationIsOfTheHeldPeopleAndNotOfThoseDiscardedBefore(t *testing.T) {
	t.Parallel()
	for name, confirm := range map[string]func(*stage, string) error{
		"confirm": func(s *stage, revision string) error {
			return errorOf(s.app.ConfirmAdditions(s.ctx, ada, "found", revision, "they are right"))
		},
		"enable": func(s *stage, revision string) error {
			return errorOf(s.app.EnableAutomation(s.ctx, ada, "found", revision))
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				revision := s.heldWithADiscardedRevision()
				if p := must(s.app.PreviewAdditions(s.ctx, "found", revision, ""))(t); p.Members != 150 {
					t.Fatalf("%+v", p)
				}
				for range 2 {
					noError(t, confirm(s, revision))
				}
				s.tick()
				s.wantSizes(5, 150, 150)
				if v := s.automation("found"); v.Discarded == nil || v.Discarded.People != 295 {
					t.Fatalf("%+v", v.Discarded)
				}
			})
		})
	}
}

func TestPeopleWithADiscardedRevisionAreDiscardedToo(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		revision := s.heldWithADiscardedRevision()
		if v := s.discard(revision); v.People != 445 {
			t.Fatalf("%+v", v)
		}
		s.tick()
		s.wantSizes(5, 150)
		must(s.app.ConfirmAdditions(s.ctx, ada, "found", revision, "they are right"))(t)
		s.tick()
		s.wantSizes(150, 150, 300)
	})
}

// A result that has no rows, or none that can be read, says nothing of the people.
func TestDiscardOutlivesADamagedResult(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(rows *table){
		"no rows":        func(*table) {},
		"no usable rows": func(rows *table) { rows.exec("INSERT INTO people VALUES ('z@x', 'Z', 'soon')") },
		"a keyless row": func(rows *table) {
			rows.put(dawn.Add(3*day), crowd(5)...)
			rows.exec("INSERT INTO people VALUES (NULL, 'Z', '2026-03-04T09:00:00Z')")
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				rows := s.lostWhere(160)
				s.tick()
				s.discard(s.additions().Revision)
				rows.exec("DELETE FROM people")
				damage(rows)
				s.tick()
				rows.exec("DELETE FROM people")
				rows.put(dawn.Add(3*day), crowd(80)...)
				s.tick()
				s.wantSizes(5)
				if v := s.automation("found"); v.Discarded == nil || v.Discarded.People != 75 || v.Additions != nil {
					t.Fatalf("%+v %+v", v.Discarded, v.Additions)
				}
			})
		})
	}
}

// A tick after a discard that dies anywhere adds none of the people, and leaves no document for good.
func TestTickAfterADiscardGoesOnAfterACrash(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		rows := s.lostWhere(160)
		s.tick()
		must(s.app.DiscardAdditions(s.ctx, ada, "found", s.additions().Revision, ""))(t)
		rows.drop(crowd(160)[100:]...)
		cut := s.kill(write, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) })
		s.pass(10 * time.Minute) // until the lease has ended
		s.tick()
		s.wantSizes(5)
		if v := s.automation("found"); v.Discarded == nil || v.Discarded.People != 95 || v.Additions != nil {
			t.Fatalf("%+v %+v", v.Discarded, v.Additions)
		}
		rows.drop(crowd(160)[50:]...)
		s.tick()
		if n := s.additionDocuments(); n != 1 {
			t.Fatalf("%d documents", n)
		}
		return cut
	})
}

func TestAdditionsAreOnlyConfirmedOfARunbookWithAQuery(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(twoSteps)
	s.wantRefused(errorOf(s.app.ConfirmAdditions(s.ctx, ada, "two", "0123456789abcdef", "")), api.CodeConflict, "has no query")
	s.wantRefused(errorOf(s.app.ConfirmAdditions(s.ctx, ada, "none", "0123456789abcdef", "")), api.CodeNotFound, "")
	s.wantRefused(errorOf(s.app.HeldAdditions(s.ctx, reader, "none", api.ListOptions{})), api.CodeNotFound, "")
	s.wantRefused(errorOf(s.app.ConfirmAdditions(s.ctx, ada, "two", "0123456789abcdef", strings.Repeat("x", api.MaxReason+1))), api.CodeInvalid, "the reason has")
}
