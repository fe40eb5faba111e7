package applier_test

import (
	"context"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

// TestMemberWhoIsRetriedKeepsTheSecrets: an administrator retries the member at any moment while the
// secrets of the batch are erased.
func TestMemberWhoIsRetriedKeepsTheSecrets(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		ctx := t.Context()
		w, err := newWorld(ctx, 1, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		set := func(status model.BatchStatus, of model.MemberStatus, data model.Member) {
			t.Helper()
			b, err := store.Read[model.Batch](ctx, w.store, store.BatchKey(1))
			if err != nil {
				t.Fatal(err)
			}
			ended := time.Now().Add(-model.SecretRetention).Truncate(time.Millisecond) // as the applier writes it
			b.Doc.Status, b.Doc.CompletedAt, b.Doc.Secrets = status, &ended, true
			data.Status = of
			if _, err := w.store.Apply(ctx, store.Writes{store.Upsert(store.BatchKey(1), b.Doc), store.Upsert(store.MemberKey(1, 1), data)}); err != nil {
				t.Fatal(err)
			}
		}
		member := func() model.Member {
			t.Helper()
			m, err := store.Read[model.Member](ctx, w.store, store.MemberKey(1, 1))
			if err != nil {
				t.Fatal(err)
			}
			return m.Doc
		}
		first := member()
		first.Data["Password"] = model.Seal("sealed")
		set(model.BatchFailed, model.MemberFailed, first)
		operations, kept := 0, false
		s := w.store.Session(func(context.Context, memory.Operation) memory.Fault {
			if operations++; operations == n {
				m := member()
				sealed, _ := model.Sealed(m.Data["Password"])
				kept = sealed != ""
				set(model.BatchActive, model.MemberActive, m)
			}
			return memory.Fault{}
		})
		if err := process(s, w.sender, time.Now).Decide(ctx, 1, model.SecretsDue{Page: 1}); err != nil {
			t.Fatal(err)
		}
		sealed, _ := model.Sealed(member().Data["Password"])
		if operations < n { // nothing was retried
			if sealed != "" {
				t.Fatal("the secret is not erased")
			}
			return
		}
		if kept && sealed == "" {
			t.Fatalf("retried before operation %d, the member has lost the secret", n)
		}
	}
}
