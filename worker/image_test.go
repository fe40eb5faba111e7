package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/health"
	"github.com/matoolkit/matoolkit/worker/program"
)

// instruction is one of a Dockerfile, such as USER 65532:65532.
type instruction struct{ name, rest string }

// stages are the instructions of a Dockerfile by stage; those before the first FROM
// form a stage of their own.
func stages(t *testing.T, file string) [][]instruction {
	t.Helper()
	body := testenv.Must(os.ReadFile(file))(t)
	text := regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(string(body), "")
	all := [][]instruction{nil}
	for line := range strings.Lines(regexp.MustCompile(`\\\n\s*`).ReplaceAllString(text, "")) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		if name == "FROM" {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], instruction{name, strings.TrimSpace(rest)})
	}
	return all
}

func of(stage []instruction, name string) (all []string) {
	for _, i := range stage {
		if i.name == name {
			all = append(all, i.rest)
		}
	}
	return all
}

// The image contains only the program, runs as an unprivileged user, and has a
// health command.
func TestImage(t *testing.T) {
	t.Parallel()
	all := stages(t, "Dockerfile")
	if len(all) != 3 {
		t.Fatalf("%d stages", len(all)-1)
	}
	image := all[2]
	for name, want := range map[string][]string{
		"FROM":       {"scratch"},
		"COPY":       {"--from=built /ca-certificates.crt /etc/ssl/certs/ca-certificates.crt", "--from=built /worker /worker"},
		"USER":       {"65532:65532"},
		"ENTRYPOINT": {`["/worker"]`},
		"EXPOSE":     {"8080"},
		"RUN":        nil,
		"VOLUME":     nil,
	} {
		if got := of(image, name); !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	labels := strings.Join(of(image, "LABEL"), " ")
	for _, label := range []string{"title", "description", "source", "version", "revision"} {
		if !regexp.MustCompile(`\borg\.opencontainers\.image\.` + label + `="[^"]+"`).MatchString(labels) {
			t.Errorf("no label %s: %s", label, labels)
		}
	}
	variables := of(image, "ENV")
	if len(variables) != 1 {
		t.Fatalf("variables %q", variables)
	}
	name, address, _ := strings.Cut(variables[0], "=")
	if name != program.EnvHealth || health.CheckAddress(address) != nil || !strings.HasPrefix(address, "0.0.0.0:") || !strings.HasSuffix(address, ":"+of(image, "EXPOSE")[0]) {
		t.Errorf("probes from outside are not answered at the port that is told: %s", variables[0])
	}

	_, check, found := strings.Cut(strings.Join(of(image, "HEALTHCHECK"), ""), " CMD ")
	var command []string
	if !found || json.Unmarshal([]byte(check), &command) != nil || len(command) < 2 || command[0] != "/worker" {
		t.Fatalf("the health check is %q", of(image, "HEALTHCHECK"))
	}
	// No process listens here: the health command must exist and fail for that reason.
	if err := refused(map[string]string{program.EnvHealth: "127.0.0.1:1"}, command[1:]...); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the health check answers %v", err)
	}
}

// What the first stage copies is enough to build the worker, and all that Docker is
// given.
func TestImageIsBuiltFromWhatTheWorkerNeeds(t *testing.T) {
	t.Parallel()
	built := stages(t, "Dockerfile")[1]
	module := testenv.Must(os.ReadFile(filepath.Join("..", "go.mod")))(t)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	if got := of(stages(t, "Dockerfile")[0], "ARG"); len(got) != 1 || got[0] != "GO="+string(version[1]) {
		t.Errorf("it is built with %q, go.mod asks for %s", got, version[1])
	}
	if got := of(built, "COPY"); !slices.Equal(got, []string{"go.mod go.sum ./", "internal ./internal", "worker ./worker"}) {
		t.Fatalf("copied: %q", got)
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const ours = "github.com/matoolkit/matoolkit/"
	for name := range strings.FieldsSeq(string(out)) {
		if at, own := strings.CutPrefix(name, ours); own && !strings.HasPrefix(at, "internal/") && at != "worker" && !strings.HasPrefix(at, "worker/") {
			t.Errorf("the worker imports %s, which is not copied", name)
		}
	}
	ignored := testenv.Must(os.ReadFile(filepath.Join("..", ".dockerignore")))(t)
	var kept []string
	for line := range strings.Lines(string(ignored)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			kept = append(kept, line)
		}
	}
	if !slices.Equal(kept, []string{"*", "!go.mod", "!go.sum", "!internal", "!worker"}) {
		t.Errorf("Docker is given %q", kept)
	}
}

// The image with PowerShell has the worker of another image and its module where PowerShell finds it, and runs as
// the other does. A test cannot build it: its modules come from the PowerShell Gallery.
func TestImageWithPowerShell(t *testing.T) {
	t.Parallel()
	all := stages(t, filepath.Join("powershell", "Dockerfile"))
	if len(all) != 3 || !slices.Equal(of(all[1], "FROM"), []string{"${WORKER} AS worker"}) {
		t.Fatalf("the stages are %v", all)
	}
	image, plain := all[2], stages(t, "Dockerfile")[2]
	if from := of(image, "FROM"); len(from) != 1 || !strings.HasPrefix(from[0], "mcr.microsoft.com/powershell:") || strings.HasSuffix(from[0], ":latest") {
		t.Errorf("it is made from %q", from)
	}
	if got, want := of(image, "COPY"), []string{
		"--chmod=644 worker/powershell/Matoolkit.psm1 /usr/local/share/powershell/Modules/Matoolkit/Matoolkit.psm1", "--from=worker /worker /worker",
	}; !slices.Equal(got, want) {
		t.Errorf("COPY is %q, want %q", got, want)
	}
	for _, name := range []string{"USER", "ENTRYPOINT", "EXPOSE", "HEALTHCHECK"} {
		if got, want := of(image, name), of(plain, name); !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got, want := strings.Fields(of(image, "ENV")[0])[0], of(plain, "ENV")[0]; got != want {
		t.Errorf("probes: %q, want %q", got, want)
	}
	install := strings.Join(of(image, "RUN"), " ")
	for _, argument := range of(image, "ARG") {
		name, version, pinned := strings.Cut(argument, "=")
		if !pinned || version == "" || !strings.Contains(install, "-RequiredVersion ${"+name+"}") {
			t.Errorf("the version %s is not used", argument)
		}
	}
	if strings.Count(install, "Install-Module ") != strings.Count(install, "-RequiredVersion ${") {
		t.Errorf("a module has no version: %s", install)
	}
}
