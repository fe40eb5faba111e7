package apiview

import (
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// MeasuredBatches is how many of the newest batches of a runbook are searched for a phase that ended.
const MeasuredBatches = 20

// Expected gives how long phases will take, one after another, if each was measured in one of the newest
// batches of the runbook; nil otherwise. The checks of members are no phase.
func Expected(newest []store.Item[store.BatchSummary], phases []api.PhasePreview) *api.PhaseDuration {
	total := api.PhaseDuration{Batches: []int{}}
	for _, p := range phases {
		if p.Phase == runbook.ChecksName {
			continue
		}
		took, in := measured(newest, p)
		if in == 0 {
			return nil
		}
		if total.Seconds += int(took.Round(time.Second) / time.Second); !slices.Contains(total.Batches, in) {
			total.Batches = append(total.Batches, in)
		}
	}
	if len(total.Batches) == 0 {
		return nil
	}
	return &total
}

// measured gives how long a phase took in the newest batch in which members ended it, and which batch
// that is; 0 for none. For more members than there it takes longer in proportion; for fewer it does
// not take less, because most of it can be waiting.
func measured(newest []store.Item[store.BatchSummary], p api.PhasePreview) (time.Duration, int) {
	for _, b := range newest {
		for _, q := range b.Doc.Phases {
			members := q.Succeeded + q.Failed
			if q.Name != p.Phase || q.Status != model.PhaseCompleted || q.DispatchedAt == nil || q.CompletedAt == nil || members == 0 && q.Kind != model.KindInit {
				continue
			}
			took := q.CompletedAt.Sub(*q.DispatchedAt)
			if p.Members > members && members > 0 {
				took = time.Duration(float64(took) * float64(p.Members) / float64(members))
			}
			return took, b.Doc.ID
		}
	}
	return 0, 0
}
