package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/functionshost"
	"github.com/matoolkit/matoolkit/local/system"
)

const example = "../../local.settings.json.example"

// env runs matoolkit local env and gives the exit status and what it prints.
func env(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	var out, errs bytes.Buffer
	root := cli.NewRoot(command.Environment{Stdout: &out, Stderr: &errs})
	root.AddCommand(localCommand())
	root.SetArgs(append([]string{"local", "env"}, args...))
	status := cli.Execute(t.Context(), root)
	return status, out.String(), errs.String()
}

// readAsFunc reads a local.settings.json as "func start" does: Values are the settings, and
// each is a text.
func readAsFunc(t *testing.T, raw []byte) map[string]string {
	t.Helper()
	var file struct {
		IsEncrypted bool
		Values      map[string]string
	}
	if err := json.Unmarshal(raw, &file); err != nil || file.IsEncrypted {
		t.Fatalf("%s: %v", raw, err)
	}
	return file.Values
}

// TestTheAppRunsAsFuncStartsIt stages the app with the settings that "make func" writes, and
// runs it under the local host with these and no others, beside a system without a host.
func TestTheAppRunsAsFuncStartsIt(t *testing.T) {
	t.Parallel()
	s := testenv.Must(system.Start(t.Context(), system.Config{
		Parts: []system.Part{system.ServiceBus, system.Cosmos, system.Identity}, Addresses: system.FreeAddresses(),
		Settings: map[string]string{"PEOPLE": "sqlite:people.db"},
	}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	handler, app, endpoints := filepath.Join(dir, "handler"), filepath.Join(dir, "dist"), filepath.Join(dir, "endpoints.json")
	build := exec.Command("go", "build", "-trimpath", "-o", handler, "../../handler")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := functionshost.Stage("../..", handler, app); err != nil {
		t.Fatal(err)
	}
	if err := system.WriteEndpoints(endpoints, s.Endpoints()); err != nil {
		t.Fatal(err)
	}
	status, out, errs := env(t, "--for", "func", "--base", example, "--endpoints", endpoints)
	if status != 0 {
		t.Fatal(errs)
	}
	file := filepath.Join(app, "local.settings.json")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	// Filling it in a second time changes nothing.
	if _, again, _ := env(t, "--for", "func", "--base", file, "--endpoints", endpoints); again != out {
		t.Errorf("the second time it is\n%s\nthe first time\n%s", again, out)
	}

	settings := readAsFunc(t, []byte(out))
	if settings["AzureWebJobsStorage"] != "UseDevelopmentStorage=true" || settings["FUNCTIONS_WORKER_RUNTIME"] != "custom" || settings["PEOPLE"] != "sqlite:people.db" || settings["DATA_SOURCES"] != "PEOPLE,TENANT_GRAPH" {
		t.Errorf("the settings are %v", settings)
	}
	host := testenv.Must(functionshost.Start(t.Context(), functionshost.Config{AppDir: app, Addr: "127.0.0.1:0", Settings: settings, Output: io.Discard}))(t)
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	token := testenv.Must(s.Entra.IssueUserToken(entra.DefaultAdminUPN, entra.DefaultAdminAPIScope))(t)
	r := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, host.URL()+"/api/runbooks", nil))(t)
	r.Header.Set("Authorization", "Bearer "+token)
	response := testenv.Must(http.DefaultClient.Do(r))(t)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("a request is answered %s", response.Status)
	}
	response = testenv.Must(http.Post(host.URL()+"/_local/functions/scheduler-timer", "application/json", nil))(t)
	if _ = response.Body.Close(); response.StatusCode != http.StatusOK {
		t.Errorf("the timer ran with %s", response.Status)
	}
}

// TestTheExampleIsOfTheDocumentedPorts: the defaults of local up equal the example settings,
// except for the file that each data folder has of its own.
func TestTheExampleIsOfTheDocumentedPorts(t *testing.T) {
	t.Parallel()
	raw := testenv.Must(os.ReadFile(example))(t)
	want := readAsFunc(t, raw)
	status, out, errs := env(t, "--for", "func", "--base", example)
	if status != 0 {
		t.Fatal(errs)
	}
	got := readAsFunc(t, []byte(out))
	if ca := got["EXTRA_CA_FILE"]; !filepath.IsAbs(ca) || !strings.HasSuffix(filepath.ToSlash(ca), ".data/entra/ca.pem") {
		t.Errorf("the certificate is %q", ca)
	}
	got["EXTRA_CA_FILE"] = ""
	if !maps.Equal(got, want) {
		t.Errorf("filled in it is\n%v\nthe example is\n%v", got, want)
	}
}

func TestWhatCannotBeFilledIn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"IsEncrypted":true,"Values":{}}`:   "decrypt",
		`{"IsEncrypted":"no","Values":{}}`:   "IsEncrypted",
		`{"Values":{"PORT":1,"KEY":"s3cr"}}`: "has no Values object",
		`{}`:                                 "has no Values",
		`[]`:                                 "--base",
	} {
		file := filepath.Join(t.TempDir(), "local.settings.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if status, out, errs := env(t, "--for", "func", "--base", file); status != exit.WrongUsage || out != "" || !strings.Contains(errs, want) || strings.Contains(errs, "s3cr") {
			t.Errorf("%s: status %d, %q %q", text, status, out, errs)
		}
	}
	file := filepath.Join(t.TempDir(), "local.settings.json")
	if err := os.WriteFile(file, []byte(`{"IsEncrypted":false,"Host":{"LocalHttpPort":7099},"Values":{"OWN":"a<b>&c"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, _ := env(t, "--for", "func", "--base", file)
	if readAsFunc(t, []byte(out))["OWN"] != "a<b>&c" || !strings.Contains(out, `"LocalHttpPort": 7099`) {
		t.Errorf("what was there is gone:\n%s", out)
	}
}
