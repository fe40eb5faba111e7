package apiview

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// AdditionHold gives the held additions of the last sync with their confirmation; nil for none.
func AdditionHold(s *store.SyncRecord, setting *store.Automation) *api.AdditionHoldSummary {
	h := s.Additions
	if h == nil || setting.DiscardedList(h.List) {
		return nil
	}
	view := &api.AdditionHoldSummary{People: h.People, Of: h.Of, Reason: h.Reason, Since: h.Since, Revision: h.Revision}
	if setting.Confirmed(h.Revision) {
		view.Confirmed = Attribution(&setting.Additions.By)
	}
	return view
}

// AdditionsDiscard gives the discarded additions of a runbook; nil for none.
func AdditionsDiscard(runbook string, d *store.DiscardedAdditions) *api.AdditionsDiscard {
	if d == nil || d.Withdrawn {
		return nil
	}
	return &api.AdditionsDiscard{RunbookName: runbook, Revision: d.Revision, People: d.People, Discarded: *Attribution(&d.By)}
}

// RemovalRevision gives the revision of a removal hold, which changes with its members.
func RemovalRevision(h store.RemovalHoldMembers) string {
	text, _ := json.Marshal(store.RemovalHoldMembers{Members: h.Members, Moves: h.Moves}) // numbers and times always marshal
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:8])
}

// RemovalHold gives the removal hold of a batch; nil for none.
func RemovalHold(batch int, h *model.RemovalHold) *api.RemovalHoldSummary {
	if h == nil {
		return nil
	}
	view := &api.RemovalHoldSummary{
		BatchID: batch, Members: h.Members, Of: h.Of, Reason: h.Reason, Since: h.Since, Moving: h.Moving, Confirmed: Attribution(h.Confirmed), Move: h.Move,
	}
	if h.Moving > 0 {
		view.MovesTo, view.MovesInto = &h.MovesTo, h.MovesInto
	}
	return view
}
