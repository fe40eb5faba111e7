package matrix_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

const (
	adaName    = "ada@contoso.example"
	targetHost = "https://fabrikam-my.sharepoint.com"
)

// withFiles gives Ada and Bob a OneDrive, and has tasks: one of Bob that waits, and others that have ended.
func withFiles(s *tenant.Seed) {
	s.Users[0]["mySite"] = "https://contoso-my.sharepoint.com/personal/ada_contoso_example/"
	s.Users[1]["mySite"] = "https://contoso-my.sharepoint.com/personal/bob_contoso_example/"
	s.ContentTasks = []tenant.ContentTask{
		{
			ID: "55555555-0000-4000-8000-000000000001", Source: "onedrive bob@contoso.example", StartAfter: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC),
			Parameters: map[string]any{
				"targetOrganizationHost": targetHost, "sourceUserIdentity": map[string]any{"userPrincipalName": "bob@contoso.example"},
				"targetUserIdentity": map[string]any{"userPrincipalName": "bob@fabrikam.example"},
			},
		},
		{ID: "55555555-0000-4000-8000-000000000002", Source: "site https://contoso.sharepoint.com/sites/it", Parameters: map[string]any{
			"sourceSiteUrl": "https://contoso.sharepoint.com/sites/IT", "targetSiteUrl": "https://fabrikam.sharepoint.com/sites/IT",
		}},
		{ID: "55555555-0000-4000-8000-000000000003", Source: "group pilots", Error: "Identity map entry for source does not exist on the target tenant.", Parameters: map[string]any{}},
		{ID: "55555555-0000-4000-8000-000000000004", Source: "site https://contoso.sharepoint.com/sites/hr", Cancelled: true, Parameters: map[string]any{}},
	}
}

// move are the parameters of a move of Ada's files, with changes.
func move(change map[string]any) map[string]any {
	params := map[string]any{"Kind": "OneDrive", "Source": adaName, "Target": "ada@fabrikam.example", "TargetHost": targetHost}
	for name, value := range change {
		params[name] = value
	}
	return params
}

// A validation that was taken is no validation that has passed.
func TestAValidationIsReadyOnceItIsCompleted(t *testing.T) {
	t.Parallel()
	for note, tc := range map[string]struct {
		status, body, want string
	}{
		"completed":      {"200 OK", `{"status":"completed"}`, `"complete":true`},
		"a success":      {"200 OK", `{"status":"success"}`, `"Ready":true`},
		"failed":         {"200 OK", `{"status":"failed","error":{"code":"x","message":"no relationship"}}`, "the validation is failed: x: no relationship"},
		"not started":    {"201 Created", `{"status":"notStarted"}`, "the validation is notStarted"},
		"without status": {"200 OK", `{"parameters":{}}`, "without a status"},
	} {
		w := start(t, row{seed: withFiles}, nil)
		w.interrupt(func(_ int, r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
			status, _ := strconv.Atoi(tc.status[:3])
			return &http.Response{
				Status: tc.status, StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
				Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(tc.body)),
			}, nil
		})
		answer, err := w.call(t.Context(), "Test-SharePointMigrationReady", move(nil), false)
		if err != nil || !strings.Contains(answer, tc.want) || strings.Contains(answer, `"complete":true`) != strings.Contains(tc.want, "true") {
			t.Errorf("%s: got %s, %v, want %s", note, answer, err, tc.want)
		}
	}
}

// contentRows are of moves of OneDrive and SharePoint content.
func contentRows() []row {
	noName := refusal{"a user by id", map[string]any{"Source": adaID}, catalog.FailureParameters, "Source must be a sign-in name"}
	noHost := refusal{"a host that is none", map[string]any{"TargetHost": "fabrikam-my.sharepoint.com"}, catalog.FailureParameters, "TargetHost must be the URL of a host"}
	itSite := map[string]any{"Kind": "site", "Source": "https://contoso.sharepoint.com/sites/IT"}
	return []row{
		{
			name: "Test-SharePointMigrationReady", function: "Test-SharePointMigrationReady", seed: withFiles, params: move(nil),
			refusals: []refusal{noName, noHost, {"a kind that is none", map[string]any{"Kind": "Team"}, catalog.FailureParameters, "Kind must be"}},
		},
		{
			name: "Test-SharePointMigrationReady-without-a-OneDrive", function: "Test-SharePointMigrationReady", params: move(nil),
			permissions: []string{"SharePointCrossTenantMigration.Manage.All"},
		},
		{
			name: "New-SharePointMigrationTask", function: "New-SharePointMigrationTask", seed: withFiles,
			params: move(map[string]any{"StartAfter": "2026-03-01T18:00:00Z", "StartBefore": "2026-03-02T18:00:00+01:00"}),
			refusals: []refusal{
				noName, noHost,
				{"a user without a OneDrive", map[string]any{"Source": "cara@contoso.example"}, "UnprocessableEntity", "Unable to get a OneDrive URL"},
				{"another target", map[string]any{"Source": "bob@contoso.example"}, catalog.FailureConflict, "there is a task of bob@contoso.example to bob@fabrikam.example, in status notStarted"},
				{"a time without a zone", map[string]any{"StartAfter": "2026-03-01"}, catalog.FailureParameters, "StartAfter must be a time with a zone"},
				{"an end before the start", map[string]any{"StartBefore": "2026-03-01T17:00:00Z"}, catalog.FailureParameters, "StartBefore must be later"},
				{"a user in another tenant without a name", map[string]any{"Target": "ada"}, catalog.FailureParameters, "Target must be a sign-in name"},
			},
		},
		{
			name: "New-SharePointMigrationTask-that-exists", function: "New-SharePointMigrationTask", seed: withFiles,
			params: move(map[string]any{"Source": "Bob@contoso.example", "Target": "bob@fabrikam.example", "TargetHost": targetHost + "/"}),
		},
		{
			name: "New-SharePointMigrationTask-of-a-site-after-a-cancellation", function: "New-SharePointMigrationTask", seed: withFiles,
			params: move(map[string]any{"Kind": "Site", "Source": "https://contoso.sharepoint.com/sites/HR", "Target": "https://fabrikam.sharepoint.com/sites/HR"}),
			refusals: []refusal{
				{"a site without a host", map[string]any{"Source": "/sites/HR"}, catalog.FailureParameters, "https URL of a site"},
			},
		},
		{
			name: "New-SharePointMigrationTask-of-a-group-after-a-failure", function: "New-SharePointMigrationTask", seed: withFiles,
			params: move(map[string]any{"Kind": "Group", "Source": "pilots", "Target": "pilots"}),
			refusals: []refusal{
				{"a group by its address", map[string]any{"Source": "pilots@contoso.example"}, catalog.FailureParameters, "mail nickname"},
				{"a group that does not exist", map[string]any{"Source": "others"}, "UnprocessableEntity", "source group others"},
			},
		},
		{
			name: "Test-SharePointMigrationTask", function: "Test-SharePointMigrationTask", seed: withFiles, params: itSite,
			refusals: []refusal{
				{"a source without a task", map[string]any{"Source": "https://contoso.sharepoint.com/sites/other"}, "itemNotFound", "couldn't be found"},
				{"a move that failed", map[string]any{"Kind": "Group", "Source": "pilots"}, catalog.FailureMigration, "is failed, expected completed: migrationFailed: Identity map entry"},
				{"a move that was cancelled", map[string]any{"Source": "https://contoso.sharepoint.com/sites/HR"}, catalog.FailureMigration, "is cancelled, expected completed"},
			},
		},
		{
			name: "Test-SharePointMigrationTask-that-waits", function: "Test-SharePointMigrationTask", seed: withFiles,
			params: map[string]any{"Kind": "OneDrive", "Source": "bob@contoso.example", "ExpectedStatus": "InProgress"},
		},
		{
			name: "Stop-SharePointMigrationTask", function: "Stop-SharePointMigrationTask", seed: withFiles, params: map[string]any{"Kind": "OneDrive", "Source": "bob@contoso.example"},
			refusals: []refusal{{"a move that is completed", itSite, catalog.FailureConflict, "the content is in the target"}},
		},
		{name: "Stop-SharePointMigrationTask-that-does-not-exist", function: "Stop-SharePointMigrationTask", params: map[string]any{"Kind": "OneDrive", "Source": "o'hara@contoso.example"}},
		{
			name: "Test-SharePointOneDrive", function: "Test-SharePointOneDrive", seed: withFiles, params: map[string]any{"UserId": adaName},
			refusals: []refusal{unknownUser},
		},
		{name: "Test-SharePointOneDrive-that-should-not-exist", function: "Test-SharePointOneDrive", seed: withFiles, params: map[string]any{"UserId": adaID, "ExpectedExists": false}},
		{name: "Test-SharePointOneDrive-that-does-not-exist", function: "Test-SharePointOneDrive", params: map[string]any{"UserId": adaID}},
	}
}

// Files move once SharePoint begins, which nobody can stop then. A task that was cancelled is not started again by an old job.
func TestAMoveOfFiles(t *testing.T) {
	t.Parallel()
	w := start(t, row{seed: withFiles}, func(c *tenant.Config) { c.MoveDelay, c.Lag = time.Hour, 10*time.Second })
	source := map[string]any{"Kind": "OneDrive", "Source": adaName}
	expect := func(status, says string) {
		t.Helper()
		answer, err := w.call(t.Context(), "Test-SharePointMigrationTask", map[string]any{"Kind": "OneDrive", "Source": adaName, "ExpectedStatus": status}, false)
		if err != nil {
			answer = err.Error()
		}
		if !strings.Contains(answer, says) {
			t.Errorf("got %s, want %q", answer, says)
		}
	}
	refused := func(function string, params map[string]any, again bool, says string) {
		t.Helper()
		if answer, err := w.call(t.Context(), function, params, again); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %s, %v; want %q", function, answer, err, says)
		}
	}
	w.does(step{"New-SharePointMigrationTask", move(nil)}, step{"Stop-SharePointMigrationTask", source})
	expect("completed", "is cancelled")
	refused("New-SharePointMigrationTask", move(nil), true, "is cancelled since the job was sent")
	w.does(step{"New-SharePointMigrationTask", move(nil)})
	expect("inProgress", "is notStarted, expected inProgress")
	_ = w.clock.sleep(t.Context(), 40*time.Minute)
	expect("inProgress", `"complete":true`)
	expect("completed", "is inProgress, expected completed")
	refused("Stop-SharePointMigrationTask", source, false, "is inProgress and cannot be cancelled")
	_ = w.clock.sleep(t.Context(), time.Hour)
	expect("completed", `"complete":true`)
	refused("Stop-SharePointMigrationTask", source, false, "the content is in the target")
}
