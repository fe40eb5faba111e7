package cli_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/scalertest"
	"github.com/matoolkit/matoolkit/local/arm"
	"github.com/matoolkit/matoolkit/local/entra"
)

func TestScaler(t *testing.T) {
	t.Parallel()
	azure := scalertest.Start(t, scalertest.Config{Settings: map[string]string{"ACI_MAX_INSTANCES": "2"}})
	directory := entra.DefaultConfig()
	directory.AutoApprove = entra.DefaultAdminUPN
	system := newSystemWith(t, directory, azure)
	s := &transcript{person: system.signedIn()}
	s.type_(0, "scaler", "status")
	azure.SendSize("a", "m-1", 1536)
	azure.SendSize("b", "m-2", 100)
	azure.SendSize("b", "m-3", 100)
	azure.Send("c", "poison", "nonsense")
	azure.Send("c", "unsized\x1b[31m", "{}")
	s.type_(0, "scaler", "plan")
	s.type_(0, "scaler", "plan", "--output", "csv")
	azure.ARM.Fail(arm.Fault{Method: http.MethodPut, Path: azure.Settings().NameFor("b", "m-2"), Count: 1, Status: 400, Code: "InaccessibleImage", Message: "the image is missing"})
	check(t, system.app.ScaleContainers(system.ctx))
	azure.Settled()
	s.type_(0, "scaler", "status")
	azure.Exit("a", "m-1", 3)
	for range 2 { // the lock, if there was one, is over by the second
		system.ahead.Add(int64(scalertest.LockDuration + time.Minute))
		check(t, system.app.ScaleContainers(system.ctx))
		azure.Settled()
	}
	s.type_(0, "scaler", "status")
	s.type_(0, "scaler", "status", "--quiet")
	s.type_(2, "scaler")
	golden(t, "scaler", s.String())
}

func TestScalerThatIsNotConfigured(t *testing.T) {
	t.Parallel()
	s := &transcript{person: newSystem(t, entra.DefaultAdminUPN).signedIn()}
	s.type_(0, "scaler", "status")
	s.type_(0, "scaler", "status", "--output", "json")
	s.type_(5, "scaler", "plan")
	golden(t, "scaler_off", s.String())
}

func TestAReaderMayNotPlan(t *testing.T) {
	t.Parallel()
	s := &transcript{person: newSystem(t, entra.DefaultReaderUPN).signedIn()}
	s.type_(0, "scaler", "status", "--quiet")
	s.type_(3, "scaler", "plan")
	golden(t, "scaler_reader", s.String())
}
