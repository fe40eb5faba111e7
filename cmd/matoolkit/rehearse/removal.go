package rehearse

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/simulate"
)

// Removal is the rehearsal of the way back: a sample of members who succeeded is migrated on fresh copies of the tenants,
// and leaves the batch before the cut-over.
type Removal struct {
	Members []string     `json:"members"`
	Offset  string       `json:"offset"` // when they leave
	Errors  []ErrorGroup `json:"errors"`
	Left    []Change     `json:"left"` // how the tenants differ from before
}

// leaves is how long before T-0 the sample leaves.
const leaves = time.Minute

// removal is nil for a runbook without steps for members who leave.
func (r *rehearsal) removal(ctx context.Context, first *played) (*Removal, error) {
	if len(r.rb.OnMemberRemoved) == 0 {
		return nil, nil
	}
	failed := map[string]bool{}
	for _, f := range first.timeline.Failures {
		failed[f.Member] = true
	}
	removal := &Removal{Members: []string{}, Offset: "T-" + simulate.Span(leaves), Left: []Change{}, Errors: []ErrorGroup{}}
	var leaving []simulate.Coming
	for _, b := range first.timeline.Batches {
		for _, key := range b.Keys {
			if !failed[key] && len(leaving) < r.Sample {
				removal.Members = append(removal.Members, key)
				leaving = append(leaving, simulate.Coming{Member: key, Leaves: simulate.Before(leaves)})
			}
		}
	}
	if len(leaving) == 0 {
		return removal, nil
	}
	r.tell("rehearse the removal of %s", count(len(leaving), "member"))
	again, err := r.play(ctx, leaving)
	if err != nil {
		return nil, err
	}
	removal.Errors = again.groups(false)
	for _, t := range r.Tenants {
		removal.Left = append(removal.Left, changes(t.Name, again.changed[t.Name])...)
	}
	return removal, nil
}

func count(n int, noun string) string { return humanize.Count(n, noun) }
