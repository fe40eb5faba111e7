package schedule_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/schedule"
)

// All problems of the items are counted, and the first of them are named.
func TestProblemsOfItemsAreCounted(t *testing.T) {
	t.Parallel()
	rb, diagnostics := runbook.Parse([]byte(`
name: refresh
trigger: request
items: {primary_key: Id, max: 2000}
phases:
  - name: sync
    steps: [{name: s, worker_id: w, function: f, params: {Id: "{{Id}}", Path: "{{Path}}"}}]
`))
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	const many = schedule.MaxProblems + 500
	for item, want := range map[string]string{
		`7`:                      fmt.Sprintf("the list repositories has %d problems: repositories[0]: item 1 is not an object", many),
		`{"Id":"a"}`:             fmt.Sprintf(`the list repositories has %d problems: repositories[0].Path: item 1 has no field "Path"`, many),
		`{"Id":null,"Path":"p"}`: fmt.Sprintf("the list repositories has %d problems: ", many),
	} {
		_, err := schedule.ReadList(rb, []byte("["+strings.Repeat(item+",", many-1)+item+"]"))
		refused := new(schedule.ItemsError)
		if !errors.As(err, &refused) || len(refused.Problems) != schedule.MaxProblems || !strings.HasPrefix(refused.Describe("repositories"), want) {
			t.Errorf("%s: %.200v", item, err)
		}
	}
}
