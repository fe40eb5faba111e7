package app_test

import (
	"testing"
	"time"
)

const nullable = `
name: nullable
data_source:
  type: sql
  connection: PEOPLE
  query: SELECT Upn, First, Middle, Start FROM people
  primary_key: Upn
  batch_time_column: Start
phases:
  - name: create
    offset: T-0
    steps:
      - name: new
        worker_id: worker-01
        function: New
        params:
          DisplayName: "{{First}} {{Middle}}x"
          Middle: "{{Middle?}}"
          Initial: "{{Middle | default('')}}"
          Nickname: "{{Nickname?}}"
          Office: "{{Office | default('none') | upper}}"
`

// The reference writes NULL as empty text and has no way to say that a column may lack.
func TestSpecificationNullIsEmptyAmidTextAndOptionalColumnsMayLack(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always("true")}
		people := s.table()
		people.exec("DROP TABLE people")
		people.exec("CREATE TABLE people (Upn TEXT, First TEXT, Middle TEXT, Start TEXT)")
		people.exec("INSERT INTO people VALUES (?, ?, NULL, ?)", "ada@x", "Ada", dawn.Add(time.Minute).Format(time.RFC3339))
		s.publishAutomated(nullable)
		s.tick()
		s.tickAfter(time.Hour)
		b := s.listBatchIDs()[0]
		s.wantStatus(b, "completed")
		want := `{"DisplayName":"Ada x","Initial":"","Middle":null,"Nickname":null,"Office":"NONE"}`
		if got := string(s.step(b, 1, "new").Params); got != want {
			t.Errorf("parameters %s, want %s", got, want)
		}
	})
}
