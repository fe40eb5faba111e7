package matrix_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

const sourceTenantID = "66666666-0000-4000-8000-0000000000aa"

// withJobs has migration jobs at each point of their way. Ada can be moved.
func withJobs(s *tenant.Seed) {
	s.Recipients[0].ExchangeGUID = exchangeGUID
	day := func(n int) time.Time { return time.Date(2026, 2, n, 0, 0, 0, 0, time.UTC) }
	later := day(60)
	job := func(id byte, name string, users []tenant.MigrationJobUser, change func(*tenant.MigrationJob)) tenant.MigrationJob {
		j := tenant.MigrationJob{
			ID: "66666666-0000-4000-8000-00000000000" + string(id), Name: name, SourceTenantID: sourceTenantID, Users: users,
			Workloads: []string{"ODSP", "Teams"}, CompleteAfter: later, Created: day(1), Updated: day(1),
		}
		change(&j)
		return j
	}
	person := func(id string) []tenant.MigrationJobUser { return []tenant.MigrationJobUser{{ID: id}} }
	s.MigrationJobs = []tenant.MigrationJob{
		job('1', "wave 1", person(adaID), func(j *tenant.MigrationJob) {
			j.Workloads, j.SourceEndpoint, j.TargetDeliveryDomain = nil, "old", "contoso.example"
		}),
		job('2', "wave 2", person(bobID), func(j *tenant.MigrationJob) { j.Validated = day(27) }),
		job('3', "wave 3", []tenant.MigrationJobUser{{ID: caraID}, {ID: eveID, Error: "Guests cannot be moved."}}, func(j *tenant.MigrationJob) { j.Validated, j.Started = day(20), day(21) }),
		job('4', "wave 4", person(syncID), func(j *tenant.MigrationJob) { j.Validated, j.Started, j.CompleteAfter = day(2), day(3), day(4) }),
		job('5', "wave 5", []tenant.MigrationJobUser{{ID: bobID, Error: "The user was not there."}}, func(j *tenant.MigrationJob) { j.Validated = day(2) }),
		job('6', "wave 6", person(bobID), func(j *tenant.MigrationJob) { j.Cancelled = true }),
		job('7', "wave 7", person(nobody), func(j *tenant.MigrationJob) {
			j.Started, j.Validated, j.Status = day(3), day(2), "completedWithErrors"
		}),
		job('8', "wave 8", []tenant.MigrationJobUser{{ID: caraID, Status: "forceComplete"}}, func(j *tenant.MigrationJob) {
			j.Started, j.Status, j.Message = day(3), "adminActionRequired", "Approve the license."
		}),
		job('a', "wave 10", person(nobody), func(j *tenant.MigrationJob) { j.Started, j.Status = day(3), "failed" }),
		job('9', "wave 9", person(caraID), func(j *tenant.MigrationJob) { j.Status = "unknownFutureValue" }),
	}
}

// ofJob are parameters with the name of a job.
func ofJob(name string, more map[string]any) map[string]any {
	params := map[string]any{"JobName": name}
	maps.Copy(params, more)
	return params
}

// jobRows are of Microsoft's own move with jobs of Graph.
func jobRows() []row {
	noJob := refusal{"a job that does not exist", map[string]any{"JobName": "wave 0"}, "NotFound", "wave 0"}
	badName := refusal{"a name with a slash", map[string]any{"JobName": "wave/1"}, catalog.FailureParameters, "JobName must not have"}
	newJob := map[string]any{
		"JobName": "Wave 1", "SourceTenantId": sourceTenantID, "UserIds": []string{adaID}, "CompleteAfter": "2026-04-02T18:00:00+02:00",
		"SourceEndpoint": "old", "TargetDeliveryDomain": "contoso.example",
	}
	return []row{
		{
			name: "New-CrossTenantMigrationJob", function: "New-CrossTenantMigrationJob", params: newJob,
			refusals: []refusal{
				badName,
				{"mailboxes without an endpoint", map[string]any{"SourceEndpoint": nil}, catalog.FailureParameters, "since mailboxes move"},
				{"an endpoint without mailboxes", map[string]any{"Workloads": "odsp"}, catalog.FailureParameters, "leaves Exchange out"},
				{"a workload that is none", map[string]any{"Workloads": "Planner"}, catalog.FailureParameters, "use Exchange, ODSP"},
				{"a person by name", map[string]any{"UserIds": []string{adaName}}, catalog.FailureParameters, "UserIds: item 1"},
				{"a time without a zone", map[string]any{"CompleteAfter": "2026-04-02 18:00"}, catalog.FailureParameters, "CompleteAfter must be a time"},
				{"a time that has passed", map[string]any{"CompleteAfter": "2026-02-02T18:00:00Z"}, catalog.FailureParameters, "CompleteAfter has passed"},
				{"too many people", map[string]any{"UserIds": strings.Split(strings.Repeat(adaID+",", 2000)+bobID, ",")}, catalog.FailureParameters, "at most 2000"},
			},
		},
		{
			name: "New-CrossTenantMigrationJob-that-exists", function: "New-CrossTenantMigrationJob", seed: withJobs, params: newJob,
			refusals: []refusal{
				{"other people", map[string]any{"UserIds": []string{adaID, bobID}}, catalog.FailureConflict, "differs in: UserIds"},
				{"another source and endpoint", map[string]any{"SourceTenantId": adaID, "SourceEndpoint": "older"}, catalog.FailureConflict, "differs in: SourceTenantId, SourceEndpoint"},
				{"other workloads", map[string]any{"Workloads": []string{"Exchange", "ODSP"}}, catalog.FailureConflict, "differs in: Workloads"},
				{"a job that is cancelled", map[string]any{"JobName": "wave 6"}, catalog.FailureConflict, "exists and is cancelled: remove it"},
				{"a person of another job", map[string]any{"JobName": "another"}, catalog.FailureConflict, "active migration job 'wave 1'"},
			},
		},
		{
			name: "Confirm-CrossTenantMigrationJob", function: "Confirm-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 1", nil),
			refusals: []refusal{
				noJob, badName,
				{"a job that waits for an administrator", map[string]any{"JobName": "wave 8"}, catalog.FailureConflict, "adminActionRequired (Approve the license.)"},
				{"a job with a new status", map[string]any{"JobName": "wave 9"}, catalog.FailureConflict, "unknownFutureValue"},
				{"a job that is cancelled", map[string]any{"JobName": "wave 6"}, catalog.FailureConflict, "is cancelled"},
			},
		},
		{name: "Confirm-CrossTenantMigrationJob-after-a-failure", function: "Confirm-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 5", nil)},
		{name: "Confirm-CrossTenantMigrationJob-that-was-started", function: "Confirm-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 3", nil)},
		{
			name: "Test-CrossTenantMigrationJob", function: "Test-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 4", nil),
			refusals: []refusal{
				noJob, badName,
				{"a job whose validation failed", map[string]any{"JobName": "wave 5"}, catalog.FailureMigration, "is validateFailed, expected completed"},
				{"a job with people who failed", map[string]any{"JobName": "wave 7"}, catalog.FailureMigration, "is completedWithErrors"},
				{"a job that was cancelled", map[string]any{"JobName": "wave 6"}, catalog.FailureMigration, "is cancelled"},
			},
		},
		{
			name: "Test-CrossTenantMigrationJob-after-validation", function: "Test-CrossTenantMigrationJob", seed: withJobs,
			params: ofJob("wave 7", map[string]any{"ExpectedStatus": "ValidatePassed"}),
		},
		{name: "Test-CrossTenantMigrationJob-that-waits-for-an-administrator", function: "Test-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 8", nil)},
		{name: "Test-CrossTenantMigrationJob-with-a-new-status", function: "Test-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 9", nil)},
		{
			name: "Start-CrossTenantMigrationJob", function: "Start-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 2", nil),
			refusals: []refusal{
				noJob,
				{"a job that is not validated", map[string]any{"JobName": "wave 1"}, catalog.FailureConflict, "is submitted, expected validatePassed: validate it with Confirm-CrossTenantMigrationJob"},
				{"a job with a new status", map[string]any{"JobName": "wave 9"}, catalog.FailureConflict, "unknownFutureValue"},
			},
		},
		{name: "Start-CrossTenantMigrationJob-after-a-failure", function: "Start-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 7", nil)},
		{name: "Start-CrossTenantMigrationJob-that-runs", function: "Start-CrossTenantMigrationJob", seed: withJobs, params: ofJob("66666666-0000-4000-8000-000000000003", nil)},
		{
			name: "Set-CrossTenantMigrationJob", function: "Set-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 3", map[string]any{"CompleteAfter": "2026-05-01T18:00:00+02:00"}),
			refusals: []refusal{
				noJob,
				{"a job that has ended", map[string]any{"JobName": "wave 4"}, catalog.FailureConflict, "Current status is completed"},
				{"a time that has passed", map[string]any{"CompleteAfter": "2026-02-02T18:00:00Z"}, catalog.FailureParameters, "CompleteAfter has passed"},
				{"a time that is none", map[string]any{"CompleteAfter": "tomorrow"}, catalog.FailureParameters, "CompleteAfter must be a time"},
			},
		},
		{
			name: "Complete-CrossTenantMigrationJob", function: "Complete-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 3", nil),
			refusals: []refusal{
				noJob, badName,
				{"a job that was not started", map[string]any{"JobName": "wave 2"}, catalog.FailureConflict, "is validatePassed, expected that it copies: start it with Start-CrossTenantMigrationJob"},
				{"a job that is cancelled", map[string]any{"JobName": "wave 6"}, catalog.FailureConflict, "is cancelled, expected that it copies"},
				{"a job that waits for an administrator", map[string]any{"JobName": "wave 8"}, catalog.FailureConflict, "adminActionRequired (Approve the license.)"},
			},
		},
		{name: "Complete-CrossTenantMigrationJob-whose-time-has-come", function: "Complete-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 4", nil)},
		{
			name: "Stop-CrossTenantMigrationJob", function: "Stop-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 3", nil),
			refusals: []refusal{
				{"a job that is completed", map[string]any{"JobName": "wave 4"}, catalog.FailureConflict, "data is in the target"},
				{"a job that failed", map[string]any{"JobName": "wave 10"}, catalog.FailureConflict, "is failed, and would move people if the job is started again"},
			},
		},
		{name: "Stop-CrossTenantMigrationJob-that-does-not-exist", function: "Stop-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 0", nil)},
		{
			name: "Remove-CrossTenantMigrationJob", function: "Remove-CrossTenantMigrationJob", seed: withJobs, params: ofJob("wave 4", nil),
			refusals: []refusal{{"a job that runs", map[string]any{"JobName": "wave 3"}, catalog.FailureConflict, "must be in final state"}},
		},
		{
			name: "Test-CrossTenantMigrationUser", function: "Test-CrossTenantMigrationUser", seed: withJobs, params: ofJob("wave 3", map[string]any{"UserId": caraID}),
			refusals: []refusal{
				noJob, unknownTask,
				{"a person who failed", map[string]any{"UserId": eveID}, catalog.FailureMigration, "ODSP is failed: MigrationError: Guests cannot be moved.; Teams is failed"},
				{"a person who failed validation", map[string]any{"JobName": "wave 5", "UserId": bobID}, catalog.FailureMigration, "ODSP is invalid: MigrationError: The user was not there."},
				{"a job that was cancelled", map[string]any{"JobName": "wave 6", "UserId": bobID}, catalog.FailureMigration, "ODSP is cancelled: Graph gives no reason"},
				{"a workload that is none", map[string]any{"Workloads": "Mail"}, catalog.FailureParameters, "use Exchange, ODSP"},
			},
		},
		{
			name: "Test-CrossTenantMigrationUser-that-waits", function: "Test-CrossTenantMigrationUser", seed: withJobs,
			params: ofJob("wave 3", map[string]any{"UserId": caraID, "ExpectedStatus": "completed", "Workloads": []string{"odsp", "Exchange"}}),
		},
		{
			name: "Test-CrossTenantMigrationUser-with-a-status-that-no-page-explains", function: "Test-CrossTenantMigrationUser", seed: withJobs,
			params: ofJob("wave 8", map[string]any{"UserId": caraID}),
		},
		{
			name: "Stop-CrossTenantMigrationUser", function: "Stop-CrossTenantMigrationUser", seed: withJobs, params: ofJob("wave 3", map[string]any{"UserId": caraID}),
			refusals: []refusal{
				{"a person who was moved", map[string]any{"JobName": "wave 4", "UserId": syncID}, catalog.FailureConflict, "data is in the target"},
				noJob,
				{"a person who failed", map[string]any{"UserId": eveID}, catalog.FailureConflict, "ODSP is failed, Teams is failed, and would move if the job is started again"},
			},
		},
		{name: "Stop-CrossTenantMigrationUser-who-failed-validation", function: "Stop-CrossTenantMigrationUser", seed: withJobs, params: ofJob("wave 5", map[string]any{"UserId": bobID})},
		{name: "Stop-CrossTenantMigrationUser-who-is-not-in-it", function: "Stop-CrossTenantMigrationUser", seed: withJobs, params: ofJob("wave 3", map[string]any{"UserId": nobody})},
	}
}

var unknownTask = refusal{"a person who is not in the job", map[string]any{"UserId": nobody}, "NotFound", nobody}

// A job from its creation to its end, with a person who cannot be moved at first.
func TestAMigrationJob(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: func(s *tenant.Seed) { s.Recipients[0].ExchangeGUID = exchangeGUID }}, func(c *tenant.Config) { c.MoveDelay = time.Hour })
	expect := func(function string, params map[string]any, says string) {
		t.Helper()
		answer, err := w.call(t.Context(), function, params, false)
		if err != nil {
			answer = err.Error()
		}
		if !strings.Contains(answer, says) {
			t.Errorf("%s: got %s, want %q", function, answer, says)
		}
	}
	is := func(id, status, says string) {
		t.Helper()
		expect("Test-CrossTenantMigrationUser", ofJob("wave 1", map[string]any{"UserId": id, "ExpectedStatus": status}), says)
	}
	pass := func(d time.Duration) { _ = w.clock.sleep(t.Context(), d) }
	create := step{"New-CrossTenantMigrationJob", ofJob("wave 1", map[string]any{
		"SourceTenantId": sourceTenantID, "UserIds": []string{adaID, bobID}, "CompleteAfter": "2026-03-20T18:00:00Z",
		"SourceEndpoint": "old", "TargetDeliveryDomain": "contoso.example",
	})}
	confirm := step{"Confirm-CrossTenantMigrationJob", ofJob("wave 1", nil)}
	begin := step{"Start-CrossTenantMigrationJob", ofJob("wave 1", nil)}
	passed := ofJob("wave 1", map[string]any{"ExpectedStatus": "validatePassed"})
	w.does(create, confirm)
	expect("Test-CrossTenantMigrationJob", passed, "is validateInProgress, expected validatePassed")
	expect(begin.function, begin.params, "is validateInProgress, expected validatePassed")
	pass(2 * time.Hour)
	expect("Test-CrossTenantMigrationJob", passed, "is validateFailed, expected validatePassed")
	is(bobID, "valid", "Exchange is invalid: MigrationError: The user is not a mail user")
	is(adaID, "valid", `"complete":true`)
	w.does(step{"Stop-CrossTenantMigrationJob", ofJob("wave 1", nil)})
	expect(create.function, create.params, "is cancelled: remove it with Remove-CrossTenantMigrationJob")
	w.does(step{"Remove-CrossTenantMigrationJob", ofJob("wave 1", nil)})

	create.params["UserIds"] = []string{adaID}
	w.does(create, confirm)
	pass(2 * time.Hour)
	expect("Test-CrossTenantMigrationJob", passed, `"complete":true`)
	pass(8 * 24 * time.Hour)
	expect(begin.function, begin.params, "create it again: Conflict: Migration can't be started because the validation is older than seven days")
	w.began = w.clock.Now()
	w.does(confirm)
	pass(2 * time.Hour)
	w.does(begin)
	is(adaID, "synced", "Exchange is syncing, ODSP is valid")
	pass(2 * time.Hour)
	is(adaID, "synced", "ODSP is valid, Teams is valid") // they follow the mailbox
	expect("Test-CrossTenantMigrationUser", ofJob("wave 1", map[string]any{"UserId": adaID, "Workloads": "Exchange"}), `"complete":true`)
	w.does(step{"Set-CrossTenantMigrationJob", ofJob("wave 1", map[string]any{"CompleteAfter": "2026-03-25T18:00:00Z"})})
	pass(11 * 24 * time.Hour)
	is(adaID, "completed", "Exchange is synced")
	pass(5*24*time.Hour + 5*time.Hour)
	is(adaID, "completed", `"complete":true`)
	expect("Test-CrossTenantMigrationJob", ofJob("wave 1", nil), `"complete":true`)
	expect("Stop-CrossTenantMigrationUser", ofJob("wave 1", map[string]any{"UserId": adaID}), "data is in the target")
	w.does(step{"Remove-CrossTenantMigrationJob", ofJob("wave 1", nil)})
	_, err := w.call(t.Context(), "Test-CrossTenantMigrationJob", ofJob("wave 1", nil), false)
	var f *catalog.Failure
	if !errors.As(err, &f) || !f.NotFound {
		t.Errorf("got %v, want a job that does not exist", err)
	}
}

// A job that failed at once was started by the first delivery of its step: the second does not start it again.
func TestAJobThatFailedIsStartedOnceByAStep(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: withJobs}, nil)
	begin := step{"Start-CrossTenantMigrationJob", ofJob("wave 7", nil)}
	w.does(begin)
	started := w.tenant.State().Jobs
	_ = w.clock.sleep(t.Context(), 60*24*time.Hour)
	if answer, err := w.call(t.Context(), begin.function, begin.params, true); err != nil || answer != "true" {
		t.Errorf("got %s, %v", answer, err)
	}
	if now := w.tenant.State().Jobs; !now[6].Started.Equal(started[6].Started) {
		t.Errorf("started at %s and again at %s", started[6].Started, now[6].Started)
	}
}

// A step that comes again does not act on an object that was created since under the same name.
func TestLeavesSuccessorsAlone(t *testing.T) {
	t.Parallel()
	wave := ofJob("wave 1", nil)
	job := step{"New-CrossTenantMigrationJob", ofJob("wave 1", map[string]any{
		"SourceTenantId": sourceTenantID, "UserIds": []string{adaID}, "CompleteAfter": "2026-03-20T18:00:00Z", "Workloads": "ODSP",
	})}
	batch := map[string]any{"BatchName": "wave 1"}
	for _, tc := range []struct {
		create, again step
		refusal       string
	}{
		{job, step{"Stop-CrossTenantMigrationJob", wave}, ""},
		{job, step{"Remove-CrossTenantMigrationJob", wave}, ""},
		{job, step{"Stop-CrossTenantMigrationUser", ofJob("wave 1", map[string]any{"UserId": adaID})}, ""},
		{
			step{"New-ExchangeMigrationBatch", map[string]any{
				"BatchName": "wave 1", "SourceEndpoint": "source", "TargetDeliveryDomain": "contoso.example", "EmailAddresses": []string{"ada@contoso.example"},
			}}, step{"Remove-ExchangeMigrationBatch", batch}, "",
		},
		{step{"New-SharePointMigrationTask", move(nil)}, step{"Stop-SharePointMigrationTask", map[string]any{"Kind": "OneDrive", "Source": adaName}}, "changed since the job was sent"},
	} {
		t.Run(tc.again.function, func(t *testing.T) {
			t.Parallel()
			w := start(t, row{seed: withFiles}, func(c *tenant.Config) { c.MoveDelay = time.Hour })
			_ = w.clock.sleep(t.Context(), time.Minute)
			w.does(tc.create)
			before := w.state()
			_, err := w.call(t.Context(), tc.again.function, tc.again.params, true)
			if (err == nil) != (tc.refusal == "") || err != nil && !strings.Contains(err.Error(), tc.refusal) {
				t.Errorf("got %v, want %q", err, tc.refusal)
			}
			if d := difference(before, w.state()); len(d) > 0 {
				t.Errorf("it was changed:\n%s", strings.Join(d, "\n"))
			}
		})
	}
}

// A step that comes again does not undo a postponement.
func TestKeepsAPostponement(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: withJobs}, nil)
	at := func(day string) map[string]any {
		return ofJob("wave 3", map[string]any{"CompleteAfter": "2026-05-" + day + "T18:00:00Z"})
	}
	w.does(step{"Set-CrossTenantMigrationJob", at("01")}, step{"Set-CrossTenantMigrationJob", at("09")})
	if answer, err := w.call(t.Context(), "Set-CrossTenantMigrationJob", at("09"), true); err != nil {
		t.Errorf("got %s, %v", answer, err)
	}
	answer, err := w.call(t.Context(), "Set-CrossTenantMigrationJob", at("01"), true)
	if err == nil || !strings.Contains(err.Error(), "was changed since the step was sent, and CompleteAfter is 2026-05-09T18:00:00Z") {
		t.Errorf("got %s, %v", answer, err)
	}
}

// A step that comes again does not undo a postponement, also if it was to cut people over.
func TestCutsNobodyOverAfterAPostponement(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: withJobs}, nil)
	w.does(step{"Set-CrossTenantMigrationJob", ofJob("wave 3", map[string]any{"CompleteAfter": "2026-05-01T18:00:00Z"})})
	answer, err := w.call(t.Context(), "Complete-CrossTenantMigrationJob", ofJob("wave 3", nil), true)
	if err == nil || !strings.Contains(err.Error(), "CompleteAfter is 2026-05-01T18:00:00Z, which was changed since the step was sent") {
		t.Errorf("got %s, %v", answer, err)
	}
	if at := w.tenant.State().Jobs[2].CompleteAfter; at.Month() != time.May {
		t.Errorf("people are cut over at %s", at)
	}
}

// A request that takes longer than the time lies ahead is refused, and made again with another time.
func TestCutsPeopleOverInSpiteOfSlowRequests(t *testing.T) {
	t.Parallel()
	for slow, want := range map[int]string{1: "", 2: "", 9: "compare the clock of the worker"} {
		w := start(t, row{seed: withJobs}, nil)
		left := slow
		w.interrupt(func(_ int, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			if r.Method == http.MethodPatch && left > 0 {
				left--
				_ = w.clock.sleep(r.Context(), 6*time.Second)
			}
			return send()
		})
		answer, err := w.call(t.Context(), "Complete-CrossTenantMigrationJob", ofJob("wave 3", nil), false)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d slow requests: got %s, %v", slow, answer, err)
		}
		if err != nil && left != 9-3 {
			t.Errorf("%d requests were made, want 3", 9-left)
		}
	}
}

// answering changes the JSON of answers to GET.
func (w *world) answering(change func(body map[string]any) map[string]any) {
	w.interrupt(func(_ int, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		response, err := send()
		if err != nil || r.Method != http.MethodGet || response.StatusCode != http.StatusOK {
			return response, err
		}
		var body map[string]any
		if err := errors.Join(json.NewDecoder(response.Body).Decode(&body), response.Body.Close()); err != nil {
			return nil, err
		}
		raw, err := json.Marshal(change(body))
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
		response.Header.Del("Content-Length")
		return response, err
	})
}

// An answer without some properties, and in a property value as in an example of a page, is of the same job.
func TestTakesSparseAnswersForAMigrationJob(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: withJobs}, nil)
	w.answering(func(job map[string]any) map[string]any {
		for _, name := range []string{"sourceTenantId", "resources", "workloads"} {
			delete(job, name)
		}
		job["exchangeSettings"] = map[string]any{}
		return map[string]any{"value": job}
	})
	w.does(step{"New-CrossTenantMigrationJob", ofJob("wave 2", map[string]any{
		"SourceTenantId": sourceTenantID, "UserIds": []string{bobID}, "CompleteAfter": "2026-04-20T18:00:00Z", "SourceEndpoint": "old", "TargetDeliveryDomain": "contoso.example",
	})})
}

// A person is not complete while a workload of the job has no status, or is only in progress.
func TestWaitsForEachWorkload(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: withJobs}, nil)
	status := "synced"
	w.answering(func(body map[string]any) map[string]any {
		if list, is := body["currentStatus"].([]any); is {
			list[0].(map[string]any)["status"] = status
			body["currentStatus"] = list[:1]
		}
		return body
	})
	for _, tc := range []struct{ status, expected, says string }{
		{"synced", "synced", "Teams has no status, expected synced"},
		{"inProgress", "valid", "ODSP is inProgress, Teams has no status, expected valid"},
	} {
		status = tc.status
		answer, err := w.call(t.Context(), "Test-CrossTenantMigrationUser", ofJob("wave 3", map[string]any{"UserId": caraID, "ExpectedStatus": tc.expected}), false)
		if err != nil || !strings.Contains(answer, tc.says) {
			t.Errorf("got %s, %v; want %q", answer, err, tc.says)
		}
	}
}

// Graph refuses a name that only it knows to be taken, and the deletion of a job that has not ended: the functions say what
// to do.
func TestRefusalsOfMigrationJobsSayWhatToDo(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: func(s *tenant.Seed) {
		withJobs(s)
		s.MigrationJobs[5].Cancelled, s.MigrationJobs[5].Status = false, "deleted"
	}}, nil)
	w.refuses(step{"New-CrossTenantMigrationJob", ofJob("wave 6", map[string]any{
		"SourceTenantId": sourceTenantID, "UserIds": []string{nobody}, "CompleteAfter": "2026-04-20T18:00:00Z", "Workloads": "ODSP",
	})}, "give another JobName (BadArgument: Error in displayName data field. duplicateDisplayNameJob")
	w.refuses(step{"Remove-CrossTenantMigrationJob", ofJob("wave 5", nil)}, "cancel it with Stop-CrossTenantMigrationJob, or wait until it has ended (Conflict: Cross Tenant Migration Job")
	w.does(step{"Stop-CrossTenantMigrationJob", ofJob("wave 5", nil)}, step{"Remove-CrossTenantMigrationJob", ofJob("wave 5", nil)})
}
