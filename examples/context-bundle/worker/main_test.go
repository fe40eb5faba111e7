package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/examples/context-bundle/bundle"
	"github.com/matoolkit/matoolkit/infra/templates"
	azbus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/github"
	"github.com/matoolkit/matoolkit/local/system"
	"github.com/matoolkit/matoolkit/worker/program"
	"github.com/matoolkit/matoolkit/worker/verify"
)

// minimal is the least that a worker starts with.
var minimal = map[string]string{
	program.EnvWorkerID: "sync", program.EnvBusString: "Endpoint=sb://x;SharedAccessKeyName=k;SharedAccessKey=busk3y",
	envEndpoint: "https://name.blob.core.windows.net", envContainer: "artifacts", envToken: "s3cret",
}

func environment(changes map[string]string) func(string) string {
	env := maps.Clone(minimal)
	maps.Copy(env, changes)
	return func(name string) string { return env[name] }
}

func TestConfig(t *testing.T) {
	t.Parallel()
	c := testenv.Must(loadConfig(environment(nil)))(t)
	if c.WorkerID != "sync" || c.GitHubURL != "https://api.github.com" || c.PerMinute != 300 || c.Token != "s3cret" || c.Container != "artifacts" {
		t.Errorf("got %+v", c)
	}
	for note, tc := range map[string]struct {
		changes map[string]string
		want    string
	}{
		"no id":                  {map[string]string{program.EnvWorkerID: ""}, "WORKER_ID is not set"},
		"no broker":              {map[string]string{program.EnvBusString: ""}, "set one of ServiceBusConnection"},
		"no account":             {map[string]string{envEndpoint: ""}, "BLOB_ENDPOINT is not set"},
		"an account without TLS": {map[string]string{envEndpoint: "http://127.0.0.1:1/local"}, "BLOB_ENDPOINT"},
		"no container":           {map[string]string{envContainer: ""}, "BLOB_CONTAINER is not set"},
		"GitHub without TLS":     {map[string]string{envGitHubURL: "http://github.example"}, "GITHUB_URL"},
		"a token in the URL":     {map[string]string{envGitHubURL: "https://x:s3cret@github.example"}, "GITHUB_URL"},
		"no request":             {map[string]string{envPerMinute: "0"}, "GITHUB_REQUESTS_PER_MINUTE"},
	} {
		if _, err := loadConfig(environment(tc.changes)); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", note, err)
		}
	}
}

func TestFunctionsCommand(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cmd := command(func(string) string { return "" }).Cobra()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"functions", "--custom-dir", functionsDir(t)})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Sync-RepoContext", "Merge-Bundle", "Train-SemanticModel"} {
		if !strings.Contains(out.String(), name) {
			t.Errorf("no %s in\n%s", name, &out)
		}
	}
}

// functionsDir is /functions of the image.
func functionsDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "train"), "../train").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	manifest := testenv.Must(os.ReadFile(filepath.Join("..", "functions", "train-semantic-model.yaml")))(t)
	if err := os.WriteFile(filepath.Join(dir, "train-semantic-model.yaml"), manifest, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The worker keeps the message contract, with real protocols of Service Bus, Entra ID, Blob Storage and GitHub.
func TestWorkerKeepsTheContract(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	azure := testenv.Started(system.Start(ctx, system.Config{
		Parts: []system.Part{system.Identity, system.ServiceBus}, Addresses: system.FreeAddresses(), Workers: []string{"sync"},
		GitHub: &github.Seed{Tokens: []github.Token{{Token: "s3cret", Login: "octo"}}, Owners: []github.Owner{{Login: "octo", Repos: []github.Repo{{Name: "docs", Files: map[string]string{"README.md": "# Docs"}}}}}},
	}))(t)
	env := azure.WorkerEnv()
	env[program.EnvCustomDir] = functionsDir(t)
	env[program.EnvLogLevel] = "debug"
	log := &testenv.Buffer{}
	workerCtx, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	for name, value := range env { // the identity's library reads them itself
		if strings.HasPrefix(name, "IDENTITY_") {
			if err := os.Setenv(name, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	go func() { stopped <- run(workerCtx, func(name string) string { return env[name] }, log) }()
	client := testenv.Must(azbus.Dial(azbus.Config{ConnectionString: azure.ServiceBusConnection()}))(t)
	findings, err := verify.Run(ctx, verify.Config{
		Client: client, WorkerID: "sync", Results: "orchestrator", Function: "Sync-RepoContext",
		Parameters: json.RawMessage(`{"Owner":"octo","Repository":"docs","Generation":"2026-03-01T12:00:00Z"}`), Required: []string{"Owner", "Repository", "Generation"},
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	for _, f := range findings {
		if f.Outcome == verify.Failed {
			t.Errorf("%s: %s: %s", f.Check, f.Outcome, f.Detail)
		}
	}
	if key := bundle.ContextKey("octo", "docs").String(); len(findings) == 0 || !strings.Contains(findings[0].Detail, key) {
		t.Errorf("no context %s: %+v", key, findings)
	}
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if said := log.String(); strings.Contains(said, "s3cret") {
		t.Errorf("the log tells the token:\n%s", said)
	}
}

// TestDeployedSettingsAreWhatTheWorkersRead has the worker read the settings that the templates give it.
func TestDeployedSettingsAreWhatTheWorkersRead(t *testing.T) {
	t.Parallel()
	apps := templates.Deploy(t, templates.ContextBundle, map[string]any{"otlpEndpoint": "http://collector:4318"}).Of("Microsoft.App/containerApps")
	if len(apps) != 3 {
		t.Fatalf("%d apps", len(apps))
	}
	seconds := map[string]time.Duration{"sync": 30 * time.Second, "merge": time.Minute, "training": 10 * time.Minute}
	for _, app := range apps {
		settings := templates.Settings(t, app.At("properties", "template", "containers", 0, "env"))
		asked := map[string]bool{program.EnvReplica: true, "OTEL_EXPORTER_OTLP_ENDPOINT": true}
		c, err := loadConfig(func(name string) string {
			asked[name] = true
			return settings[name]
		})
		if err != nil {
			t.Errorf("%s: %v", app.Name, err)
		}
		for name := range settings {
			if !asked[name] {
				t.Errorf("%s: %s is set, and the worker does not read it", app.Name, name)
			}
		}
		if limit := seconds[c.WorkerID]; c.JobTimeout >= limit || c.JobTimeout < limit*4/5 || c.IdleTimeout != 0 {
			t.Errorf("%s: a job has %s, its step %s", c.WorkerID, c.JobTimeout, limit)
		}
		if has := c.CustomDir == "/functions"; has != (c.WorkerID == "training") {
			t.Errorf("%s: functions in %q", c.WorkerID, c.CustomDir)
		}
		if wait := fmt.Sprint(app.At("properties", "template", "terminationGracePeriodSeconds")); wait != "50" || c.ShutdownGrace != 30*time.Second {
			t.Errorf("%s: the platform waits %s seconds", c.WorkerID, wait)
		}
	}
}
