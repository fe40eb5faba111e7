package schedule_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/schedule"
)

// The data source no longer has Bob, and Eve is new on another date: Bob is removed, and
// there is a batch to make for Eve.
func ExampleMake() {
	rb, _ := runbook.Parse([]byte(`
name: move
data_source: {type: sql, connection: PEOPLE, query: select, primary_key: Upn, batch_time_column: Date}
phases:
  - name: cut-over
    offset: T-0
    steps: [{name: new, worker_id: worker-01, function: New-EntraUser, params: {Name: "{{Upn}}"}}]
`))
	rows, err := schedule.NewResult(rb, []string{"Upn", "Date"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range [][2]string{{`"ann@contoso.com"`, `"2026-03-10"`}, {`"eve@contoso.com"`, `"2026-03-20"`}} {
		rows.Add([]json.RawMessage{json.RawMessage(row[0]), json.RawMessage(row[1])})
	}
	plan := schedule.Make(rb, rows, schedule.Situation{
		Now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Automation: true,
		Batches: []schedule.Batch{{
			ID: 7, Start: time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC),
			Members: []schedule.Member{{ID: 1, Key: "ann@contoso.com"}, {ID: 2, Key: "bob@contoso.com"}},
		}},
	})
	for _, c := range plan.Changes {
		for _, r := range c.Remove {
			fmt.Printf("batch %d: remove %s\n", c.Batch, r.Key)
		}
	}
	for _, g := range plan.New {
		for _, row := range g.Rows {
			fmt.Printf("new batch at %s: %s\n", g.Start.Format(time.DateOnly), row.Key)
		}
	}
	// Output:
	// batch 7: remove bob@contoso.com
	// new batch at 2026-03-20: eve@contoso.com
}
