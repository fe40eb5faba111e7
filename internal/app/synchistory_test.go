package app_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
)

func TestSyncsOfARunbookAreListedWithWhatTheyDid(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	rows := s.tableOf(dawn.Add(day), crowd(10)...)
	s.findBatches(found(twoPhases, ""))
	syncs := func() []api.Sync {
		t.Helper()
		return must(s.app.Syncs(s.ctx, "found"))(t).Items
	}
	if all := syncs(); len(all) == 0 || all[len(all)-1].Added != 10 || all[len(all)-1].Rows != 10 || all[0].Error != "" {
		t.Fatalf("%+v", all)
	}
	rows.drop("p000", "p001", "p002")
	s.tickAfter(0)
	if last := syncs()[0]; last.Held != 3 || last.Removed != 0 || last.Rows != 7 {
		t.Errorf("%+v", last)
	}
	rows.exec("DROP TABLE people")
	s.tick()
	if last := syncs()[0]; last.Error == "" || strings.Contains(last.Error, "DROP") || last.EndedAt.Before(last.StartedAt) {
		t.Errorf("%+v", last)
	}
	for range 60 {
		s.tick()
	}
	if all := syncs(); len(all) != 50 || all[0].StartedAt.Before(all[1].StartedAt) {
		t.Errorf("%d syncs", len(all))
	}
	_, err := s.app.Syncs(s.ctx, "nothing")
	s.wantRefused(err, api.CodeNotFound, "no runbook")
}
