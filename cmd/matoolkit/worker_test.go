package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/worker/verify"
)

func TestWrongUsageOfVerifyIsReportedAsSuch(t *testing.T) {
	t.Parallel()
	local := "Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=k;SharedAccessKey=c2VjcmV0;UseDevelopmentEmulator=true;"
	for _, tc := range []struct {
		args        string
		environment map[string]string
		want        string
	}{
		{"worker", nil, "worker needs a command"},
		{"worker verify", nil, "worker-id is missing"},
		{"worker verify w", nil, "set one of ServiceBusConnection (a connection string) and"},
		{"worker verify w", map[string]string{envBus: local, envBusNamespace: "n"}, "set one of"},
		{"worker verify w", map[string]string{envBus: "SharedAccessKey=busk3y"}, "ServiceBusConnection is not a connection string"},
		{"worker verify w --results-subscription Orchestrator", map[string]string{envBusNamespace: "n.servicebus.windows.net"}, "belongs to the orchestrator"},
		{"worker verify w --function F --parameters [1]", map[string]string{envBus: local}, "--parameters: give a JSON object"},
		{"worker verify w --function F --parameters null", map[string]string{envBus: local}, "--parameters: give a JSON object"},
		{"worker verify w --required A", map[string]string{envBus: local}, "need --function"},
		{"worker verify w --huge-parameters {}", map[string]string{envBus: local}, "need --huge-function"},
		{"worker verify w --jobs 0", map[string]string{envBus: local}, "--jobs is 0; use 1 to 10000"},
		{"worker verify w --timeout 0s", map[string]string{envBus: local}, "--timeout: give a duration"},
	} {
		var out, errs bytes.Buffer
		root := cli.NewRoot(command.Environment{Stdout: &out, Stderr: &errs})
		addVerify(root, func(name string) string { return tc.environment[name] })
		root.SetArgs(strings.Fields(tc.args))
		status := cli.Execute(t.Context(), root)
		if status != exit.WrongUsage || !strings.Contains(errs.String(), tc.want) || strings.Contains(errs.String(), "busk3y") {
			t.Errorf("%s: status %d, %q, want %q", tc.args, status, errs.String(), tc.want)
		}
	}
}

func TestVerifyPrintsWhatItFinds(t *testing.T) {
	t.Parallel()
	broker := testenv.Started(servicebus.Start(t.Context(), servicebus.Config{Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "c2VjcmV0"}))(t)
	var out, errs bytes.Buffer
	root := cli.NewRoot(command.Environment{Stdout: &out, Stderr: &errs})
	addVerify(root, func(name string) string { return map[string]string{envBus: broker.ConnectionString()}[name] })
	root.SetArgs(strings.Fields("worker verify worker-01 --results-subscription orchestrator --timeout 200ms -o json"))
	status := cli.Execute(t.Context(), root)
	var findings []verify.Finding
	if err := json.Unmarshal(out.Bytes(), &findings); err != nil || status != exit.Failed || len(findings) != 1 ||
		findings[0].Outcome != verify.Failed || !strings.Contains(findings[0].Detail, "its id is worker-01") {
		t.Fatalf("status %d, %s%s", status, out.String(), errs.String())
	}
}
