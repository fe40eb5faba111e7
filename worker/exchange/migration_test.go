package exchange_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// created is when the batch of batches was created.
var created = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// batches is an Exchange Online with a migration batch in states that the local tenant does not have.
type batches struct {
	mu     sync.Mutex
	states []string // of one Get-MigrationBatch after the other, and then none
	ran    []string // cmdlets that write

	after  map[string][]string // states after a cmdlet; nil: Syncing
	people []string            // statuses of people
	refuse string              // a cmdlet
}

func (b *batches) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var answer []map[string]any
	switch name := r.Header.Get("X-CmdletName"); {
	case name == "Get-MigrationBatch" && len(b.states) == 0:
		w.WriteHeader(http.StatusNotFound)
		return
	case name == "Get-MigrationBatch":
		answer = []map[string]any{{"Identity": "wave", "Status": b.states[0], "SourceEndpoint": "old", "TargetDeliveryDomain": "contoso.example", "CreationDateTime": created.Format(time.RFC3339)}}
		b.states = b.states[1:]
	case name == "Get-MigrationUser":
		for _, status := range b.people {
			answer = append(answer, map[string]any{"EmailAddress": "ada@contoso.example", "BatchId": "wave", "Status": status})
		}
	case !strings.HasPrefix(name, "Get-"):
		b.ran, b.states = append(b.ran, name), []string{"Syncing"}
		if b.after != nil {
			b.states = b.after[name]
		}
		if name == b.refuse {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"value": answer})
}

func TestANewMigrationBatchIsNotOneThatEnds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		states []string
		again  bool
		ran    []string
		says   string // of the failure; empty for none
	}{
		{[]string{"Syncing"}, false, nil, ""},
		{[]string{"Removing", "removing"}, false, []string{"New-MigrationBatch"}, ""},
		{slices.Repeat([]string{"Removing"}, 50), false, nil, "is still being removed"},
		{[]string{"Corrupted"}, false, nil, "wave exists and is Corrupted: remove it"},
		{[]string{"Stopped"}, true, nil, "wave exists and is Stopped: remove it"},
		{[]string{"Failed"}, false, nil, "wave exists and is Failed: remove it"},
		{[]string{"Failed"}, true, nil, ""}, // its own, in which every move has failed
	} {
		b := &batches{states: tc.states}
		server := httptest.NewServer(b)
		t.Cleanup(server.Close)
		ctx := catalog.WithJob(t.Context(), catalog.Job{ID: "job-1", Redelivered: tc.again})
		params := map[string]any{
			"BatchName": "wave", "SourceEndpoint": "old", "TargetDeliveryDomain": "contoso.example", "EmailAddresses": []any{"ada@contoso.example"},
		}
		answer, err := functions(t, server.URL, tenant.DefaultTenantID, pace()).Call(ctx, "New-ExchangeMigrationBatch", testenv.Must(json.Marshal(params))(t))
		if tc.says == "" && (err != nil || answer != true) {
			t.Errorf("%q: got %v, %v", tc.states, answer, err)
		}
		var failure *catalog.Failure
		if tc.says != "" && (!errors.As(err, &failure) || failure.Type != catalog.FailureConflict || !strings.Contains(failure.Message, tc.says)) {
			t.Errorf("%q: got %v, %v, want %q", tc.states, answer, err, tc.says)
		}
		if !slices.Equal(b.ran, tc.ran) {
			t.Errorf("%q: it ran %q, want %q", tc.states, b.ran, tc.ran)
		}
	}
}

// A job that comes again finds another batch of the name, and one that comes as the batch is stopped waits for its retry.
func TestABatchIsNotStartedOrCompletedForAnotherOne(t *testing.T) {
	t.Parallel()
	start, complete := "Start-ExchangeMigrationBatch", "Complete-ExchangeMigrationBatch"
	for _, tc := range []struct {
		note, function, state string
		job                   catalog.Job
		ran                   []string
		says                  string // of the failure; empty for none
	}{
		{"started", start, "Stopped", catalog.Job{Enqueued: created.Add(-time.Hour)}, []string{"Start-MigrationBatch"}, ""},
		{"started again", start, "Stopped", catalog.Job{Redelivered: true, Enqueued: created.Add(time.Hour)}, []string{"Start-MigrationBatch"}, ""},
		{"another one, not started", start, "Stopped", catalog.Job{Redelivered: true, Enqueued: created.Add(-time.Hour)}, nil, "created after the job"},
		{"not started while it stops", start, "Stopping", catalog.Job{}, nil, "retry the step when it is Stopped"},
		{"completed", complete, "Synced", catalog.Job{Redelivered: true, Enqueued: created.Add(time.Hour)}, []string{"Complete-MigrationBatch"}, ""},
		{"another one, not completed", complete, "Synced", catalog.Job{Redelivered: true, Enqueued: created.Add(-time.Hour)}, nil, "created after the job"},
	} {
		b := &batches{states: []string{tc.state}}
		server := httptest.NewServer(b)
		t.Cleanup(server.Close)
		_, err := functions(t, server.URL, tenant.DefaultTenantID, pace()).Call(catalog.WithJob(t.Context(), tc.job), tc.function, json.RawMessage(`{"BatchName":"wave"}`))
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: got %v, want %q", tc.note, err, tc.says)
		}
		if !slices.Equal(b.ran, tc.ran) {
			t.Errorf("%s: it ran %q, want %q", tc.note, b.ran, tc.ran)
		}
	}
}

// A batch that runs is stopped before it is removed, and one that is being moved is left alone.
func TestAMigrationBatchIsStoppedBeforeItIsRemoved(t *testing.T) {
	t.Parallel()
	const stop, remove = "Stop-MigrationBatch", "Remove-MigrationBatch"
	for note, tc := range map[string]struct {
		states, people []string
		after          map[string][]string
		refuse         string
		ran            []string
		says           string // of the failure; empty for none
	}{
		"none":                       {},
		"one that waits":             {states: []string{"Waiting"}, after: map[string][]string{stop: {"Stopped"}}, ran: []string{stop, remove}},
		"one that is copied":         {states: []string{"Synced"}, after: map[string][]string{stop: {"Synced", "Stopping", "Stopped"}, remove: {"Removing"}}, ran: []string{stop, remove}},
		"one that is being stopped":  {states: []string{"Stopping", "Stopping", "Stopped"}, ran: []string{remove}},
		"one that does not stop":     {states: []string{"Syncing"}, after: map[string][]string{stop: slices.Repeat([]string{"Stopping"}, 50)}, ran: []string{stop}, says: "is being stopped"},
		"one that begins to move":    {states: []string{"Synced"}, after: map[string][]string{stop: {"Completing"}}, ran: []string{stop}, says: "the migration batch wave is Completing"},
		"one that has just moved":    {states: []string{"IncrementalSyncing"}, after: map[string][]string{stop: {"Completed"}}, refuse: stop, ran: []string{stop, remove}},
		"one that cannot be stopped": {states: []string{"Syncing"}, after: map[string][]string{stop: {"Syncing"}}, refuse: stop, ran: []string{stop}, says: "400"},
		"one that vanishes":          {states: []string{"Syncing"}, after: map[string][]string{}, ran: []string{stop, remove}},
		"one that is being removed":  {states: []string{"Removing"}, after: map[string][]string{remove: {"Removing"}}, ran: []string{remove}},
		"one that is corrupted":      {states: []string{"Corrupted"}, after: map[string][]string{}, ran: []string{remove}},
		"one that moves":             {states: []string{"Completing"}, says: "the migration batch wave is Completing"},
		"one with a person who moves": {
			states: []string{"SyncedWithErrors"}, people: []string{"Failed", "CompletionSynced"}, says: "the move of ada@contoso.example in the migration batch wave is CompletionSynced",
		},
	} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			b := &batches{states: tc.states, after: tc.after, people: tc.people, refuse: tc.refuse}
			if b.after == nil {
				b.after = map[string][]string{}
			}
			server := httptest.NewServer(b)
			t.Cleanup(server.Close)
			ctx := catalog.WithJob(t.Context(), catalog.Job{ID: "job-1"})
			answer, err := functions(t, server.URL, tenant.DefaultTenantID, pace()).Call(ctx, "Remove-ExchangeMigrationBatch", json.RawMessage(`{"BatchName":"wave"}`))
			if tc.says == "" && (err != nil || answer != true) || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("got %v, %v, want %q", answer, err, tc.says)
			}
			if !slices.Equal(b.ran, tc.ran) {
				t.Errorf("it ran %q, want %q", b.ran, tc.ran)
			}
		})
	}
}
