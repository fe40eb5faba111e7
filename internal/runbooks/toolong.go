package runbooks

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// maxPage is how many bytes the runs of one page of members may take before any
// of their parameters: they are made in one write, which takes 2 MB.
const maxPage = 1_500_000

// tooLong names the phases whose runs would not fit into the write that makes them.
func tooLong(rb *runbook.Runbook) []api.InputProblem {
	var out []api.InputProblem
	for i, p := range rb.Phases {
		run, err := runstate.New(&model.Batch{Runbook: rb.Name}, model.Phase{Kind: model.KindPhase, Name: p.Name}, &model.Member{}, rb, time.Time{})
		if err != nil {
			continue // the phase is the runbook's own: it is found
		}
		encoded, err := json.Marshal(run)
		if err == nil && len(encoded)*model.PageSize <= maxPage {
			continue
		}
		out = append(out, api.InputProblem{
			Field: runbook.PathText([]any{"phases", i, "steps"}), Code: runbook.CodeTooLarge,
			Message: fmt.Sprintf("are too many or too long to be stored: %d bytes for each member, of at most %d; divide the phase", len(encoded), maxPage/model.PageSize),
		})
	}
	return out
}
