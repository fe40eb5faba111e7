package applier_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// interrupted is a store that calls before ahead of the first write that replaces a run.
type interrupted struct {
	store.Store
	before func(context.Context) error
}

func (s *interrupted) Apply(ctx context.Context, w store.Writes) (store.Applied, error) {
	starts := slices.ContainsFunc(w, func(w store.Write) bool { return w.Op == store.OpReplace && w.Key == store.RunKey(1, 1, 1) })
	if before := s.before; starts && before != nil {
		s.before = nil
		if err := before(ctx); err != nil {
			return store.Applied{}, err
		}
	}
	return s.Store.Apply(ctx, w)
}

func (s *interrupted) ApplyEach(ctx context.Context, all []store.Writes) []store.Outcome {
	outcomes := make([]store.Outcome, len(all))
	for i, w := range all {
		outcomes[i].Applied, outcomes[i].Err = s.Apply(ctx, w)
	}
	return outcomes
}

// refreshed gives member 1 another value, as the process of a data source sync does.
func refreshed(ctx context.Context, a *applier.Applier) error {
	return a.Decide(ctx, 1, model.MembersRefreshed{Members: []model.RefreshedMember{{
		Member: 1, Data: map[string]json.RawMessage{"upn": json.RawMessage(`"new@contoso.com"`)}, Hash: "new",
	}}})
}

// TestRefreshBeforeTheWriteOfAStart: the start of a run has read the member before a refresh, and is
// written after it. The refresh has written the waiting run, so that the start is decided again, on
// the new values.
func TestRefreshBeforeTheWriteOfAStart(t *testing.T) {
	t.Parallel()
	w, err := newWorld(t.Context(), 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	other := process(w.store, w.sender, time.Now)
	s := &interrupted{Store: w.store}
	one := process(s, w.sender, time.Now)
	if err := one.Decide(t.Context(), 1, model.Advanced{Phase: "create"}); err != nil {
		t.Fatal(err)
	}
	s.before = func(ctx context.Context) error { return refreshed(ctx, other) }
	if err := one.Decide(t.Context(), 1, model.PageDue{Phase: 1, Page: 1, Split: true}); err != nil {
		t.Fatal(err)
	}
	run := w.run(t, 1, 1)
	if got := string(run.Steps[0].Params); s.before != nil || got != `{"Upn":"new@contoso.com"}` {
		t.Fatalf("the first step has the parameters %s; the start was interrupted: %t", got, s.before == nil)
	}
	if got := string(run.Variables["upn"]); got != `"new@contoso.com"` {
		t.Errorf("the run has the variable %s", got)
	}
}
