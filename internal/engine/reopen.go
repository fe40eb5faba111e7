package engine

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// reopenShard takes a run that had ended back into what its shard counts as open, and
// the shard's report back from its phase. A run that the shard did not have is
// counted in with an empty outcome.
func reopenShard(p *model.Phase, s *model.Shard, outcome model.RunStatus, now time.Time) {
	if s.Reported {
		s.Reported = false
		p.ShardsClosed--
		p.Succeeded, p.Failed, p.Cancelled = p.Succeeded-s.Succeeded, p.Failed-s.Failed, p.Cancelled-s.Cancelled
		p.Carried -= s.Carried
	}
	s.Open++
	if outcome == "" {
		s.Runs++
		s.Yielded++ // a retry does not hold the fan-out up
		s.YieldedAt = &now
	} else {
		*s.Counter(outcome)--
	}
	if outcome == model.RunFailed {
		forgetFailure(p)
	}
	reopenPhase(p)
}

// reopenPhase lets a phase that had ended wait for a run again.
func reopenPhase(p *model.Phase) {
	if p.Status.Terminal() {
		p.Status, p.CompletedAt = model.PhaseDispatched, nil
		if p.OnCompleteStatus != model.RunFailed { // which stays the reason: they are not run again
			p.Reason = ""
		}
	}
}

// reopenBatch lets a batch that had ended go on.
func reopenBatch(b *model.Batch) {
	if b.Status.Terminal() {
		b.Status, b.CompletedAt, b.Error = model.BatchActive, nil, ""
	}
}
