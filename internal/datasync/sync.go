package datasync

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxNewBatches is how many batches one result may create. Each costs every later tick some
// operations; where there are more, the column of times probably has another time in each row.
const maxNewBatches = 1000

// syncRun is one sync of one runbook, or one preview of it.
type syncRun struct {
	syncer  *Syncer
	name    string
	rb      *runbook.Runbook
	version int
	enabled bool // automation creates batches
	dry     bool // a preview, which writes nothing
	now     time.Time
	// watch receives the columns, with nil values, and then each row with them; nil: it is not called.
	watch func(columns []string, values []json.RawMessage)

	result  *schedule.Result
	plan    schedule.Plan
	batches map[int]store.Item[model.Batch]  // that have not ended
	ended   map[time.Time]int                // start → its batch, which has ended
	holds   map[int]store.RemovalHoldMembers // batch → its removal hold
	former  map[string]formerMember          // key → who was removed last of the batches that have not ended
	homes   map[string]bool                  // keys of members who are in such a batch

	applied bool              // apply has begun
	done    store.SyncOutcome // what apply has done so far
	stays   map[string]bool   // keys of members who are to be removed from a batch and are still in it
	held    []int             // batches that have a removal hold
	relist  bool              // the people whose addition was discarded have another list by now
}

// run compares and applies, under the runbook's lease. It reads its input only now, when no other
// tick can change the batches.
func (s *syncRun) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, syncTime, errOutOfTime)
	defer cancel()
	err := s.compare(ctx)
	if err == nil {
		err = s.apply(ctx)
	}
	if err != nil && errors.Is(context.Cause(ctx), errOutOfTime) {
		return fmt.Errorf("%w: %w", errOutOfTime, err)
	}
	return err
}

// compare reads the data source and makes the plan, by the version of the runbook that is active
// now.
func (s *syncRun) compare(ctx context.Context) (err error) {
	if s.version, err = s.activeVersion(ctx); err != nil {
		return err
	}
	if s.rb, err = s.syncer.runbooks.Load(ctx, s.name, s.version); err != nil {
		return err
	}
	if err := s.query(ctx); err != nil {
		return err
	}
	// The query may have taken minutes: an administrator may have turned automation off meanwhile.
	setting, err := store.OrNone(store.Read[store.Automation](ctx, s.syncer.store, store.AutomationKey(s.name)))
	if err != nil {
		return err
	}
	s.enabled = setting.Doc.Enabled
	situation, err := s.loadSituation(ctx)
	if err != nil {
		return err
	}
	s.ended = situation.Ended
	if setting.Doc.Additions != nil {
		situation.Confirmed = setting.Doc.Additions.Revision
	}
	discarded, err := s.loadDiscarded(ctx, &setting.Doc)
	if err != nil {
		return err
	}
	situation.Discarded = map[string]bool{}
	for _, p := range discarded {
		situation.Discarded[p.Key] = true
	}
	s.plan = schedule.Make(s.rb, s.result, situation)
	if err := s.updateDecisions(ctx, setting, discarded); err != nil {
		return err
	}
	return s.checkNewBatches(ctx)
}

// activeVersion gives the active version of the runbook, or errInactive.
func (s *syncRun) activeVersion(ctx context.Context) (int, error) {
	head, err := store.Read[store.RunbookHead](ctx, s.syncer.store, store.RunbookKey(s.name))
	if err == nil && head.Doc.Active == 0 {
		err = errInactive
	}
	return head.Doc.Active, err
}

// checkNewBatches refuses a plan with too many new batches, and one with any where the runbook
// was deactivated meanwhile.
func (s *syncRun) checkNewBatches(ctx context.Context) error {
	n := len(s.plan.New)
	if n == 0 {
		return nil
	}
	if _, err := s.activeVersion(ctx); err != nil {
		return err
	}
	if n > maxNewBatches {
		return problem.New(api.CodeConflict, "the rows have %d new batch times, and a sync creates at most %d batches: check that %q is the right column, or restrict the query", n, maxNewBatches, cmp.Or(s.rb.DataSource.BatchTimeColumn, s.rb.DataSource.BatchTime))
	}
	return nil
}

// query runs the runbook's query.
func (s *syncRun) query(ctx context.Context) error {
	var result *schedule.Result
	var names []string
	header := func(columns []string) (err error) {
		if names = columns; s.watch != nil {
			s.watch(names, nil)
		}
		if result, err = schedule.NewResult(s.rb, columns); err != nil || len(s.rb.Secret) == 0 {
			return err
		}
		key, err := s.syncer.sealer.DigestKey(ctx)
		if err == nil {
			result.HashWith(key)
		}
		return err
	}
	row := func(values []json.RawMessage) error {
		if s.watch != nil {
			s.watch(names, values)
		}
		result.Add(values)
		return nil
	}
	err := s.syncer.sources.Read(ctx, s.rb, header, row)
	if err == nil {
		s.result = result
	}
	return err
}
