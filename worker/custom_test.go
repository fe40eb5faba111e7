//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	azbus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/worker/program"
	"github.com/matoolkit/matoolkit/worker/verify"
)

// badge returns its environment or, on request, more than fits into a message.
const badge = `#!/bin/sh
case "$(cat)" in
*Huge*) printf '{"success":true,"result":{"Text":"'; head -c 250000 /dev/zero | tr '\0' x; printf '"}}' ;;
*) printf '{"success":true,"result":{"Text":"%s"}}' "$(env | grep -E '^(APP_|TARGET|WORKER|Service|HR_)' | sort | tr '\n' ' ')" ;;
esac
`

const badgeManifest = `name: Get-Badge
description: Tells of badges.
params:
  - {name: UserId, required: true, description: Whose.}
  - {name: Huge, type: boolean, description: Whether it is too much.}
result:
  - {name: Text, description: What there is to tell.}
permissions: [Badge.Read]
environment: [HR_URL]
command: [badge.sh]
`

// badges makes a directory of one custom function.
func badges(t *testing.T, manifest string) string { return functionsDir(t, manifest, badge) }

// functionsDir holds one manifest and its program. Another process writes the
// program, which could not be executed while this one had it open.
func functionsDir(t *testing.T, manifest, program string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("/bin/sh", "-c", `chmod 755 . && cat >badge.sh && chmod 755 badge.sh`)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(program)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "badge.yaml"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The worker as it ships, with a custom function, keeps the message contract.
func TestWorkerWithACustomFunctionKeepsTheContract(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	broker := testenv.Started(servicebus.Start(ctx, servicebus.Config{Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "c2VjcmV0"}))(t)
	workerCtx, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	log := &testenv.Buffer{}
	getenv := environment(map[string]string{
		program.EnvWorkerID: "worker-01", program.EnvBusString: broker.ConnectionString(), program.EnvParallelism: "8", program.EnvIdle: "0",
		program.EnvCustomDir: badges(t, badgeManifest), "HR_URL": "https://hr.example", "PATH": os.Getenv("PATH"),
	})
	go func() { stopped <- run(workerCtx, getenv, log) }()

	client := testenv.Must(azbus.Dial(azbus.Config{ConnectionString: broker.ConnectionString()}))(t)
	findings, err := verify.Run(ctx, verify.Config{
		Client: client, WorkerID: "worker-01", Results: message.SubscriptionOrchestrator,
		Function: "get-badge", Parameters: json.RawMessage(`{"UserId":"7"}`), Required: []string{"UserId"},
		Huge: "Get-Badge", HugeParameters: json.RawMessage(`{"UserId":"7","Huge":true}`),
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	for _, f := range findings {
		if f.Outcome != verify.Passed {
			t.Errorf("%s: %s: %s", f.Check, f.Outcome, f.Detail)
		}
	}
	// Of the worker's environment the function has what it was given.
	if want := `Success {"Text":"HR_URL=https://hr.example "}`; len(findings) == 0 || findings[0].Detail != want {
		t.Errorf("got %+v, want %s", findings, want)
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// A worker that has to stop kills the function that goes on, and gives its job back
// to the next one.
func TestStoppedWorkerLeavesNoFunctionBehind(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	broker := testenv.Started(servicebus.Start(ctx, servicebus.Config{Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "c2VjcmV0"}))(t)
	// The first call never ends.
	dir := functionsDir(t, "name: Get-Badge\ndescription: Tells of badges.\ncommand: [badge.sh]\n",
		"#!/bin/sh\n[ -s pid ] || { echo $$ >pid; sleep 600; }\necho '{\"success\":true}'\n")
	getenv := environment(map[string]string{
		program.EnvWorkerID: "worker-01", program.EnvBusString: broker.ConnectionString(), program.EnvIdle: "0", program.EnvGrace: "0",
		program.EnvCustomDir: dir, "PATH": os.Getenv("PATH"),
	})
	start := func() (stop func() error) {
		workerCtx, cancel := context.WithCancel(ctx)
		stopped := make(chan error, 1)
		go func() { stopped <- run(workerCtx, getenv, &testenv.Buffer{}) }()
		return func() error {
			cancel()
			return <-stopped
		}
	}
	stopFirst := start()
	ended := make(chan error, 1)
	go func() {
		ended <- func() error {
			var pid int
			for pid == 0 && ctx.Err() == nil {
				raw, _ := os.ReadFile(filepath.Join(dir, "pid"))
				pid, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
			}
			if err := stopFirst(); err != nil {
				return err
			}
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("process %d is still there: %v", pid, err)
			}
			return nil
		}()
	}()
	results := make(chan message.Result, 1)
	o := newOrchestrator(t, ctx, broker.ConnectionString())
	go func() { results <- o.do(t, ctx, "Get-Badge", nil) }()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	stopSecond := start()
	if got := <-results; got.Status != message.StatusSuccess || string(got.Result) != "true" {
		t.Errorf("got %+v", got)
	}
	if err := stopSecond(); err != nil {
		t.Error(err)
	}
}

func TestWorkerDoesNotStartWithAManifestThatIsWrong(t *testing.T) {
	t.Parallel()
	dir := badges(t, badgeManifest+"timeout: 11m\n")
	err := run(t.Context(), environment(map[string]string{program.EnvCustomDir: dir, "HR_URL": "x"}), &testenv.Buffer{})
	if want := "custom functions, CUSTOM_FUNCTIONS_DIR:\nbadge.yaml:11:10: timeout is 11m0s; a job has at most 10m0s"; err == nil || err.Error() != want {
		t.Fatalf("got %v", err)
	}
}

// No variable by which the worker is configured can be given to a function.
func TestOwnVariablesAreNotGivenAway(t *testing.T) {
	t.Parallel()
	for _, name := range append(ownVariables, "APPLICATIONINSIGHTS_CONNECTION_STRING", "IDENTITY_HEADER", "app_secret") {
		dir := badges(t, strings.Replace(badgeManifest, "HR_URL", name, 1))
		err := run(t.Context(), environment(map[string]string{program.EnvCustomDir: dir}), &testenv.Buffer{})
		if err == nil || !strings.Contains(err.Error(), "badge.yaml:9:15: "+name+" is reserved for the worker") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{program.EnvWorkerID, program.EnvBusString, program.EnvBusNamespace, envAppSecret, envAppID, envTenantID} {
		if err := run(t.Context(), func(string) string { return "" }, &testenv.Buffer{}); !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not the name of a variable", name)
		}
	}
}

func TestFunctionsCommandShowsCustomFunctions(t *testing.T) {
	t.Parallel()
	dir := badges(t, badgeManifest)
	for note, out := range map[string][]byte{
		"option":   execute(t, nil, "functions", "--custom-dir", dir),
		"variable": execute(t, map[string]string{program.EnvCustomDir: dir}, "functions"),
		"json":     execute(t, nil, "functions", "--custom-dir", dir, "--output", "json"),
	} {
		if !bytes.Contains(out, []byte("Get-Badge")) || !bytes.Contains(out, []byte("Badge.Read")) || !bytes.Contains(out, []byte("New-EntraUser")) {
			t.Errorf("%s: got %s", note, out)
		}
	}
	cmd := command(environment(nil)).Cobra()
	cmd.SetArgs([]string{"functions", "--custom-dir", t.TempDir()})
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "no manifest (*.yaml) in") {
		t.Errorf("an empty directory: %v", err)
	}
}
