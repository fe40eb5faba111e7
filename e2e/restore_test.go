package e2e_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
)

// TestStateIsRestored does what an operator does to restore: the store is set back to a
// moment in the middle of a phase, while Service Bus and the tenant stay where they are.
// Jobs in flight at that moment get no answer, later changes are lost, and the
// batch still ends normally.
func TestStateIsRestored(t *testing.T) {
	t.Parallel()
	m := newMachine(t, separate...)
	a := newAdmin(m)
	if err := errors.Join(a.advance(), a.await("init", ended), a.advance()); err != nil {
		t.Fatal(err)
	}
	var at api.Phase
	if err := a.await("pre-stage", func(p api.Phase) bool { at = p; return p.Succeeded+p.Failed >= 5 }); err != nil {
		t.Fatal(err)
	}
	if ended(at) {
		t.Fatalf("the phase ended before its state could be kept: %+v", at)
	}
	m.end("cosmos")
	state, kept := m.path("data/cosmos"), m.path("kept")
	if err := os.CopyFS(kept, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	m.start("cosmos")
	// The restore loses the end of the phase and the next one.
	if err := errors.Join(a.await("pre-stage", ended), a.advance(), a.await("verify", ended)); err != nil {
		t.Fatal(err)
	}

	m.waitForResults() // a result that came again would be of a step that the kept state does not know
	m.end("host")
	m.end("cosmos")
	if err := errors.Join(os.RemoveAll(state), os.CopyFS(state, os.DirFS(kept))); err != nil {
		t.Fatal(err)
	}
	m.start("cosmos")
	m.start("host")
	a.advances-- // that to verify is forgotten
	before, err := a.phase("pre-stage")
	if err != nil || ended(before) {
		t.Fatalf("restored: %+v, %v", before, err)
	}
	// For ten minutes Service Bus drops repeated messages as duplicates. Then the runs with
	// lost results reach their deadlines, one after the other.
	for p := before; !ended(p); {
		m.waitForResults()
		m.moveTo(m.clock().Add(11 * time.Minute))
		m.tick()
		if p, err = a.phase("pre-stage"); err != nil || m.clock().After(m.began.Add(5*time.Hour)) {
			t.Fatalf("pre-stage stands at %+v, %v", p, err)
		}
	}
	if err := errors.Join(a.advance(), a.await("verify", ended), a.advance(), a.await("cut-over", ended)); err != nil {
		t.Fatal(err)
	}
	checkOutcome(m, a)
}

// end ends a process and leaves it so.
func (m *machine) end(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.processes[name].Kill()
}

// waitForResults waits until no job and no result is under way.
func (m *machine) waitForResults() {
	m.t.Helper()
	client, err := azservicebus.NewClientFromConnectionString(m.endpoints.Worker["ServiceBusConnection"], nil)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = client.Close(context.Background()) }()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	for topic, subscription := range map[string]string{
		message.TopicWorkerJobs:    message.WorkerSubscription("worker-01"),
		message.TopicWorkerResults: message.SubscriptionOrchestrator,
	} {
		receiver, err := client.NewReceiverForSubscription(topic, subscription, nil)
		if err != nil {
			m.t.Fatal(err)
		}
		for len(peek(ctx, m.t, receiver)) > 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
}
