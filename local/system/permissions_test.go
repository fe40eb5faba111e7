package system_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/system"
)

// The tenant asks for the permissions in a token: the worker may send the alert, an
// administrator's token, which has none, may not.
func TestTenantAsksForPermissions(t *testing.T) {
	t.Parallel()
	s := testenv.Must(system.Start(t.Context(), system.Config{Parts: []system.Part{system.Identity}, Addresses: system.FreeAddresses()}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	const scope = "https://graph.microsoft.com/"
	worker := testenv.Must(s.Entra.IssueAppToken(entra.DefaultWorkerClientID, scope+".default"))(t)
	person := testenv.Must(s.Entra.IssueUserToken(entra.DefaultAdminUPN, scope+"User.Read"))(t)
	env := s.WorkerEnv()
	mail := []byte(`{"message": {"subject": "s", "body": {"contentType": "text", "content": "c"},
		"toRecipients": [{"emailAddress": {"address": "` + env["ALERT_TO"] + `"}}]}}`)
	for _, tc := range []struct {
		token string
		want  int
	}{{worker, http.StatusAccepted}, {person, http.StatusForbidden}} {
		request := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodPost,
			env["GRAPH_URL"]+"/v1.0/users/"+env["ALERT_FROM"]+"/sendMail", bytes.NewReader(mail)))(t)
		request.Header.Set("Authorization", "Bearer "+tc.token)
		request.Header.Set("Content-Type", "application/json")
		response := testenv.Must(http.DefaultClient.Do(request))(t)
		_ = response.Body.Close()
		if response.StatusCode != tc.want {
			t.Errorf("the tenant answers %s, want %d", response.Status, tc.want)
		}
	}
	if n := len(s.Tenant.State().Mails); n != 1 {
		t.Errorf("%d mails were sent, want 1", n)
	}
}
