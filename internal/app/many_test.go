package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

func TestRetryOfManyLooksAtAllOfThem(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.table().exec(fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 1004)
		INSERT INTO people SELECT printf('p%%04d@x', i), 'Somebody', '%s' FROM n`, dawn.Format(time.RFC3339)))
	s.script = script{"New": fails(errNo)}
	s.findBatches(unguarded(immediate([]string{"only T-0 New"}, "")))
	s.pass(6 * time.Minute)
	s.script = script{"New": fails(errLost)}
	s.tick()
	for _, which := range []api.Selection{{Members: []int{1004}}, {}} {
		s.wantRefused(errorOf(s.app.Repair(s.ctx, ada, 1, api.Repair{Selection: which, Reason: "again"})), api.CodeConflict, "batch 2")
	}
}
