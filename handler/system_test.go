package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	bus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/loopback"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// The tests drive the real handler, as it is built for Azure, over the protocol
// of the Functions host; what stands behind it is the local system.

var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "handler")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "handler")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir) // a temporary folder
	os.Exit(code)
}

// system is everything that a handler needs.
type system struct {
	cosmos *cosmos.Server
	bus    *servicebus.Server
	entra  *entra.Server
	caFile string
}

func newSystem(t testing.TB) *system {
	t.Helper()
	return newSystemWith(t, func(*servicebus.Config) {})
}

// newSystemWith is a system whose broker is not as usual.
func newSystemWith(t testing.TB, broker func(*servicebus.Config)) *system {
	t.Helper()
	var s system
	s.cosmos = testenv.Started(cosmos.Start(t.Context(), cosmos.Config{}))(t)
	stored := testenv.Must(cosmosstore.Open(cosmosstore.Config{Endpoint: s.cosmos.URL(), Key: s.cosmos.Key(), Database: "matoolkit", Container: "matoolkit"}))(t)
	if err := stored.Provision(t.Context()); err != nil {
		t.Fatal(err)
	}
	namespace := servicebus.Config{Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "SAS_KEY_VALUE"}
	broker(&namespace)
	s.bus = testenv.Started(servicebus.Start(t.Context(), namespace))(t)
	config := entra.DefaultConfig()
	config.Addr = "127.0.0.1:0"
	s.entra = testenv.Started(entra.Start(t.Context(), config))(t)
	s.caFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(s.caFile, s.entra.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	return &s
}

// settings are the app settings that point a handler at the system.
func (s *system) settings() map[string]string {
	settings := bus.DefaultNames().Settings()
	maps.Copy(settings, map[string]string{
		"ServiceBusConnection": s.bus.ConnectionString(),
		"COSMOS_ENDPOINT":      s.cosmos.URL(),
		"COSMOS_KEY":           s.cosmos.Key(),
		"AzureAd__Instance":    s.entra.URL() + "/",
		"AzureAd__TenantId":    entra.DefaultTenantID,
		"AzureAd__ClientId":    entra.DefaultAdminAPIClientID,
		"AzureAd__Audience":    entra.DefaultAdminAPIAudience,
		"EXTRA_CA_FILE":        s.caFile,
		"LOG_LEVEL":            "debug",
	})
	return settings
}

// nowhere are settings of a system that cannot be reached.
func nowhere() map[string]string {
	settings := bus.DefaultNames().Settings()
	maps.Copy(settings, map[string]string{
		"ServiceBusConnection": "Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=k;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;",
		"COSMOS_ENDPOINT":      "http://127.0.0.1:1",
		"COSMOS_KEY":           cosmos.DefaultKey,
		"AzureAd__Instance":    "https://127.0.0.1:1/",
		"AzureAd__TenantId":    entra.DefaultTenantID,
		"AzureAd__ClientId":    entra.DefaultAdminAPIClientID,
	})
	return settings
}

// process is a handler that the test itself plays the host of.
type process struct {
	t              testing.TB
	url            string
	cmd            *exec.Cmd
	stdout, stderr testenv.Buffer
	started        time.Time
	ended          chan struct{}
}

func start(t testing.TB, settings map[string]string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary), started: time.Now(), ended: make(chan struct{})}
	port := freePort(t)
	p.url = "http://127.0.0.1:" + port
	p.cmd.Env = []string{"FUNCTIONS_CUSTOMHANDLER_PORT=" + port}
	for name, value := range settings {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.ended) }() // its state tells
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
		if t.Failed() {
			t.Logf("stdout:\n%s\nstderr:\n%s", p.stdout.String(), p.stderr.String())
		}
	})
	return p
}

// freePort is a port that no other program gets before the end of the test.
func freePort(t testing.TB) string {
	t.Helper()
	port := testenv.Must(loopback.Reserve(0))(t)
	t.Cleanup(port.Close)
	return strconv.Itoa(port.Number)
}

// ready waits for an answer and tells how long it took.
func (p *process) ready() time.Duration {
	p.t.Helper()
	testenv.Eventually(p.t, "an answer to GET /", func() bool {
		response, err := http.Get(p.url + "/")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	})
	return time.Since(p.started)
}

// call posts a chunked payload as the host does and returns the status; the host
// must understand the reply at any status.
func (p *process) call(function, payload string, header ...string) int {
	p.t.Helper()
	request := testenv.Must(http.NewRequestWithContext(context.Background(), http.MethodPost, p.url+"/"+function, io.MultiReader(strings.NewReader(payload))))(p.t)
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set("X-Azure-Functions-InvocationId", "35e6e68c-0000-4000-8000-000000000000")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Error(err)
		return 0
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.Header.Get("Content-Type") != "application/json" || len(body) < 3 || body[0] != '{' {
		p.t.Errorf("%s answered %q of type %q: %v", function, body, response.Header.Get("Content-Type"), err)
	}
	return response.StatusCode
}

// message is the payload of a Service Bus trigger.
func message(data, metadata string) string {
	return fmt.Sprintf(`{"Data":{"message":%s},"Metadata":%s}`, data, metadata)
}
