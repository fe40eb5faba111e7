package runstate

import (
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/schedule"
)

// checkItems checks the list in the answer of the call that lists the items of the batch, as those of a
// request are checked. A list that is refused would be refused again: its step has no retry.
func (t *transition) checkItems(a answer) error {
	if t.run.Kind != model.KindItems {
		return nil
	}
	_, err := readItems(t.rb, a)
	return err
}

// readItems gives the items that an answer lists.
func readItems(rb *runbook.Runbook, a answer) ([]schedule.Row, error) {
	name := rb.Request.Source.Output
	list, ok := lookup(a.fields, name)
	if !ok {
		return nil, fmt.Errorf("the result lacks %s, the list of the items", name)
	}
	rows, err := schedule.ReadList(rb, list)
	if refused := new(schedule.ItemsError); errors.As(err, &refused) {
		return nil, errors.New(refused.Describe(name))
	}
	return rows, err
}

// Items gives the items that the run of a call listed, which has succeeded.
func Items(r *model.Run, rb *runbook.Runbook) ([]schedule.Row, error) {
	if r.Kind != model.KindItems || r.Status != model.RunSucceeded || !rb.ListsItems() {
		return nil, fmt.Errorf("runstate: the run of execution %d of batch %d has listed no items", r.Phase, r.Batch)
	}
	return readItems(rb, readAnswer(r.Steps[0].Result))
}
