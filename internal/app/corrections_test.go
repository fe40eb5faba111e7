package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

const correctable = `
name: moves
data_source:
  type: csv
  primary_key: Upn
  multi_valued_columns: [{name: Groups, format: semicolon_delimited}]
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: worker-01, function: New, params: {Upn: "{{Upn}}", Guid: "{{Guid}}"}, output_params: {UserId: id}}
  - name: join
    offset: T-0
    steps:
      - {name: join, worker_id: worker-01, function: Join, params: {Upn: "{{Upn}}", Groups: "{{Groups}}"}}
`

const correctableFile = "Upn,Guid,Groups\nann@x,wrong,a;b\nbob@x,right,\n"

// correct gives a member other values, NAME=VALUE each.
func (s *stage) correct(batch, member int, values ...string) api.MemberCorrection {
	s.t.Helper()
	return must(s.app.CorrectMember(s.ctx, ada, batch, member, request(values...), "ticket 7"))(s.t)
}

func request(values ...string) api.CorrectionRequest {
	r := api.CorrectionRequest{Data: map[string]json.RawMessage{}}
	for _, v := range values {
		name, value, _ := strings.Cut(v, "=")
		text, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		r.Data[name] = text
	}
	return r
}

// changed writes changes as text.
func changed(changes []api.ColumnChange) string {
	var all []string
	for _, c := range changes {
		text := fmt.Sprintf("%s %s: %s -> %s", c.MemberKey, c.Column, c.Before, c.After)
		if c.Override {
			text += " (override)"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func (s *stage) wantChanges(got []api.ColumnChange, want string) {
	s.t.Helper()
	if text := changed(got); text != want {
		s.t.Fatalf("the correction changed %s\n  want %s", text, want)
	}
}

func TestRetryAfterACorrectionSendsTheNewValue(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": some(map[int]worker{1: inTurn(fails(errNo), always(`{"id":7}`))}), "Join": always("true")}
		s.script["New"] = inTurn(fails(errNo), always(`{"id":7}`))
		b := s.createBatch(correctable, "Upn,Guid,Groups\nann@x,wrong,a;b\n")
		s.advance(b.ID)
		s.wantMember(b.ID, 1, "failed")
		if got := s.paramsOf("New"); got["Guid"] != "wrong" {
			t.Fatalf("the worker got %v", got)
		}
		s.wantStatus(b.ID, "active")
		done := s.correct(b.ID, 1, "Guid=right", "Groups=c;d")
		s.wantChanges(done.Changes, `ann@x Groups: ["a","b"] -> ["c","d"], ann@x Guid: "wrong" -> "right"`)
		if done.Member.Overrides != nil || string(done.Member.Data["Guid"]) != `"right"` {
			t.Errorf("the member is %+v", done.Member)
		}
		s.wantChanges(s.correct(b.ID, 1, "Guid=right", "Groups=c;d").Changes, "") // said again
		var last api.AuditRecord
		for _, r := range s.listAudit(b.ID) {
			if r.Action == "correct_member" {
				last = r
			}
		}
		if last.Target != "member 1 (ann@x)" || last.Why != "ticket 7" ||
			string(last.Before) != `{"Groups":["a","b"],"Guid":"wrong"}` || string(last.After) != `{"Groups":["c","d"],"Guid":"right"}` {
			t.Errorf("the audit record is %+v: %s to %s", last, last.Before, last.After)
		}
		s.retry(b.ID, api.Selection{Members: []int{1}})
		if got := s.paramsOf("New"); got["Guid"] != "right" {
			t.Errorf("after the correction the worker got %v", got)
		}
		s.advance(b.ID)
		if got := s.paramsOf("Join"); fmt.Sprint(got["Groups"]) != "[c d]" {
			t.Errorf("the next phase got %v", got)
		}
	})
}

func TestCorrectionWhileAStepIsAtAWorkerTakesEffectAtTheNextAttempt(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost)}
		b := s.createBatch(strings.Replace(correctable, "function: New,", "function: New, retry: {max_retries: 1, interval: 1m},", 1), "Upn,Guid,Groups\nann@x,wrong,\n")
		s.advance(b.ID)
		if done := s.correct(b.ID, 1, "Groups=x"); len(done.InFlight) != 0 {
			t.Errorf("the step in flight does not use it: %+v", done.InFlight)
		}
		done := s.correct(b.ID, 1, "Guid=right")
		if len(done.InFlight) != 1 || done.InFlight[0].Step != "new" || done.InFlight[0].MemberKey != "ann@x" || done.InFlight[0].Phase != "create" {
			t.Fatalf("in flight: %+v", done.InFlight)
		}
		s.answers(1, "New", "", errNo)
		s.script["New"] = always(`{"id":7}`)
		s.pass(2 * time.Minute)
		if got := s.paramsOf("New"); got["Guid"] != "right" {
			t.Errorf("the next attempt got %v", got)
		}
		s.wantPhases(b.ID, "create completed 1/0/0, join pending 0/0/0")
	})
}

func TestCorrectionThatCannotBeMadeChangesNothing(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always(`{"id":7}`)}
		b := s.createBatch(correctable, correctableFile)
		refused := func(member int, code api.Code, says string, values ...string) {
			t.Helper()
			_, err := s.app.CorrectMember(s.ctx, ada, b.ID, member, request(values...), "")
			s.wantRefused(err, code, says)
		}
		refused(1, api.CodeInvalid, "column Upn is the key of the members, which cannot be changed", "Upn=eve@x", "Guid=g")
		refused(1, api.CodeInvalid, `there is no column "Mail"; the columns are Groups, Guid`, "Mail=m")
		refused(1, api.CodeInvalid, `there is no column "guid"; the column is Guid, and names are case-sensitive`, "guid=m")
		refused(1, api.CodeInvalid, "UserId is an output of step new and no column", "UserId=8")
		refused(1, api.CodeInvalid, "control character", "Guid=a\x01")
		refused(9, api.CodeNotFound, "member 9", "Guid=g")
		_, err := s.app.CorrectMember(s.ctx, ada, b.ID, 1, api.CorrectionRequest{ClearOverrides: []string{"Guid"}}, "")
		s.wantRefused(err, api.CodeInvalid, "has no data source")

		stale := must(s.app.Member(s.ctx, reader, b.ID, 1))(t)
		s.correct(b.ID, 1, "Guid=g1")
		_, err = s.app.CorrectMember(s.ctx, ada, b.ID, 1, request("Guid=g2"), "", stale.ETag)
		s.wantRefused(err, api.CodeChanged, "read it again")
		now := must(s.app.Member(s.ctx, reader, b.ID, 1))(t)
		if v := must(s.app.CorrectMember(s.ctx, ada, b.ID, 1, request("Guid=g2"), "", now.ETag))(t); v.Member.ETag == now.ETag || string(v.Member.Data["Guid"]) != `"g2"` {
			t.Errorf("%+v", v.Member)
		}

		must(s.app.RemoveMember(s.ctx, ada, b.ID, 2, ""))(t)
		s.deliverAll()
		refused(2, api.CodeConflict, "member 2 (bob@x) of batch 1 was removed", "Guid=g")
		s.advance(b.ID)
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
		refused(1, api.CodeConflict, "batch 1 has ended (completed) and member 1 (ann@x) has not failed", "Guid=g")
	})
}

func TestMemberOfABatchThatHasEndedIsCorrectedAndRetried(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always(`{"id":7}`), "Join": inTurn(fails(errNo), always("true"))}
		b := s.createBatch(correctable, "Upn,Guid,Groups\nann@x,g,wrong\n")
		s.advance(b.ID)
		s.advance(b.ID)
		if m := s.member(b.ID, 1); m.Status != "failed" {
			t.Fatalf("%+v", m)
		}
		s.correct(b.ID, 1, "Groups=right")
		s.retry(b.ID, api.Selection{})
		s.wantStatus(b.ID, "completed")
		if got := s.paramsOf("Join"); fmt.Sprint(got["Groups"]) != "[right]" {
			t.Errorf("the worker got %v", got)
		}
	})
}

// override describes the override of a column of a member.
func (s *stage) override(batch, member int, column string) string {
	s.t.Helper()
	m := must(s.app.Member(s.ctx, reader, batch, member))(s.t)
	o, ok := m.Overrides[column]
	if !ok {
		return string(m.Data[column])
	}
	return fmt.Sprintf("%s for %s by %s", m.Data[column], o.Source, o.By)
}

func (s *stage) wantOverride(batch, member int, column, want string) {
	s.t.Helper()
	if got := s.override(batch, member, column); got != want {
		s.t.Fatalf("column %s of member %d is %s, want %s", column, member, got, want)
	}
}

func TestOverrideIsKeptAcrossSyncsUntilTheSourceAgrees(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(3*day), "ann", "bob")
		s.findBatches(found(twoPhases, ""))
		_, err := s.app.CorrectMember(s.ctx, ada, 1, 1, request("Start=2027-01-01"), "")
		s.wantRefused(err, api.CodeInvalid, "column Start has the batch time")
		s.wantChanges(s.correct(1, 1, "Name=Right").Changes, `ann@x Name: "ANN" -> "Right" (override)`)
		s.wantOverride(1, 1, "Name", `"Right" for "ANN" by ada`)
		s.tick()
		s.tick()
		s.wantOverride(1, 1, "Name", `"Right" for "ANN" by ada`)
		people.exec("UPDATE people SET Name = 'Other' WHERE Upn = 'ann@x'")
		s.tick()
		s.wantOverride(1, 1, "Name", `"Right" for "Other" by ada`)
		s.wantOverride(1, 2, "Name", `"BOB"`)
		s.correct(1, 1, "Name=Better")
		s.wantOverride(1, 1, "Name", `"Better" for "Other" by ada`)
		people.exec("UPDATE people SET Name = 'Better' WHERE Upn = 'ann@x'")
		s.tick()
		s.wantOverride(1, 1, "Name", `"Better"`)
		people.exec("UPDATE people SET Name = 'New' WHERE Upn = 'ann@x'")
		s.tick()
		s.wantOverride(1, 1, "Name", `"New"`)

		s.correct(1, 1, "Name=Mine")
		s.correct(1, 1, "Name=New") // what the source has
		s.wantOverride(1, 1, "Name", `"New"`)
		s.correct(1, 1, "Name=Mine")
		done := must(s.app.CorrectMember(s.ctx, grace, 1, 1, api.CorrectionRequest{ClearOverrides: []string{"Name"}}, ""))(t)
		s.wantChanges(done.Changes, `ann@x Name: "Mine" -> "New"`)
		s.wantOverride(1, 1, "Name", `"New"`)
		s.wantChanges(must(s.app.CorrectMember(s.ctx, grace, 1, 1, api.CorrectionRequest{ClearOverrides: []string{"Name"}}, ""))(t).Changes, "")
	})
}

func TestOverrideGoesWithAPersonWhoMovesToAnotherBatch(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(3*day), "ann")
		s.findBatches(found(twoPhases, "on_member_removed:\n  - {name: undo, worker_id: worker-01, function: Undo, params: {Name: \"{{Name}}\"}}\n"))
		s.pass(2 * day) // create has run, so that the removal has steps
		s.tick()
		s.correct(1, 1, "Name=Right")
		people.put(dawn.Add(9*day), "ann")
		s.tick()
		if got := s.paramsOf("Undo"); got["Name"] != "Right" {
			t.Errorf("the removal got %v", got)
		}
		s.cancel(1) // also from a batch that has ended meanwhile
		s.tick()
		s.wantOverride(2, 1, "Name", `"Right" for "ANN" by ada`)
		people.exec("UPDATE people SET Name = 'Right'")
		s.tick()
		s.wantOverride(2, 1, "Name", `"Right"`)
	})
}

func TestCorrectionOfASecretIsMasked(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		v := withKey(s)
		people := s.table()
		people.put(dawn.Add(2*day), "ann")
		s.findBatches(secretSource)
		done := s.correct(1, 1, "Name="+canary)
		s.wantChanges(done.Changes, `ann@x Name: "(secret)" -> "(secret)" (override)`)
		v.wantNowhere("corrected", 1)
		s.wantOverride(1, 1, "Name", `"(secret)" for "(secret)" by ada`)
		s.wantChanges(s.correct(1, 1, "Name="+canary).Changes, "")
		for _, r := range s.listAudit(1) {
			if r.Action == "correct_member" && (string(r.Before) != `{"Name":"(secret)"}` || string(r.After) != `{"Name":"(secret)"}`) {
				t.Errorf("the audit record has %s and %s", r.Before, r.After)
			}
		}
		s.tick()
		s.wantOverride(1, 1, "Name", `"(secret)" for "(secret)" by ada`)
		people.exec("UPDATE people SET Name = ?", canary)
		s.tick()
		s.wantOverride(1, 1, "Name", `"(secret)"`)
		s.correct(1, 1, "Name="+made)
		s.tickAfter(25 * time.Hour)
		if got := s.paramsOf("New"); got["Password"] != made {
			t.Errorf("the worker got %v", got)
		}
		m := must(store.Read[model.Member](s.ctx, s.store, store.MemberKey(1, 1)))(t)
		if o := m.Doc.Overrides["Name"]; !strings.Contains(string(m.Doc.Data["Name"]), "erased") || !strings.Contains(string(o.Source), "erased") {
			t.Errorf("after its last use the secret is %s, that of the source %s", m.Doc.Data["Name"], o.Source)
		}
		v.wantNowhere("erased", 1)
	})
}

// A column becomes secret after it was corrected: the records from before show it no more.
func TestAuditRecordHidesWhatHasBecomeSecret(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		withKey(s)
		people := s.table()
		people.put(dawn.Add(2*day), "ann")
		s.findBatches(strings.Replace(secretSource, "secret: [Name]\n", "", 1))
		s.correct(1, 1, "Name="+canary)
		s.publish(secretSource)
		for range 2 {
			s.tick()
		}
		if b := s.batchOf(1); b.RunbookVersion != 2 {
			t.Fatalf("the batch follows version %d", b.RunbookVersion)
		}
		all := must(s.app.Audit(s.ctx, api.AuditFilter{Action: api.ActionCorrectMember}, api.ListOptions{}))(t).Items
		for _, r := range append(all, s.listAudit(1)...) {
			if r.Action == api.ActionCorrectMember && (string(r.Before) != `{"Name":"(secret)"}` || string(r.After) != `{"Name":"(secret)"}`) {
				t.Errorf("the record has %s and %s", r.Before, r.After)
			}
		}
		if len(all) != 1 {
			t.Errorf("%d records", len(all))
		}
	})
}

func TestAnErasedSecretIsSuppliedForARetry(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		v := withKey(s)
		s.script = script{"New": fails(errNo)}
		b := s.startBatch(secretRunbook, secretFile("ann"))
		s.advance(b.ID)
		s.wantStatus(b.ID, "failed")
		s.tickAfter(model.SecretRetention + time.Minute)
		s.wantOverride(b.ID, 1, "Password", `"(secret, erased)"`)
		s.correct(b.ID, 1, "Password="+canary)
		s.tickAfter(model.SecretRetention - time.Minute)
		s.wantOverride(b.ID, 1, "Password", `"(secret)"`)
		s.tickAfter(2 * time.Minute)
		s.wantOverride(b.ID, 1, "Password", `"(secret, erased)"`)
		s.correct(b.ID, 1, "Password="+canary)
		v.wantNowhere("supplied", b.ID)
		s.retry(b.ID, api.Selection{Members: []int{1}})
		if got := s.paramsOf("New"); got["Password"] != canary {
			t.Errorf("the worker got %v", got)
		}
	})
}

func TestMembersAreUpdatedFromAFileAllOrNone(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always(`{"id":7}`)}
		file := "Upn,Guid,Groups\n"
		for _, name := range crowd(70) {
			file += name + "@x,g,a\n"
		}
		b := s.createBatch(correctable, file)
		update := func(csv string, dry bool) (api.MembersUpdate, error) {
			return s.app.UpdateMembers(s.ctx, ada, b.ID, []byte(csv), dry, "ticket 7")
		}
		data := func(member int) string {
			m := s.member(b.ID, member)
			return fmt.Sprintf("%s %s", m.Data["Guid"], m.Data["Groups"])
		}
		some := "Upn,Groups\n"
		for _, name := range crowd(70)[5:] {
			some += name + "@x,b;c\n"
		}
		tooMany := "Upn,Groups\n"
		for _, name := range numbered("many", 10_001) {
			tooMany += name + ",b\n"
		}
		s.wantRefused(errorOf(update(tooMany, false)), api.CodeTooLarge, "the CSV has 10001 rows; at most 10000 members can be updated at once")
		for csv, says := range map[string]string{
			some + "nobody@x,b\n":                                   `batch 1 has no member "nobody@x"`,
			some + "nobody@x,b\n,c\n":                               "column Upn is empty",
			"Upn,_x,UserId\nnobody@x,1,2\np000@x,1,8\n":             "UserId is an output of step new",
			some + "nobody@x," + strings.Repeat("x", 40_000) + "\n": "at most 32767",
			strings.Replace(some, "Groups", "Grups", 1):             `there is no column "Grups"`,
			"Guid\ng\n":              "column Upn is missing",
			some + "p005@x,again\n":  `"p005@x" is on line 2 and again on line 67`,
			"Upn,UserId\np000@x,8\n": "UserId is an output of step new",
			some + "p001@x," + strings.Repeat("x", 40_000): "at most 32767",
		} {
			_, err := update(csv, false)
			if err == nil || !strings.Contains(describe(err), says) {
				t.Errorf("%v, want %s", err, says)
			}
			if strings.Contains(csv, "nobody@x") && !strings.Contains(describe(err), `has no member "nobody@x"`) {
				t.Errorf("%v does not name the row without a member", err)
			}
			s.wantRefused(err, api.CodeInvalid, "no member was changed")
		}
		if data(6) != `"g" ["a"]` {
			t.Fatalf("a file with problems changed member 6 to %s", data(6))
		}
		preview := must(update(some, true))(t)
		if preview.Changed != 65 || preview.ChangeCount != 65 || changed(preview.Changes[:1]) != `p005@x Groups: ["a"] -> ["b","c"]` || data(6) != `"g" ["a"]` {
			t.Fatalf("the preview: %+v", preview)
		}
		done := must(update(some, false))(t)
		if done.Changed != 65 || done.Unchanged != 0 || done.DryRun || data(6) != `"g" ["b","c"]` || data(70) != `"g" ["b","c"]` || data(5) != `"g" ["a"]` {
			t.Fatalf("%+v, member 5 has %s, member 6 %s", done, data(5), data(6))
		}
		if again := must(update(some, false))(t); again.Changed != 0 || again.Unchanged != 65 || len(again.Changes) != 0 {
			t.Errorf("again: %+v", again)
		}
		n := 0
		for _, r := range s.listAudit(b.ID) {
			if r.Action == "correct_member" {
				n++
			}
		}
		if n != 65 {
			t.Errorf("there are %d audit records of 65 members", n)
		}
	})
}

// A request that dies between two writes is sent again, and changes the others.
func TestUpdateThatWasCutShortIsSentAgain(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.createBatch(correctable, "Upn,Guid,Groups\n"+strings.Join(crowd(70), ",g,a\n")+",g,a\n")
		csv := []byte("Upn,Guid\n" + strings.Join(crowd(70), ",h\n") + ",h\n")
		if !s.kill(2, func(ctx context.Context, a *app.App) error {
			return errorOf(a.UpdateMembers(ctx, ada, b.ID, csv, false, ""))
		}) {
			t.Fatal("the process did not come to its second write")
		}
		done := must(s.app.UpdateMembers(s.ctx, ada, b.ID, csv, false, ""))(t)
		if done.Changed+done.Unchanged != 70 || done.Unchanged != 60 {
			t.Errorf("sent again: %d changed, %d had the values", done.Changed, done.Unchanged)
		}
	})
}
