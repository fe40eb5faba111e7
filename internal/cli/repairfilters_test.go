package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

// Each command that repairs many members sends each of its filters, and no other.
func TestBulkRepairsSendTheirFilters(t *testing.T) {
	t.Parallel()
	routes := map[string]string{"retry": "/api/batches/7/retry", "skip-step": "/api/batches/7/skip", "mark-done": "/api/batches/7/mark-done"}
	for command, route := range routes {
		for _, tt := range []struct {
			args []string
			want string
		}{
			{[]string{"--status", "poll_timeout"}, `{"status":"poll_timeout"}`},
			{[]string{"--phase", "cut over"}, `{"phase":"cut over"}`},
			{[]string{"--step", "move"}, `{"step":"move"}`},
			{[]string{"--error", "no room"}, `{"error":"no room"}`},
			{[]string{"--error-group", "no user … (Test)"}, `{"errorGroup":"no user … (Test)"}`},
			{[]string{"--member", "ada@x", "--member", "7"}, `{"memberIds":["ada@x","7"]}`},
			{[]string{"--step-id", "10000001000", "--step-id", "10000002000"}, `{"stepIds":[10000001000,10000002000]}`},
			{[]string{"--status", "failed", "--phase", "a", "--step", "b", "--error", "c", "--error-group", "d"}, `{"status":"failed","phase":"a","step":"b","error":"c","errorGroup":"d"}`},
		} {
			t.Run(command+" "+strings.Join(tt.args, " "), func(t *testing.T) {
				t.Parallel()
				var sent []map[string]any
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					var body map[string]any
					raw, _ := io.ReadAll(r.Body)
					if err := json.Unmarshal(raw, &body); err != nil || r.URL.Path != route {
						t.Errorf("%s %s %s", r.Method, r.URL.Path, raw)
					}
					sent = append(sent, body)
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, `{"batchId":7,"action":"retry","selection":{},"effect":{"members":1,"groups":[],"refused":[]}}`)
				}))
				t.Cleanup(s.Close)
				p := newPerson(t)
				p.env["MATOOLKIT_API_URL"] = s.URL
				args := append([]string{"batch", command, "7", "--yes", "--reason", "why"}, tt.args...)
				if out, err, status := p.as(0, args...); status != 0 || len(sent) != 1 {
					t.Fatalf("status %d, %d requests: %s%s", status, len(sent), out, err)
				}
				var want map[string]any
				check(t, json.Unmarshal([]byte(tt.want), &want))
				want["reason"] = "why"
				if !reflect.DeepEqual(sent[0], want) {
					t.Errorf("sent %v, want %v", sent[0], want)
				}
			})
		}
	}
}
