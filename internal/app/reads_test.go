package app_test

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/report"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// looks lists every use case that shows members' data.
var looks = []auditCase{
	{
		name: "members", prep: startTwo(twoSteps, true), line: `read_members batch 1 "" ""  -> `,
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.Members(s.ctx, by, 1, api.ListOptions{}))
		},
	},
	{
		name: "steps", prep: startTwo(twoSteps, true), line: `read_steps batch 1 "" ""  -> `,
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.Steps(s.ctx, by, 1, api.ListOptions{}))
		},
	},
	{
		name: "find", prep: startTwo(twoSteps, true), line: `read_members batch 1 "" ""  -> `,
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.Find(s.ctx, by, "1", api.ListOptions{}))
		},
	},
	{
		name: "report", prep: startTwo(twoSteps, true), line: `read_report batch 1 "" ""  -> `,
		ask: func(s *stage, by audit.Caller) error {
			r, err := s.app.Report(s.ctx, by, 1, report.CSV)
			if err != nil {
				return err
			}
			return r.Write(s.ctx, io.Discard)
		},
	},
	{
		name: "removals", prep: threeHeld, line: `read_removals batch 1 "" ""  -> `,
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.HeldRemovals(s.ctx, by, 1, api.ListOptions{}))
		},
	},
	{
		name: "additions", prep: manyHeld, line: `read_additions runbook found "" ""  -> `,
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.HeldAdditions(s.ctx, by, "found", api.ListOptions{}))
		},
	},
	{
		name: "preview", line: `preview_query runbook found "" ""  -> `,
		prep: func(s *stage) { s.table(); s.publish(found(twoPhases, "")) },
		ask:  func(s *stage, by audit.Caller) error { return errorOf(s.app.PreviewQuery(s.ctx, by, "found", 1)) },
	},
	{
		name: "rows that were not used", line: `read_problems runbook found "" ""  -> `,
		prep: func(s *stage) {
			people := s.tableOf(dawn.Add(day), crowd(10)...)
			people.put(dawn.Add(2*day), "x", "y", "z")
			s.findBatches(found(twoPhases, undone))
			s.remove(2, 1)
			people.put(dawn.Add(day), "x")
			s.tick()
			people.put(dawn.Add(2*day), "x") // from which an administrator removed them
			s.tick()
		},
		ask: func(s *stage, by audit.Caller) error {
			v, err := s.app.Automation(s.ctx, by, "found")
			if err == nil && (len(v.Problems) != 1 || v.Problems[0].Key == "") {
				s.t.Errorf("%+v", v.Problems)
			}
			return err
		},
	},
	{
		name: "message", line: `read_message message "MESSAGE" ""  -> `,
		prep: func(s *stage) { s.bad("m", `{"secret":"of a member"}`) },
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.UnprocessableMessage(s.ctx, by, s.messageID()))
		},
	},
}

// A read of members' data is recorded once in a quarter of an hour, before the
// answer: if it cannot be recorded, the read fails.
func TestReadsAreRecordedBeforeTheyAreAnswered(t *testing.T) {
	t.Parallel()
	hedy := audit.Caller{Name: "hedy"}
	for _, tt := range looks {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false, azure)
			tt.prep(s)
			want := s.naming(tt.line)
			take := s.cosmos.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Create}, Status: 403})
			if err := tt.ask(s, grace); problem.CodeOf(err) != api.CodeUnavailable {
				t.Fatalf("answered without a record: %v", err)
			}
			take()
			if got := s.lines(grace); len(got) > 0 {
				t.Fatalf("%q", got)
			}

			count := func(by audit.Caller, want int) {
				t.Helper()
				noError(t, tt.ask(s, by))
				if got := s.everywhere(api.AuditFilter{By: by.Name}); len(got) != want {
					t.Fatalf("%d records of %s, want %d", len(got), by.Name, want)
				}
			}
			count(grace, 1)
			if got := s.lines(grace); !slices.Equal(got, []string{want}) {
				t.Fatalf("got  %q\nwant %q", got, want)
			}
			before := s.store.Counts().Writes
			count(grace, 1)
			s.clock.ns.Add(int64(15*time.Minute - time.Nanosecond))
			count(grace, 1)
			if after := s.store.Counts().Writes; after != before {
				t.Errorf("%d writes within the window", after-before)
			}
			count(hedy, 1)
			s.clock.ns.Add(1)
			count(grace, 2)
			count(hedy, 1)
			s.clock.ns.Add(-int64(time.Hour)) // a clock that was put back hides nobody
			count(grace, 3)
		})
	}
}

// Each kind and each thing has a record of its own.
func TestReadsOfEachKindAndThingAreRecordedApart(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	startTwo(twoSteps, true)(s)
	s.batch("two", "Upn,Name\nother@x,Other\n")
	s.bad("m", `{}`)
	s.bad("n", `{}`)
	for range 2 {
		for _, batch := range []int{1, 2} {
			must(s.app.Members(s.ctx, grace, batch, api.ListOptions{Statuses: []string{"active"}}))(t)
			must(s.app.Steps(s.ctx, grace, batch, api.ListOptions{Member: 1}))(t)
		}
		for _, m := range s.listUnprocessable(api.ListOptions{}) {
			must(s.app.UnprocessableMessage(s.ctx, grace, m.ID))(t)
		}
	}
	if got := s.lines(grace); len(got) != 6 {
		t.Errorf("%q", got)
	}
}

// Of many concurrent reads by one caller one writes the record, and a cancelled read
// does not cancel the others.
func TestReadsAtTheSameTimeAreOneRecord(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	startTwo(twoSteps, true)(s)
	gone, cancel := context.WithCancel(s.ctx)
	cancel()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if i%5 == 0 {
				_, _ = s.app.Members(gone, grace, 1, api.ListOptions{})
				return
			}
			if _, err := s.app.Members(s.ctx, grace, 1, api.ListOptions{}); err != nil {
				t.Error(describe(err))
			}
		})
	}
	all.Wait()
	if got := s.lines(grace); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// Another process does not know what this one has recorded: there is one more record,
// and never one less.
func TestReadsAreRecordedByEachProcess(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	startTwo(twoSteps, true)(s)
	restarted := app.New(app.Config{Store: s.store, Bus: s.bus, Now: s.clock.Now, Log: slog.New(slog.DiscardHandler)})
	for _, process := range []*app.App{s.app, s.other, restarted, s.app} {
		must(process.Members(s.ctx, grace, 1, api.ListOptions{}))(t)
	}
	if got := s.lines(grace); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

// A refused request shows no data: it is no read.
func TestReadsThatAreRefusedAreNotRecorded(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	startTwo(twoSteps, true)(s)
	for _, o := range []api.ListOptions{{Sort: "data"}, {Continuation: "none of theirs"}} {
		s.wantRefused(errorOf(s.app.Members(s.ctx, grace, 1, o)), api.CodeInvalid, "")
		s.wantRefused(errorOf(s.app.Steps(s.ctx, grace, 1, o)), api.CodeInvalid, "")
	}
	s.wantRefused(errorOf(s.app.Steps(s.ctx, grace, 1, api.ListOptions{Phase: "none"})), api.CodeInvalid, "")
	if got := s.lines(grace); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
