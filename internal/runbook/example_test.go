package runbook_test

import (
	"fmt"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Errors have their place; a runbook with errors is not returned.
func ExampleParse() {
	rb, diagnostics := runbook.Parse([]byte(`name: move
data_source: {type: csv, primary_key: Upn}
phases:
  - name: cut over
    offset: T-2h
    steps:
      - {name: new, worker_id: worker-01, function: New-EntraUser, timeout: soon}
`))
	fmt.Println(rb == nil)
	fmt.Println(diagnostics.Err())
	rb, _ = runbook.Parse([]byte(`name: move
data_source: {type: csv, primary_key: Upn}
phases:
  - name: cut-over
    offset: T-2h
    steps:
      - {name: new, worker_id: worker-01, function: New-EntraUser, timeout: 10m}
`))
	step := rb.Phases[0].Steps[0]
	fmt.Println(rb.Phases[0].Offset.Minutes(), step.Function, step.Timeout)
	// Output:
	// true
	// 7:77: error: phases[0].steps[0].timeout: duration "soon" has no unit; write it as 30s, 15m, 24h or 7d [bad-duration]
	// 120 New-EntraUser 10m0s
}
