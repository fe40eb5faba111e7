package app_test

import (
	"context"
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
)

// An audit record names its actor by kind, tenant and object id: a display name can be
// anybody's, also the system's.
func TestAuditRecordsTellActorsOfOneNameApart(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	people := s.tableOf(dawn.Add(day), crowd(10)...)
	s.findBatches(found(twoPhases, ""))
	user := audit.Caller{Name: "scheduler", Kind: api.ActorUser, TenantID: "tenant-1", ObjectID: "object-1"}
	tool := audit.Caller{Name: "scheduler", Kind: api.ActorApplication, TenantID: "tenant-1", ObjectID: "object-2"}
	must(s.app.Pause(s.ctx, user, 1, ""))(t)
	must(s.app.Resume(s.ctx, tool, 1, ""))(t)
	people.drop("p000", "p001", "p002")
	s.tick()
	held := must(s.app.HeldRemovals(s.ctx, user, 1, api.ListOptions{}))(t)
	must(s.app.ConfirmRemovals(s.ctx, user, 1, held.Revision, ""))(t)
	s.deliverAll()
	people.drop("p003")
	s.tick()
	got := map[string]int{}
	for _, r := range s.listAudit(1) {
		got[r.Action+" "+r.By+" "+string(r.ByKind)+" "+r.ByTenantID+" "+r.ByObjectID]++
	}
	for _, want := range []string{
		"create scheduler system  ", "pause scheduler user tenant-1 object-1", "resume scheduler application tenant-1 object-2",
		"read_removals scheduler user tenant-1 object-1", "confirm_removals scheduler user tenant-1 object-1",
		"remove_member scheduler user tenant-1 object-1", "remove_member scheduler system  ",
	} {
		if got[want] != 1 {
			t.Errorf("%d records of %q; there are %v", got[want], want, got)
		}
	}
	s.verify()
}

// A person named like the system actor leaves an audit record of the people added to a
// batch.
func TestPersonNamedSchedulerLeavesARecord(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.tableOf(dawn.Add(day), crowd(60)...)
	s.publishAutomated(found(twoPhases, ""))
	if !s.kill(5, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) }) {
		t.Fatal("the tick was not cut short")
	}
	must(s.app.AddMembers(s.ctx, audit.Caller{Name: "scheduler"}, 1, []byte("Upn,Name,Start\nnew@x,New,\n")))(t)
	if !slices.ContainsFunc(s.listAudit(1), func(r api.AuditRecord) bool { return r.Action == "add_members" && r.ByKind == api.ActorUser }) {
		t.Error("the trail has no record of the members added")
	}
}
