package explore

import (
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// A search that finds nothing in a system that breaks the rules says nothing of the others.
func TestBrokenSystemIsFound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		system  *system
		problem string
		actions int // at most
	}{
		{
			&system{
				name: "a broker that loses what begins a phase", versions: []string{short}, people: ann,
				loses: func(_ string, m bus.Message) bool { return strings.HasPrefix(m.ID, "phase-due-batch-7-2-") },
			},
			"nothing has moved for 2h0m0s, and a batch has not ended", 8,
		},
		{
			&system{
				name: "a broker that loses the revocation of a batch", versions: []string{short}, people: ann, commands: []command{cancels(theBatch)},
				loses: func(topic string, _ bus.Message) bool { return topic == message.TopicWorkerControl },
			},
			"begins after the cancellation of its batch was confirmed", 3,
		},
		{
			&system{
				name: "a store that ignores ETags", versions: []string{short}, people: both, budget: budget{parks: 1}, commands: []command{removes(theBatch, 1)},
				rewrites: func(writes store.Writes) store.Writes {
					writes = slices.Clone(writes)
					for i := range writes {
						if writes[i].Op == store.OpReplace {
							writes[i].Op = store.OpUpsert
						}
						writes[i].Version.ETag = ""
					}
					return writes
				},
			},
			"", 8,
		},
	} {
		t.Run(test.system.name, func(t *testing.T) {
			t.Parallel()
			r := search(t, test.system, limits{})
			t.Logf("%s\n%s", r, r.violation)
			if r.violation == "" || !strings.Contains(r.violation, test.problem) || r.actions > test.actions {
				t.Errorf("want %q within %d actions", test.problem, test.actions)
			}
		})
	}
}
