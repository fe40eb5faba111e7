package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// detailsOf makes details of a name, a note and an owner; "-" is not given.
func detailsOf(name, note, owner string) (d api.BatchDetails) {
	for given, to := range map[string]**string{name: &d.Name, note: &d.Note, owner: &d.Owner} {
		if given != "-" {
			*to = &given
		}
	}
	return d
}

// The details follow the batch into the list, and the audit record has them before and after.
func TestBatchHasANameANoteAndAnOwner(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(overlapping)
		created := s.batch("overlap", people(2), api.WithDetails(detailsOf(" Wave 3 ", "-", "-")))
		if created.Name != "Wave 3" || created.Note != "" || created.Owner != "ada" {
			t.Errorf("created: %+v", created)
		}
		for range 2 { // the second changes nothing
			v := must(s.app.UpdateBatch(s.ctx, ada, created.ID, detailsOf("-", "finance moves last\nand sales", "Bob"), "handed over"))(t)
			if v.Name != "Wave 3" || v.Note != "finance moves last\nand sales" || v.Owner != "Bob" || v.ETag == "" {
				t.Errorf("updated: %+v", v)
			}
		}
		s.pass(time.Minute)
		must(s.app.UpdateBatch(s.ctx, ada, created.ID, detailsOf("Wave 4", "", "-"), ""))(t)
		for _, o := range []api.ListOptions{{Owner: "bob"}, {Name: "WAVE 4"}, {Owner: "BOB", Name: "wave 4"}} {
			found := must(s.app.Batches(s.ctx, o))(t).Items
			if len(found) != 1 || found[0].ID != created.ID || found[0].Name != "Wave 4" || found[0].Owner != "Bob" || found[0].Note != "" {
				t.Errorf("listed by %+v: %+v", o, found)
			}
		}
		if found := must(s.app.Batches(s.ctx, api.ListOptions{Owner: "ada"}))(t).Items; len(found) > 0 {
			t.Errorf("of ada: %+v", found)
		}
		var changes []string
		for _, r := range s.listAudit(created.ID) {
			if r.Action == "update_batch" {
				changes = append(changes, r.Why+string(r.Before)+string(r.After))
			}
		}
		const want = `handed over{"name":"Wave 3","note":"","owner":"ada"}{"name":"Wave 3","note":"finance moves last\nand sales","owner":"Bob"}` + "|" +
			`{"name":"Wave 3","note":"finance moves last\nand sales","owner":"Bob"}{"name":"Wave 4","note":"","owner":"Bob"}`
		if got := strings.Join(changes, "|"); got != want {
			t.Errorf("audit records: %s", got)
		}
	})
}

func TestBatchThatHasEndedGetsAName(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(overlapping, people(1))
		s.cancel(b.ID)
		s.deliverAll()
		s.wantStatus(b.ID, "cancelled")
		must(s.app.UpdateBatch(s.ctx, ada, b.ID, detailsOf("the wrong list", "-", "-"), ""))(t)
		s.wantStatus(b.ID, "cancelled")
		if got := s.batchOf(b.ID).Name; got != "the wrong list" {
			t.Errorf("name %q", got)
		}
	})
}

// A batch from a data source is named by its runbook and its start, which can move, until it is given a
// name.
func TestBatchFromADataSourceIsNamedByItsStart(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(overlapping)
		const id = 100
		s.schedule(id, overlapping, 1, dawn.Add(10*day))
		if b := s.batchOf(id); b.Name != "overlap 2026-03-11 09:00Z" || b.Owner != "" {
			t.Errorf("detected: %q, owner %q", b.Name, b.Owner)
		}
		s.reschedule(id, dawn.Add(11*day))
		if b := s.batchOf(id); b.Name != "overlap 2026-03-12 09:00Z" {
			t.Errorf("rescheduled: %q", b.Name)
		}
		if found := must(s.app.Batches(s.ctx, api.ListOptions{Name: "overlap 2026-03-12 09:00Z"}))(t).Items; len(found) > 0 {
			t.Errorf("it was given no name, and is found by one: %+v", found)
		}
	})
}

func TestBadDetailsAreRefused(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(overlapping)
		b := s.batch("overlap", people(1))
		for _, tt := range []struct {
			d    api.BatchDetails
			want string
		}{
			{detailsOf("42", "-", "-"), "the name of the batch is the number 42; add a letter, because a number names the batch with that number"},
			{detailsOf("a\tb", "-", "-"), "the name of the batch has the control character U+0009; remove it"},
			{detailsOf("-", "a\x00b", "-"), "the note of the batch has the control character U+0000; remove it"},
			{detailsOf("-", "-", "a\nb"), "the owner of the batch has the control character U+000A; remove it"},
			{detailsOf(strings.Repeat("ä", 101), "-", "-"), "the name of the batch has 101 characters; at most 100 are allowed"},
			{detailsOf("-", strings.Repeat("ä", 1001), "-"), "the note of the batch has 1001 characters; at most 1000 are allowed"},
			{detailsOf("-", "-", strings.Repeat("ä", 201)), "the owner of the batch has 201 characters; at most 200 are allowed"},
		} {
			s.wantRefused(errorOf(s.app.UpdateBatch(s.ctx, ada, b.ID, tt.d, "")), api.CodeInvalid, tt.want)
			csv := []byte(strings.ReplaceAll(people(1), "u1", "u9"))
			s.wantRefused(errorOf(s.app.CreateBatch(s.ctx, ada, "overlap", csv, api.WithDetails(tt.d))), api.CodeInvalid, tt.want)
		}
		s.wantRefused(errorOf(s.app.UpdateBatch(s.ctx, ada, b.ID, api.BatchDetails{}, "")), api.CodeInvalid, "nothing to change: give a name, a note or an owner")
		s.wantRefused(errorOf(s.app.UpdateBatch(s.ctx, ada, 9, detailsOf("x", "-", "-"), "")), api.CodeNotFound, "there is no batch 9")
		tag := must(s.app.Batch(s.ctx, ada, b.ID))(t).ETag
		must(s.app.UpdateBatch(s.ctx, ada, b.ID, detailsOf("x", "-", "-"), "", tag))(t)
		s.wantRefused(errorOf(s.app.UpdateBatch(s.ctx, ada, b.ID, detailsOf("y", "-", "-"), "", tag)), api.CodeChanged, "batch 1 has changed since you read it: read it again before you change it")
		if found := must(s.app.Batches(s.ctx, api.ListOptions{}))(t).Items; len(found) != 1 || found[0].Name != "x" {
			t.Errorf("batches %+v", found)
		}
	})
}

// A request that comes again with another name is another request.
func TestNameOfABatchIsPartOfItsRequest(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(overlapping)
		by := ada
		by.Key = "once"
		create := func(name string) (api.Batch, error) {
			return s.app.CreateBatch(s.ctx, by, "overlap", []byte(people(1)), api.WithDetails(detailsOf(name, "-", "-")))
		}
		first, again := must(create("a"))(t), must(create("a"))(t)
		if first.ID != again.ID || again.Name != "a" || !again.Replayed {
			t.Errorf("%+v, and again %+v", first, again)
		}
		if err := errorOf(create("b")); err == nil || !strings.Contains(err.Error(), "idempotency key") {
			t.Errorf("with another name: %v", err)
		}
	})
}
