package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/functionshost"
	"github.com/matoolkit/matoolkit/local/system"
)

const version = "v1.2.3-packed"

// built is the handler as the package has it, for the architecture of this machine.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pack")
	if err != nil {
		panic(err)
	}
	built = filepath.Join(dir, "handler")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X github.com/matoolkit/matoolkit/internal/buildinfo.Version="+version, "-o", built, "../../handler")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir) // a temporary folder
	os.Exit(code)
}

// staged lays the app out as "make package" does. Its handler cannot be executed, as
// where it was staged on Windows.
func staged(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := functionshost.Stage("../..", built, dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "handler"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// packed runs the tool and returns the exit status and the error message.
func packed(dir, arch, to string, environment ...string) (int, string) {
	var said bytes.Buffer
	status := run([]string{"-app", dir, "-arch", arch, "-out", to}, func(name string) string {
		for i := 0; i+1 < len(environment); i += 2 {
			if environment[i] == name {
				return environment[i+1]
			}
		}
		return ""
	}, io.Discard, &said)
	return status, said.String()
}

// TestThePackageRunsUnderTheHost unpacks the zip file with its modes, as the platform does, and
// calls every kind of trigger.
func TestThePackageRunsUnderTheHost(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "out", "handler.zip")
	if status, said := packed(staged(t), runtime.GOARCH, file); status != 0 {
		t.Fatal(said)
	}
	app := t.TempDir()
	modes := extracted(t, file, app)
	want := map[string]os.FileMode{"handler": 0o755, "host.json": 0o644}
	sources, err := filepath.Glob("../../functions/*/function.json")
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	for _, source := range sources {
		want[filepath.Base(filepath.Dir(source))+"/function.json"] = 0o644
	}
	for name, mode := range want {
		if modes[name] != mode {
			t.Errorf("%s has mode %o, want %o", name, modes[name], mode)
		}
	}
	if len(modes) != len(want) {
		t.Errorf("the package holds %v", modes)
	}
	if runtime.GOOS != "linux" {
		return // the package is for Linux
	}
	if out, err := exec.Command(filepath.Join(app, "handler"), "--version").Output(); err != nil || string(out) != "handler "+version+"\n" {
		t.Errorf("the handler says %q, %v", out, err)
	}

	var lines testenv.Buffer
	s := testenv.Must(system.Start(t.Context(), system.Config{Addresses: system.FreeAddresses(), AppDir: app, Output: &lines, Settings: map[string]string{"LOG_LEVEL": "debug"}}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(lines.String())
		}
	})
	token := testenv.Must(s.Entra.IssueUserToken(entra.DefaultAdminUPN, entra.DefaultAdminAPIScope))(t)
	if status, body := request(t, http.MethodGet, s.APIURL()+"/health", ""); status != 200 || !strings.Contains(body, `"ok"`) || !strings.Contains(lines.String(), version) {
		t.Errorf("its health: %d %s", status, body)
	}
	if status, body := request(t, http.MethodGet, s.APIURL()+"/runbooks", token); status != 200 || !strings.Contains(body, "items") {
		t.Errorf("a request: %d %s", status, body)
	}
	if status, body := request(t, http.MethodPost, s.Host.URL()+"/_local/functions/scheduler-timer", ""); status != 200 || !strings.Contains(lines.String(), `"msg":"tick"`) {
		t.Errorf("the timer: %d %s", status, body)
	}
	for _, topic := range []string{"orchestrator-events", "worker-results"} {
		send(t, s.ServiceBusConnection(), topic)
		testenv.Eventually(t, "the message on "+topic+" reaching the handler", func() bool { return strings.Contains(lines.String(), `"MessageId":"m-`+topic+`"`) })
	}
}

// extracted unpacks a zip file and gives the mode of each file in it.
func extracted(t *testing.T, file, to string) map[string]os.FileMode {
	t.Helper()
	r := testenv.Must(zip.OpenReader(file))(t)
	defer r.Close()
	modes := map[string]os.FileMode{}
	for _, f := range r.File {
		const unix, regular = 3, 0o100000
		if f.CreatorVersion>>8 != unix || f.ExternalAttrs>>16 != regular|uint32(f.Mode().Perm()) {
			t.Errorf("%s: made on system %d, external attributes %#x", f.Name, f.CreatorVersion>>8, f.ExternalAttrs)
		}
		modes[f.Name] = f.Mode().Perm()
		content := testenv.Must(f.Open())(t)
		raw := testenv.Must(io.ReadAll(content))(t)
		path := filepath.Join(to, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw, f.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return modes
}

func request(t *testing.T, method, url, token string) (int, string) {
	t.Helper()
	r := testenv.Must(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("")))(t)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response := testenv.Must(http.DefaultClient.Do(r))(t)
	defer response.Body.Close()
	body := testenv.Must(io.ReadAll(response.Body))(t)
	return response.StatusCode, string(body)
}

// send sends a message that the handler keeps as one that it cannot process.
func send(t *testing.T, connection, topic string) {
	t.Helper()
	client := testenv.Must(azservicebus.NewClientFromConnectionString(connection, nil))(t)
	defer client.Close(context.Background())
	sender := testenv.Must(client.NewSender(topic, nil))(t)
	id := "m-" + topic
	if err := sender.SendMessage(t.Context(), &azservicebus.Message{MessageID: &id, Body: []byte("x")}, nil); err != nil {
		t.Fatal(err)
	}
}

func TestThePackageIsReproducible(t *testing.T) {
	t.Parallel()
	first, second := filepath.Join(t.TempDir(), "a.zip"), filepath.Join(t.TempDir(), "a.zip")
	for _, file := range []string{first, second} {
		if status, said := packed(staged(t), runtime.GOARCH, file, "SOURCE_DATE_EPOCH", "1767323045"); status != 0 {
			t.Fatal(said)
		}
	}
	if read(t, first) != read(t, second) {
		t.Error("the same files at the same time make two packages")
	}
	if sum := read(t, first+".sha256"); sum != read(t, second+".sha256") || !strings.HasSuffix(sum, "  a.zip\n") || len(sum) != 64+len("  a.zip\n") {
		t.Errorf("the sum is %q", sum)
	}
	r := testenv.Must(zip.OpenReader(first))(t)
	defer r.Close()
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
		if f.Modified.Unix() != 1767323045 {
			t.Errorf("%s is of %s", f.Name, f.Modified)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("the files stand as %q", names)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw := testenv.Must(os.ReadFile(file))(t)
	return string(raw)
}

// TestInvalidAppIsNotPacked: each mistake is refused by name, and an earlier package stays.
func TestInvalidAppIsNotPacked(t *testing.T) {
	t.Parallel()
	const timer = `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"0 0 0 1 1 *"}]}`
	otherArch := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	for name, tc := range map[string]struct {
		change      func(dir string) error
		arch        string
		environment []string
		want        string
	}{
		"settings of a machine":      {change: with("local.settings.json", "{}"), want: "local.settings.json does not belong in the app"},
		"a stray file of a function": {change: with("admin-http/notes.txt", ""), want: "notes.txt does not belong"},
		"a folder of no function":    {change: with("scheduler/schedule.json", ""), want: "scheduler is a folder without function.json"},
		"a function without a file":  {change: without("admin-http/function.json"), want: "admin-http is a folder without function.json"},
		"an empty host.json":         {change: with("host.json", "{}"), want: "host.json: version"},
		"a name the host refuses":    {change: with("2nd/function.json", timer), want: `invalid function name "2nd"`},
		"names that differ by case":  {change: with("Scheduler-Timer/function.json", timer), want: "differ only in case"},
		"a broken function.json":     {change: with("admin-http/function.json", "{"), want: "admin-http/function.json"},
		"no host.json":               {change: without("host.json"), want: "host.json"},
		"another executable":         {change: with("host.json", `{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"worker"},"enableProxyingHttpRequest":true}}`), want: `starts "worker"`},
		"no handler":                 {change: without("handler"), want: "handler"},
		"a handler that is a link": {change: func(dir string) error {
			return errors.Join(without("handler")(dir), os.Symlink(built, filepath.Join(dir, "handler")))
		}, want: "not a regular file"},
		"a script":                   {change: with("handler", "#!/bin/sh\n"), want: "not an executable for Linux"},
		"a handler of Windows":       {change: with("handler", "MZ\x90\x00"), want: "not an executable for Linux"},
		"another architecture":       {arch: otherArch, want: "is built for"},
		"an unknown architecture":    {arch: "riscv64", want: "amd64 or arm64"},
		"an object file":             {change: handler(func(raw []byte) { binary.LittleEndian.PutUint16(raw[16:], uint16(elf.ET_REL)) }), want: "its type is ET_REL"},
		"linked dynamically":         {change: handler(interpreted), want: "CGO_ENABLED=0"},
		"not of Go":                  {change: handler(replaced("Go buildinf:", "No buildinf:")), want: "not a Go program"},
		"another program":            {change: handler(replaced("matoolkit/handler\n", "matoolkit/handles\n")), want: "is the program github.com/matoolkit/matoolkit/handles"},
		"built with cgo":             {change: handler(replaced("CGO_ENABLED=0", "CGO_ENABLED=1")), want: `CGO_ENABLED "1"`},
		"with paths of a machine":    {change: handler(replaced("-trimpath=true", "-trimpath=fals")), want: "-trimpath"},
		"a time that is no time":     {environment: []string{"SOURCE_DATE_EPOCH", "now"}, want: "SOURCE_DATE_EPOCH"},
		"a time before all zips":     {environment: []string{"SOURCE_DATE_EPOCH", "1"}, want: "SOURCE_DATE_EPOCH"},
		"a time long after":          {environment: []string{"SOURCE_DATE_EPOCH", "99999999999"}, want: "SOURCE_DATE_EPOCH"},
		"a folder that is not there": {change: os.RemoveAll, want: "host.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, to := staged(t), filepath.Join(t.TempDir(), "app.zip")
			if tc.change != nil {
				if err := tc.change(dir); err != nil {
					t.Fatal(err)
				}
			}
			for _, file := range []string{to, to + ".sha256"} {
				if err := os.WriteFile(file, []byte("earlier"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			status, said := packed(dir, cmp.Or(tc.arch, runtime.GOARCH), to, tc.environment...)
			if status != 1 || !strings.Contains(said, tc.want) {
				t.Errorf("status %d, %q; want %q", status, said, tc.want)
			}
			if read(t, to) != "earlier" || read(t, to+".sha256") != "earlier" {
				t.Error("the earlier package is gone")
			}
		})
	}
}

// with puts a file into the staged folder, without takes one out.
func with(name, text string) func(string) error {
	return func(dir string) error {
		file := filepath.Join(dir, filepath.FromSlash(name))
		return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600))
	}
}

func without(name string) func(string) error {
	return func(dir string) error { return os.Remove(filepath.Join(dir, filepath.FromSlash(name))) }
}

// handler changes the staged handler.
func handler(change func([]byte)) func(string) error {
	return func(dir string) error {
		raw, err := os.ReadFile(built)
		if err != nil {
			return err
		}
		change(raw)
		return os.WriteFile(filepath.Join(dir, "handler"), raw, 0o600)
	}
}

// replaced puts one text for another of the same length.
func replaced(from, to string) func([]byte) {
	return func(raw []byte) {
		for rest := raw; ; {
			i := bytes.Index(rest, []byte(from))
			if i < 0 {
				return
			}
			copy(rest[i:], to)
			rest = rest[i+len(from):]
		}
	}
}

// interpreted makes the first segment name a dynamic linker.
func interpreted(raw []byte) {
	segments := binary.LittleEndian.Uint64(raw[32:])
	binary.LittleEndian.PutUint32(raw[segments:], uint32(elf.PT_INTERP))
}

func TestWrongUsageIsReportedAsSuch(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"-app", "x"}, {"-app", "x", "-arch", "amd64", "-out", "y", "z"}, {"-no-such-flag"}} {
		var said bytes.Buffer
		if status := run(args, os.Getenv, io.Discard, &said); status != 2 || said.Len() == 0 {
			t.Errorf("%q: status %d, %q", args, status, said.String())
		}
	}
}
