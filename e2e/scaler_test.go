package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/functions/containerscaler"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/arm"
	"github.com/matoolkit/matoolkit/local/system"
)

// TestContainerScaler runs the demo of the container scaler: the real handler, with a local program as each
// container.
func TestContainerScaler(t *testing.T) {
	t.Parallel()
	container := filepath.Join(t.TempDir(), "container-per-message")
	build := exec.Command("go", "build", "-trimpath", "-o", container, "./examples/container-per-message")
	build.Dir = root
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), program("matoolkit"), "local", "demo-scaler", "--app", dist, "--program", container, "--messages", "7", "--instances", "2").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "7 messages were settled, each by one container, at most 2 at once. All container groups are deleted.") {
		t.Errorf("%v\n%s", err, out)
	}
}

// azureOfScaler is Azure with a topic of two subscriptions and the real handler, in which containers run until the end
// of the test.
type azureOfScaler struct {
	*system.System
	t      *testing.T
	sender *azservicebus.Sender
	log    *testenv.Buffer
}

func newAzureOfScaler(t *testing.T, instances int) *azureOfScaler {
	t.Helper()
	const image = "registry.example/endless:1"
	endless := filepath.Join(t.TempDir(), "endless.sh")
	if err := os.WriteFile(endless, []byte("#!/bin/sh\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var subscriptions []string
	for _, area := range []string{"north", "south"} {
		subscriptions = append(subscriptions, fmt.Sprintf(`{"Name":%q,"Properties":{"LockDuration":"PT1M","MaxDeliveryCount":3},"Rules":[{"Name":"r","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"area = '%s'"}}}]}`, area, area))
	}
	a := &azureOfScaler{t: t, log: &testenv.Buffer{}}
	a.System = testenv.Started(system.Start(t.Context(), system.Config{
		Addresses: system.FreeAddresses(), DataDir: folder(t), AppDir: dist, AutoApprove: true, Output: a.log, Containers: map[string]string{image: endless},
		Topology: []byte(`{"UserConfig":{"Namespaces":[{"Name":"local","Topics":[{"Name":"validations","Subscriptions":[` + strings.Join(subscriptions, ",") + `]}]}]}}`),
		Settings: map[string]string{"ACI_IMAGE": image, "ACI_MAX_INSTANCES": fmt.Sprint(instances), "SB_TOPIC_NAME": "validations"},
	}))(t)
	client := testenv.Connected(azservicebus.NewClientFromConnectionString(a.ServiceBusConnection(), nil))(t)
	a.sender = testenv.Connected(client.NewSender("validations", nil))(t)
	return a
}

func (a *azureOfScaler) host() string {
	return strings.TrimSuffix(strings.TrimPrefix(a.APIURL(), "http://"), "/api")
}

// send sends a message to a subscription.
func (a *azureOfScaler) send(area, id string) {
	a.t.Helper()
	m := &azservicebus.Message{MessageID: &id, Body: []byte(`{"file_size_mb":50}`), ApplicationProperties: map[string]any{"area": area}}
	if err := a.sender.SendMessage(a.t.Context(), m, nil); err != nil {
		a.t.Fatal(err)
	}
}

// tick has a minute pass and the container scaler tick. The tick fails if the handler is killed in it, or starts.
func (a *azureOfScaler) tick() {
	a.t.Helper()
	base := "http://" + a.host() + "/_local/"
	for _, call := range [][2]string{{"clock", `{"advance":"1m"}`}, {"functions/" + containerscaler.Name, `{}`}} {
		response, err := http.Post(base+call[0], "application/json", strings.NewReader(call[1]))
		if err != nil {
			a.t.Fatal(err)
		}
		response.Body.Close()
	}
}

// await repeats a condition until it is true.
func (a *azureOfScaler) await(what string, done func() bool) {
	a.t.Helper()
	for end := time.Now().Add(patience); !done(); {
		if time.Now().After(end) {
			a.t.Fatalf("%s: not within %s\n%s", what, patience, a.log)
		}
	}
}

// kill kills the handler, and returns once it is gone.
func (a *azureOfScaler) kill() error {
	pid, err := currentHandler(a.host())
	if err != nil {
		return err
	}
	handler, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := handler.Kill(); err != nil {
		return err
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if now, err := currentHandler(a.host()); err == nil && now != pid {
			return nil
		}
	}
	return fmt.Errorf("the handler %d is still there", pid)
}

// TestAMessageGetsOneContainerWhileTheHandlerIsKilled kills the handler when Azure has carried out its request for a
// container group, before the answer, so that it neither sees the group nor stores anything about it.
func TestAMessageGetsOneContainerWhileTheHandlerIsKilled(t *testing.T) {
	t.Parallel()
	const rounds = 4
	a := newAzureOfScaler(t, 2*rounds)
	var kills atomic.Int32
	for round := range int32(rounds) {
		a.ARM.Fail(arm.Fault{Method: http.MethodPut, Count: 1, Lost: true, Then: func() {
			if err := a.kill(); err != nil {
				t.Error(err)
			}
			kills.Add(1)
		}})
		a.send("north", fmt.Sprint("n", round))
		a.send("south", fmt.Sprint("s", round))
		a.await("the handler is killed in a tick", func() bool {
			a.tick()
			return kills.Load() == round+1
		})
	}
	a.await("each message has a container", func() bool {
		a.tick()
		return len(a.ARM.Groups()) == 2*rounds
	})
	a.tick()
	var got []string
	for _, g := range a.ARM.Groups() {
		got = append(got, g.Tags["subscription"]+"/"+g.Tags["message_id"]+" "+g.Instance)
	}
	slices.Sort(got)
	want := []string{"north/n0 Running", "north/n1 Running", "north/n2 Running", "north/n3 Running", "south/s0 Running", "south/s1 Running", "south/s2 Running", "south/s3 Running"}
	if !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q\n%s", got, want, a.log)
	}
	for name, n := range a.ARM.Counters().Starts {
		if n != 1 {
			t.Errorf("the container of %s was started %d times", name, n)
		}
	}
	if c := a.ARM.Counters(); len(c.Starts) != 2*rounds || c.Peak > 2*rounds {
		t.Errorf("counters %+v", c)
	}
}
