package cli_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/local/entra"
)

// Rules of notifications, as an administrator and a reader see them.
func TestNotifications(t *testing.T) {
	t.Parallel()
	system := newSystem(t, entra.DefaultAdminUPN)
	s := &transcript{person: system.signedIn()}
	s.type_(0, "notification", "list")
	s.type_(0, "notification", "add", "on-call", "--event", "worker_silent,batch_ended", "--mail", "worker-01", "--to", "ada@example.com",
		"--quiet", "20:00-07:00", "--time-zone", "Europe/Berlin", "--urgent", "worker_silent", "--link", "https://console.example.com")
	s.type_(0, "notification", "add", "cut-over", "--event", "gate_waiting", "--mail", "worker-01", "--runbook", "moves", "--owner", "Bea")
	s.type_(0, "notification", "add", "cut-over", "--event", "gate_waiting", "--mail", "worker-01", "--runbook", "moves", "--owner", "Bea")
	s.type_(0, "notification", "list")
	s.type_(0, "notification", "get", "on-call", "--output", "json")
	s.type_(0, "notification", "test", "cut-over")
	s.type_(0, "notification", "deliveries", "cut-over", "--columns", "event,status,attempts")
	s.type_(0, "notification", "deliveries", "on-call")
	s.type_(0, "notification", "remove", "cut-over", "--reason", "the wave is done")
	s.type_(0, "notification", "list", "--output", "name")

	s.type_(2, "notification", "add", "a", "--event", "failures")
	s.type_(2, "notification", "add", "a", "--event", "failures", "--mail", "worker-01", "--quiet", "20:00")
	s.type_(5, "notification", "add", "a", "--event", "party", "--mail", "worker-01")
	s.type_(5, "notification", "add", "a", "--event", "failures", "--teams", "TEAMS_URL")
	s.type_(5, "notification", "add", "on-call", "--event", "failures", "--mail", "worker-01")
	s.type_(4, "notification", "get", "cut-over")
	s.type_(4, "notification", "deliveries", "cut-over")
	golden(t, "notification", s.String())
}

func TestReadersDoNotChangeNotifications(t *testing.T) {
	t.Parallel()
	reader := newSystem(t, entra.DefaultReaderUPN).signedIn()
	s := &transcript{person: reader}
	s.type_(0, "notification", "list")
	s.type_(3, "notification", "add", "a", "--event", "failures", "--mail", "worker-01")
	s.type_(3, "notification", "test", "a")
	s.type_(3, "notification", "remove", "a")
}
