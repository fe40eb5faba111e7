package app_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/report"
	"github.com/matoolkit/matoolkit/internal/store"
)

// BenchmarkReport writes the reports of a batch of which every tenth member has failed
// and the others have gone through two phases: of 980 members, or of as many as the
// environment variable MEMBERS says.
func BenchmarkReport(b *testing.B) {
	s, id, members := storeManyMembers(b)
	ctx := s.ctx
	for _, format := range report.Formats {
		b.Run(string(format), func(b *testing.B) {
			for b.Loop() {
				r := must(s.app.Report(ctx, reader, id, format))(s.t)
				var n counting
				noError(s.t, r.Write(ctx, &n))
				b.ReportMetric(float64(n)/float64(members), "B/member")
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*members), "µs/member")
		})
	}
}

// storeManyMembers stores a batch of which every tenth member has failed and the others have gone
// through two phases: of 980 members, or of as many as the environment variable MEMBERS says.
func storeManyMembers(b *testing.B) (s *stage, batch, members int) {
	members = 980
	if n, err := strconv.Atoi(os.Getenv("MEMBERS")); err == nil {
		members = n
	}
	s = newStage(b, false, azure)
	ctx := b.Context()
	s.ctx = ctx
	batch = s.createBatch(undoable, people(1)).ID
	item := must(store.Read[model.Batch](ctx, s.store, store.BatchKey(batch)))(s.t)
	item.Doc.Members, item.Doc.Pages = members, model.PageOf(members)
	must(s.store.Apply(ctx, store.Writes{store.Upsert(store.BatchKey(batch), item.Doc)}))(s.t)
	for first := 2; first <= members; {
		var writes store.Writes
		for ; first <= members && len(writes) < 96; first++ {
			writes = append(writes, stored(batch, first)...)
		}
		must(s.store.Apply(ctx, writes))(s.t)
	}
	return s, batch, members
}

// stored is a member of the runbook undoable who has completed its phases or failed
// in the first.
func stored(batch, id int) store.Writes {
	m := model.Member{ID: id, Page: model.PageOf(id), Key: fmt.Sprintf("p%06d@x", id), Status: model.MemberActive, AddedAt: dawn}
	run := func(phase int, name string, status model.RunStatus, steps ...model.Step) store.Write {
		r := model.Run{
			Batch: batch, Phase: phase, Member: id, Page: m.Page, Key: m.Key, Kind: model.KindPhase, PhaseName: name,
			Runbook: "undoable", Version: 1, Status: status, Steps: steps, CreatedAt: dawn, EndedAt: &dawn,
		}
		r.NoteStatuses()
		return store.Upsert(store.RunKey(batch, phase, id), r)
	}
	step := func(status model.StepStatus) model.Step {
		return model.Step{Status: status, DispatchedAt: &dawn, CompletedAt: &dawn}
	}
	done, undone := model.StepSucceeded, step(model.StepSucceeded)
	if id%10 == 0 {
		m.Status, m.FailedAt, m.FailedIn, m.FailedStep, m.Error = model.MemberFailed, &dawn, "move", "copy", `phase move: step "copy": no`
		undone.Rollback = "undo"
		return store.Writes{
			store.Upsert(store.MemberKey(batch, id), m),
			run(1, "move", model.RunFailed, step(done), step(model.StepFailed), step(model.StepCancelled), undone),
		}
	}
	return store.Writes{
		store.Upsert(store.MemberKey(batch, id), m),
		run(1, "move", model.RunSucceeded, step(done), step(done), step(done)),
		run(2, "verify", model.RunSucceeded, step(done)),
	}
}

// counting counts what it is given.
type counting int

func (c *counting) Write(p []byte) (int, error) { *c += counting(len(p)); return len(p), nil }
