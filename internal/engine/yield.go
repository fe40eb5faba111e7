package engine

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// FanOutWindow is how many pages of a phase are begun ahead: page n waits until page
// n-FanOutWindow has yielded, which is when half of its runs have no job in flight for the
// first time. It keeps the jobs of one batch at a worker to some 150 for each step that
// members are at, so that the batches of a worker take turns.
const FanOutWindow = 3

// onShardCounted does what the count of a run in its shard brings about: a page that has
// yielded lets the fan-out go on, and one whose runs have all ended reports to its phase,
// once.
func onShardCounted(s model.State, e model.ShardCounted) (model.Decision, error) {
	shard, err := s.LoadShard(e.Phase, e.Page)
	if err != nil {
		return model.Decision{}, err
	}
	if shard == nil {
		return model.Decision{}, fmt.Errorf("engine: phase execution %d has no page %d", e.Phase, e.Page)
	}
	var d model.Decision
	if e.Again && shard.HasYielded() || e.Yields && shard.Yielded == shard.YieldsAt() {
		if d.Messages, err = announceYielded(s, e); err != nil {
			return model.Decision{}, err
		}
	}
	if shard.Open > 0 {
		d.Stale = len(d.Messages) == 0
		return d, nil
	}
	d.Repeated = shard.Reported
	if !shard.Reported {
		done := *shard
		done.Reported = true
		d.Shards = []*model.Shard{&done}
		d.Counts = []model.Count{model.CountShard{Phase: done.Phase, Succeeded: done.Succeeded, Failed: done.Failed, Cancelled: done.Cancelled, Carried: done.Carried}}
	}
	d.Next = []model.Event{model.PhaseCounted{Phase: shard.Phase}}
	return d, nil
}

// announceYielded announces the page that waits for this one to yield. Where the page before
// that one is yet to be begun, onPageFannedOut finds the yield: it was stored before the batch is
// read here, and the page is stored before that one. But then a page between the two is due,
// or its announcement was lost: the page behind the last one that was made is announced,
// where the window allows it.
func announceYielded(s model.State, e model.ShardCounted) ([]model.Message, error) {
	b, err := s.LoadBatch()
	if err != nil {
		return nil, err
	}
	if p, ok := b.Phase(e.Phase); !ok || p.Status != model.PhaseDispatched || p.FannedOut {
		return nil, nil
	}
	waits := e.Page + FanOutWindow
	next, unsent, err := behindLastMade(s, e, min(waits, b.PageCount()+1))
	switch {
	case err != nil:
		return nil, err
	case unsent: // the message that sends its jobs comes again, and onPageFannedOut follows
		return nil, nil
	case next > b.PageCount():
		return nil, nil
	case next == waits:
		return []model.Message{model.Announce{Phase: e.Phase, Page: next, FanOut: "yielded"}}, nil
	case e.Again: // onPageFannedOut follows, or the tick
		return nil, nil
	}
	if open, _, err := FanOutWindowOpen(s, e.Phase, next); err != nil || !open {
		return nil, err
	}
	return []model.Message{model.Announce{Phase: e.Phase, Page: next, FanOut: fmt.Sprintf("yield-%d", e.Page)}}, nil
}

// behindLastMade is the page behind the last one that is made, of those from the page that was
// counted, which is, to the one before most. It stops at a page whose jobs are not all sent.
func behindLastMade(s model.State, e model.ShardCounted, most int) (next int, unsent bool, err error) {
	for next = most; ; next-- {
		made, err := s.LoadShard(e.Phase, next-1)
		switch {
		case err != nil:
			return 0, false, err
		case made != nil && !made.Sent && made.Open > 0:
			return next, true, nil
		case made != nil || next == e.Page+1:
			return next, false, nil
		}
	}
}

// shardLoader is the part of a model.State that FanOutWindowOpen reads.
type shardLoader interface {
	LoadShard(phase, page int) (*model.Shard, error)
}

// FanOutWindowOpen reports whether a page of a phase may be begun: the page that it waits for,
// FanOutWindow before it, has yielded, or there is none. A page that late members made has no
// shard in an earlier phase. Since is when the last run of that page yielded; it is zero if none
// has yielded since the page was made.
func FanOutWindowOpen(s shardLoader, phase, page int) (open bool, since time.Time, err error) {
	before := page - FanOutWindow
	if before < 1 {
		return true, since, nil
	}
	shard, err := s.LoadShard(phase, before)
	if err != nil || shard == nil {
		return err == nil, since, err
	}
	if shard.YieldedAt != nil {
		since = *shard.YieldedAt
	}
	return shard.HasYielded(), since, nil
}
