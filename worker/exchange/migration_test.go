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

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// batches is an Exchange Online with a migration batch in states that the local tenant does not have.
type batches struct {
	mu     sync.Mutex
	states []string // of one Get-MigrationBatch after the other, and then none
	ran    []string // cmdlets that write
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
		answer = []map[string]any{{"Identity": "wave", "Status": b.states[0], "SourceEndpoint": "old", "TargetDeliveryDomain": "contoso.example"}}
		b.states = b.states[1:]
	case !strings.HasPrefix(name, "Get-"):
		b.ran, b.states = append(b.ran, name), []string{"Syncing"}
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
