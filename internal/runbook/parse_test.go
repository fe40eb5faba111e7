package runbook

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func example(t *testing.T) *Runbook {
	t.Helper()
	src, err := os.ReadFile("testdata/contoso-mailbox-migration.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rb, found := Parse(src)
	if len(found) != 0 {
		t.Fatalf("the example has findings:\n%v", found)
	}
	return rb
}

func TestParseReadsTheWholeExample(t *testing.T) {
	t.Parallel()
	alert := func(name, subject string) Step {
		return Step{Name: name, WorkerID: "worker-01", Function: "Send-AdminAlert", Params: map[string]any{"Subject": subject}, Timeout: DefaultTimeout}
	}
	want := &Runbook{
		Name:        "contoso-mailbox-migration",
		Description: "Moves the mailboxes of Contoso into the target tenant.",
		DataSource: DataSource{
			Type: SourceDataverse, Connection: "DATAVERSE_CONNECTION",
			Query: "SELECT UserPrincipalName, FirstName, LastName, Department, GroupId, CutoverTime, ProxyAddresses\n" +
				"FROM crm_migrationusers\nWHERE wave IS NOT NULL\n",
			PrimaryKey: "UserPrincipalName", BatchTimeColumn: "CutoverTime",
			Timeout: DefaultQueryTimeout, RemovalGuard: DefaultRemovalGuard, AdditionGuard: DefaultAdditionGuard,
			MultiValued: []MultiValued{{"ProxyAddresses", FormatSemicolonDelimited}},
		},
		Retry: &Retry{MaxRetries: 2, Interval: time.Minute},
		Init: []Step{{
			Name: "create-batch-group", WorkerID: "worker-01", Function: "New-MigrationBatchGroup",
			Params:    map[string]any{"BatchId": "{{_batch_id}}", "StartTime": "{{_batch_start_time}}"},
			OnFailure: "tell-admins", Timeout: DefaultTimeout,
		}},
		Phases: []Phase{
			{Name: "pre-stage", Offset: 7200, Steps: []Step{
				{
					Name: "create-user", WorkerID: "worker-01", Function: "New-{{ObjectType}}",
					Params: map[string]any{
						"DisplayName": "{{FirstName}} {{LastName}}", "UserPrincipalName": "{{UserPrincipalName}}",
						"Attributes": map[string]any{
							"Department": "{{Department}}", "ProxyAddresses": "{{ProxyAddresses}}",
							"AccountEnabled": false, "UsageLimitBytes": json.Number("9007199254740992"),
						},
					},
					OutputParams: map[string]string{"UserId": "Id"}, Timeout: 10 * time.Minute,
				},
				{
					Name: "join-group", WorkerID: "worker-01", Function: "Add-EntraGroupMember",
					Params: map[string]any{"GroupId": "{{GroupId}}", "UserId": "{{UserId}}"},
					Retry: &Retry{
						MaxRetries: 5, Interval: 30 * time.Second,
						Backoff: BackoffExponential, MaxInterval: 10 * time.Minute, Jitter: 20,
					},
					Timeout: DefaultTimeout,
				},
			}},
			{Name: "copy-mail", Offset: 240, Steps: []Step{{
				Name: "start-copy", WorkerID: "worker-02", Function: "Start-MailboxMove",
				Params:    map[string]any{"UserId": "{{UserId}}", "Note": "{{{{batch {{_batch_id}}}}}}"},
				OnFailure: "undo-mailbox-move", Poll: &Poll{15 * time.Minute, 24 * time.Hour}, Timeout: DefaultTimeout,
			}}, OnComplete: []Step{
				{
					Name: "list-copied", WorkerID: "worker-02", Function: "New-MoveReport",
					Params:       map[string]any{"BatchId": "{{_batch_id}}"},
					OutputParams: map[string]string{"ReportId": "Id"}, OnFailure: "drop-report", Timeout: DefaultTimeout,
				},
				{
					Name: "tell-of-copies", WorkerID: "worker-01", Function: "Send-AdminAlert",
					Params:    map[string]any{"Subject": "{{_phase_succeeded}} of {{_phase_members}} mailboxes are copied; report {{ReportId}}"},
					OnFailure: "drop-report-and-say-so", Timeout: DefaultTimeout,
				},
			}},
			{Name: "cut-over", Approval: true, RequireSuccess: 97.5, Steps: []Step{{
				Name: "complete-move", WorkerID: "worker-02", Function: "Complete-MailboxMove",
				Params:    map[string]any{"UserId": "{{UserId}}"},
				OnFailure: "undo-mailbox-move", Retry: &Retry{}, Timeout: DefaultTimeout,
			}}},
		},
		OnMemberRemoved: []Step{{
			Name: "disable-forwarding", WorkerID: "worker-01", Function: "Remove-MailForwarding",
			Params: map[string]any{"UserPrincipalName": "{{UserPrincipalName}}"}, Timeout: DefaultTimeout,
		}},
		Rollbacks: map[string][]Step{
			"undo-mailbox-move": {
				{
					Name: "revert-mailbox", WorkerID: "worker-02", Function: "Undo-MailboxMove",
					Params: map[string]any{"UserId": "{{UserId}}"}, Timeout: DefaultTimeout,
				},
				alert("notify-admin", "Rollback triggered for {{UserPrincipalName}}"),
			},
			"drop-report": {{
				Name: "drop", WorkerID: "worker-02", Function: "Remove-MoveReport",
				Params: map[string]any{"BatchId": "{{_batch_id}}"}, Timeout: DefaultTimeout,
			}},
			"drop-report-and-say-so": {{
				Name: "drop", WorkerID: "worker-02", Function: "Remove-MoveReport",
				Params: map[string]any{"ReportId": "{{ReportId}}", "Failed": "{{_phase_failed}}"}, Timeout: DefaultTimeout,
			}},
			"tell-admins": {alert("notify-admin", "Init of batch {{_batch_id}} failed")},
		},
	}
	if got := example(t); !reflect.DeepEqual(got, want) {
		t.Errorf("Parse =\n%+v\nwant\n%+v", got, want)
	}
}

func TestColumnsAreWhatAMemberMustBring(t *testing.T) {
	t.Parallel()
	want := []string{"Department", "FirstName", "GroupId", "LastName", "ObjectType", "ProxyAddresses", "UserPrincipalName"}
	if got := example(t).Columns(); !reflect.DeepEqual(got, want) {
		t.Errorf("Columns = %v; want %v", got, want)
	}
}

func TestStepRetryReplacesTheRunbooks(t *testing.T) {
	t.Parallel()
	rb := example(t)
	if got := rb.EffectiveRetry(rb.Phases[0].Steps[0]); got != (Retry{MaxRetries: 2, Interval: time.Minute}) {
		t.Errorf("without its own: %v", got)
	}
	if got := rb.EffectiveRetry(rb.Phases[2].Steps[0]); got != (Retry{}) {
		t.Errorf("max_retries 0: %v", got)
	}
	if got := (&Runbook{}).EffectiveRetry(Step{}); got != (Retry{}) {
		t.Errorf("none at all: %v", got)
	}
}

func TestPhaseByName(t *testing.T) {
	t.Parallel()
	rb := example(t)
	if ph, ok := rb.Phase("copy-mail"); !ok || ph.Offset.Minutes() != 240 {
		t.Errorf("copy-mail = %+v, %v", ph, ok)
	}
	if _, ok := rb.Phase("Copy-Mail"); ok {
		t.Error("Copy-Mail was found; names match exactly")
	}
}

func TestOversizeIsRefused(t *testing.T) {
	t.Parallel()
	step := "{name: s%d, worker_id: w, function: F}"
	for name, test := range map[string]struct {
		src  string
		code string
	}{
		"file": {"# " + strings.Repeat("x", MaxBytes), CodeTooLarge},
		"phases": {"name: n\ndata_source: {type: csv, primary_key: K}\nphases:\n" +
			repeat(MaxPhases+1, "  - {name: p%d, offset: T-0, steps: ["+fmt.Sprintf(step, 1)+"]}\n"), CodeTooLarge},
		"steps": {"name: n\ndata_source: {type: csv, primary_key: K}\nphases:\n  - name: p\n    offset: T-0\n    steps:\n" +
			repeat(MaxSteps+1, "      - "+step+"\n"), CodeTooLarge},
		"workers": {"name: n\ndata_source: {type: csv, primary_key: K}\nphases:\n  - name: p\n    offset: T-0\n    steps:\n" +
			repeat(maxWorkers+1, "      - {name: s%d, worker_id: w%[1]d, function: F}\n"), CodeTooLarge},
		"findings": {repeat(maxDiagnostics+50, "field%d: x\n"), CodeTooMany},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rb, found := Parse([]byte(test.src))
			if rb != nil || !hasCode(found, test.code) || len(found) > maxDiagnostics+1 {
				t.Errorf("runbook %v, %d findings, the first:\n%v", rb, len(found), found[:min(len(found), 3)])
			}
		})
	}
}

func TestLargestRunbookIsAccepted(t *testing.T) {
	t.Parallel()
	src := "name: n\ndata_source: {type: csv, primary_key: K}\nphases:\n  - name: p\n    offset: T-0\n    steps:\n" +
		repeat(MaxSteps, "      - {name: s%d, worker_id: w, function: F}\n") +
		repeat(MaxPhases-1, "  - {name: p%d, offset: T-0, steps: [{name: s, worker_id: w, function: F}]}\n")
	rb, found := Parse([]byte(src))
	if len(found) != 0 || len(rb.Phases) != MaxPhases || len(rb.Phases[0].Steps) != MaxSteps {
		t.Errorf("findings: %v", found)
	}
}

// Aliases let a small file stand for a large one. Without their limit these would
// take minutes and gigabytes.
func TestAliasesCostNoMoreThanTheirLimit(t *testing.T) {
	t.Parallel()
	head := "name: n\ndata_source: {type: csv, primary_key: K}\nphases:\n"
	steps := "    steps: &s\n" + repeat(MaxSteps, "      - {name: s%d, worker_id: w, function: F, on_failure: r, output_params: {V%[1]d: Id}, params: {a: \"{{V0}}\"}}\n")
	for name, src := range map[string]string{
		"long text": head + "  - name: &t " + strings.Repeat("x", MaxBytes/2) + "\n    offset: T-0\n    steps:\n      - {name: s, worker_id: w, function: F, params: {l: [" +
			strings.Repeat("*t, ", MaxBytes/10) + "]}}\n",
		"steps":    head + "  - name: p\n    offset: T-0\n" + steps + repeat(MaxPhases-1, "  - {name: p%d, offset: T-0, steps: *s}\n"),
		"findings": head + "  - name: p\n    offset: T-0\n    steps: &s\n" + repeat(MaxSteps, "      - {nam: s%d}\n") + repeat(MaxPhases-1, "  - {name: p%d, offset: T-0, steps: *s}\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if rb, _ := Parse([]byte(src)); rb != nil {
				t.Error("was accepted")
			}
		})
	}
}

// What looks like a secret must not come back in a message.
func TestSecretsAreNotQuoted(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"Server=x;Password=hunter2", "AccountKey=hunter2==", "https://u:hunter2@host/", "hunter2@host",
		"hunter2 with spaces", "eyJhunter2", "hunter2" + strings.Repeat("a", 64),
	} {
		src := fmt.Sprintf("name: n\ndata_source: {type: sql, primary_key: K, query: q, batch_time: immediate, connection: %q}\nphases:\n  - {name: p, offset: T-0, steps: [{name: s, worker_id: w, function: F}]}\n", secret)
		rb, found := Parse([]byte(src))
		if rb != nil || len(found) != 1 || strings.Contains(found[0].String(), "hunter2") {
			t.Errorf("connection %q: %v", secret, found)
		}
	}
}

func TestErrListsErrorsOnly(t *testing.T) {
	t.Parallel()
	found := Diagnostics{
		{Severity: SeverityWarning, Code: CodePhaseOrder, Message: "late", Path: "phases[0]", Line: 1, Column: 2},
		{Severity: SeverityError, Code: CodeSyntax, Message: "bad", Line: 3, Column: 4},
	}
	if err := found.Err(); err == nil || err.Error() != "3:4: error: bad [syntax]" {
		t.Errorf("Err = %v", err)
	}
	if err := found[:1].Err(); err != nil {
		t.Errorf("Err of a warning = %v", err)
	}
}

func repeat(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func hasCode(found Diagnostics, code string) bool {
	for _, d := range found {
		if d.Code == code {
			return true
		}
	}
	return false
}
