package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/report"
)

// displaying is a runbook whose members have a name, and a secret.
const displaying = `name: shown
data_source: {type: csv, primary_key: Upn}
display: Name
secret: [Pin]
phases:
  - {name: first, offset: T-0, steps: [{name: new, worker_id: worker-01, function: New, params: {Pin: "{{Pin}}"}}, {name: copy, worker_id: worker-01, function: Copy, params: {Upn: "{{Upn}}"}}]}
  - {name: second, offset: T-0, steps: [{name: join, worker_id: worker-01, function: Join, params: {Upn: "{{Upn}}"}}]}
`

const shownPeople = "Upn,Name,Pin,City\nada@x,Ada LOVELACE,4711,Zürich\nben@x,Ben Carter,4712,Ada Street\ncy@x,,4713,Bern\n"

// find lists whom a search finds: batch/member key display status phase/step, and the column that
// matched.
func (s *stage) find(text string, o api.ListOptions) (found []string, next string) {
	s.t.Helper()
	page := must(s.app.Find(s.ctx, ada, text, o))(s.t)
	for _, m := range page.Items {
		line := fmt.Sprintf("%d/%d %s %q %s %s/%s", m.BatchID, m.ID, m.Key, m.Display, m.Status, m.Phase, m.Step)
		if m.Matched != nil {
			line += fmt.Sprintf(" by %s=%s", m.Matched.Column, m.Matched.Value)
		}
		found = append(found, line)
	}
	return found, page.Continuation
}

func (s *stage) wantFound(text string, want ...string) {
	s.t.Helper()
	if got, next := s.find(text, api.ListOptions{}); strings.Join(got, "\n") != strings.Join(want, "\n") || next != "" {
		s.t.Errorf("finding %q: %q, continued by %q, want %q", text, got, next, want)
	}
}

func TestPersonIsFoundInAllBatches(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		withKey(s)
		s.script = script{"New": only(fails(errNo), 2), "Copy": fails(errLost)}
		s.startBatch(overlapping, "Name\nAda of another runbook\n")
		id := s.startBatch(displaying, shownPeople, api.WithDetails(detailsOf("Wave 3", "-", "-"))).ID
		s.remove(id, 3)
		s.deliverAll()
		one := fmt.Sprintf(`%d/1 ada@x "Ada LOVELACE" active first/copy`, id)
		two := fmt.Sprintf(`%d/2 ben@x "Ben Carter" failed first/new`, id)
		three := fmt.Sprintf(`%d/3 cy@x "" removed first/copy`, id)
		s.wantFound("LOVE", one)
		s.wantFound("ada", one, two+" by City=Ada Street", fmt.Sprintf(`%d/1 Ada of another runbook "" active /`, id-1))
		s.wantFound("N CARTER", two)
		s.wantFound("ZÜR", one+" by City=Zürich")
		s.wantFound("@X", one, two, three)
		s.wantFound("471")
		s.wantFound("nobody")
		if m := must(s.app.Find(s.ctx, ada, "love", api.ListOptions{}))(t).Items[0]; m.BatchName != "Wave 3" || m.RunbookName != "shown" || m.BatchStatus != "active" {
			t.Errorf("found %+v", m)
		}
		var reads []string
		for _, r := range s.listAudit(id - 1) {
			if strings.HasPrefix(r.Action, "read_") {
				reads = append(reads, r.Action)
			}
		}
		if len(reads) != 1 {
			t.Errorf("the batch of one person who was found has the records %v of reads", reads)
		}
	})
}

// A search finds a correction at once, and no longer the old value.
func TestCorrectedPersonIsFoundByTheNewName(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		withKey(s)
		id := s.startBatch(displaying, shownPeople).ID
		s.correct(id, 1, "Name=Ada King")
		s.wantFound("king", fmt.Sprintf(`%d/1 ada@x "Ada King" active /`, id))
		s.wantFound("lovelace")
	})
}

// A column that a later version makes secret is neither searched nor shown, although its values were
// stored before.
func TestColumnThatBecomesSecretIsNotSearched(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		withKey(s)
		s.script = script{"New": fails(errNo)}
		id := s.startBatch(displaying, shownPeople).ID
		s.deliverAll()
		hidden := strings.NewReplacer("display: Name\n", "display: City\n", "[Pin]", "[Pin, Name]", `params: {Pin: "{{Pin}}"}`, `params: {Pin: "{{Pin}}", Name: "{{Name}}"}`).Replace(displaying)
		s.wantFound("lovelace", fmt.Sprintf(`%d/1 ada@x "Ada LOVELACE" failed first/new`, id))
		s.publish(hidden)
		s.retry(id, api.Selection{})
		s.deliverAll()
		s.tick()
		s.wantFound("lovelace")
		s.wantFound("zürich", fmt.Sprintf(`%d/1 ada@x "Zürich" failed first/new`, id))
	})
}

// With continuations, a search comes to each member once. A request searches 50 batches, with a query
// each, and reads nothing of batches without a hit.
func TestSearchGoesOnBatchByBatch(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(overlapping)
	const batches = 120
	for i := range batches {
		s.batch("overlap", fmt.Sprintf("Name\nperson %d\nfriend of %[1]d\nother %[1]d\n", i+1))
	}
	for _, limit := range []int{1, 7, 1000} {
		var all []string
		requests := 0
		for o := (api.ListOptions{Limit: limit}); ; requests++ {
			found, next := s.find("er", o)
			if len(found) > limit {
				t.Fatalf("%d members in a page of %d", len(found), limit)
			}
			all = append(all, found...)
			if o.Continuation = next; next == "" {
				break
			}
		}
		if len(all) != 2*batches || all[0] != fmt.Sprintf(`%d/1 person %[1]d "" active /`, batches) || all[2*batches-1] != `1/3 other 1 "" active /` {
			t.Errorf("in pages of %d, %d requests: %d found, from %q to %q", limit, requests, len(all), all[0], all[len(all)-1])
		}
	}
	before := s.store.Counts()
	found, next := s.find("person 17", api.ListOptions{})
	after := s.store.Counts()
	if len(found) != 0 || next == "" {
		t.Errorf("among the newest 50 batches: %q, continued by %q", found, next)
	}
	if queries, reads, writes := after.Queries-before.Queries, after.Reads-before.Reads, after.Writes-before.Writes; queries != 51 || reads+writes != 0 {
		t.Errorf("50 batches without a hit cost %d queries, %d reads, %d writes", queries, reads, writes)
	}
}

func TestBadSearchIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	for _, tt := range []struct{ text, continuation, want string }{
		{" \t", "", "the text to find is empty"},
		{strings.Repeat("ä", 201), "", "the text to find has 201 characters; at most 200 are allowed"},
		{"a\x00", "", "the text to find has the control character U+0000"},
		{"a", "x", "continuation token"},
		{"a", "0:", "continuation token"},
	} {
		err := errorOf(s.app.Find(s.ctx, ada, tt.text, api.ListOptions{Continuation: tt.continuation}))
		if err == nil || !strings.Contains(describe(problem.Explain(err)), tt.want) {
			t.Errorf("%q after %q: %v", tt.text, tt.continuation, err)
		}
	}
}

// Lists and reports show the display column, also of steps, whose list takes one more query for it.
func TestDisplayColumnIsShownBesideTheKey(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		withKey(s)
		id := s.startBatch(displaying, shownPeople).ID
		s.deliverAll()
		if m := s.member(id, 1); m.Display != "Ada LOVELACE" {
			t.Errorf("member %+v", m)
		}
		correction := must(s.app.CorrectMember(s.ctx, ada, id, 1, api.CorrectionRequest{Data: map[string]json.RawMessage{"City": json.RawMessage(`"Bern"`)}}, ""))(t)
		if len(correction.Changes) != 1 || correction.Changes[0].Display != "Ada LOVELACE" {
			t.Errorf("correction %+v", correction)
		}
		before := s.store.Counts().Queries
		steps := must(s.app.Steps(s.ctx, ada, id, api.ListOptions{}))(t).Items
		if steps[0].MemberDisplay != "Ada LOVELACE" || steps[len(steps)-1].MemberDisplay != "" {
			t.Errorf("steps %+v", steps)
		}
		if n := s.store.Counts().Queries - before; n > 4 {
			t.Errorf("a list of steps took %d queries", n)
		}
		for format, want := range map[report.Format]string{report.CSV: "ada@x,Ada LOVELACE,", report.HTML: `Ada LOVELACE<div class="beside">ada@x</div>`} {
			var out strings.Builder
			r := must(s.app.Report(s.ctx, ada, id, format))(t)
			if err := r.Write(s.ctx, &out); err != nil || !strings.Contains(out.String(), want) {
				t.Errorf("%s report: %v, %s", format, err, out.String())
			}
		}
	})
}
