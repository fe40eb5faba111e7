package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/schedule"
)

// readItems checks the items of a request. hashKey keys the hashes where columns are secret; nil: none
// are. Errors: CodeInvalid with every bad item.
func readItems(rb *runbook.Runbook, given []map[string]json.RawMessage, hashKey []byte) ([]schedule.Row, error) {
	rows, err := schedule.ReadItems(rb, given, hashKey)
	refused := new(schedule.ItemsError)
	switch {
	case !errors.As(err, &refused):
		return rows, err
	case refused.Total == 0:
		return nil, problem.New(api.CodeInvalid, "the request %s", refused.Reason)
	}
	bad := make([]api.InputProblem, len(refused.Problems))
	for i, p := range refused.Problems {
		bad[i] = api.InputProblem{Field: p.Place("items"), Code: p.Code, Message: p.Message}
	}
	return nil, &problem.Error{Code: api.CodeInvalid, Message: fmt.Sprintf("the items have %s; no batch was started", humanize.Count(refused.Total, "problem")), Problems: bad}
}
