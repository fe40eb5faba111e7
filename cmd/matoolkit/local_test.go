package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/system"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/local/tenant/population"
)

func TestWrongUsageOfLocalIsReportedAsSuch(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"local up --parts servicebus,foo":                      `unknown part "foo"`,
		"local env --for nobody":                               `unknown program "nobody"`,
		"local env --for func":                                 "local.settings.json.example",
		"local env --for func --base nowhere":                  "nowhere",
		"local env --base x":                                   "--base needs --for func",
		"local env --endpoints x --data-dir y":                 "--data-dir and --endpoints cannot be given together",
		"local up --ephemeral --data-dir x":                    "--data-dir and --ephemeral cannot be given together",
		"local up --free-ports --host 127.0.0.1:1":             "--free-ports and --host cannot be given together",
		"local up --tenants Source":                            `invalid name of a tenant "Source"`,
		"local up --tenants source,source":                     "the tenant source is given twice",
		"local up --tenants source=nowhere":                    "--tenants source=nowhere: ",
		"local up --tenants source --seed tenant.json":         "give NAME=FILE with one of the tenants source",
		"local up --tenants source --seed target=tenant.json":  "give NAME=FILE with one of the tenants source",
		"local env --tenant source":                            "--tenant needs --for worker",
		"local env --for worker --tenant x --data-dir nowhere": "the system has one tenant, without a name",
		"local":                                       "local needs a command; see matoolkit local --help",
		"local down":                                  `unknown command "down" for "matoolkit local"; see matoolkit local --help`,
		"local up now":                                `too many arguments, from "now" on: matoolkit local up`,
		"local env x":                                 `too many arguments, from "x" on: matoolkit local env`,
		"local tick foo":                              `too many arguments, from "foo" on: matoolkit local tick`,
		"local up --setting PEOPLE":                   "NAME=VALUE",
		"local up --setting A=1 --setting A=2":        "A is given twice",
		"local up --setting MAX_PARALELISM=2":         "--setting: unknown setting MAX_PARALELISM; close names are: MAX_PARALLELISM",
		"local up --no-such-flag":                     "no-such-flag",
		"local demo --app nowhere --worker nothing x": `too many arguments, from "x" on: matoolkit local demo`,
	} {
		var out, errs bytes.Buffer
		root := cli.NewRoot(command.Environment{Stdout: &out, Stderr: &errs})
		root.AddCommand(localCommand())
		root.SetArgs(strings.Fields(args))
		if status := cli.Execute(t.Context(), root); status != exit.WrongUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: status %d, %q", args, status, errs.String())
		}
	}
}

// The state directory says which tenants a system has; each has a worker of its own.
func TestEnvironmentsOfWorkersOfTenants(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tenants := testenv.Must(entra.NamedTenants("source", "target"))(t)
	s := testenv.Must(system.Start(t.Context(), system.Config{
		Parts: []system.Part{system.Identity}, Addresses: system.FreeAddresses(), DataDir: dir, Tenants: tenants,
	}))(t)
	file := filepath.Join(t.TempDir(), "endpoints.json")
	if err := system.WriteEndpoints(file, s.Endpoints()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (status int, out, errs bytes.Buffer) {
		root := cli.NewRoot(command.Environment{Stdout: &out, Stderr: &errs})
		root.AddCommand(localCommand())
		root.SetArgs(append([]string{"local", "env", "--for", "worker"}, args...))
		status = cli.Execute(t.Context(), root)
		return status, out, errs
	}
	for _, where := range [][]string{{"--data-dir", dir}, {"--endpoints", file}} {
		for _, of := range tenants {
			status, out, errs := run(append(where, "--tenant", of.Name)...)
			if status != exit.OK || !strings.Contains(out.String(), "TARGET_TENANT_ID='"+of.TenantID+"'") || !strings.Contains(out.String(), "APP_ID='"+of.WorkerClientID+"'") {
				t.Errorf("%v %s: status %d\n%s%s", where, of.Name, status, out.String(), errs.String())
			}
		}
		if status, _, errs := run(where...); status != exit.WrongUsage || !strings.Contains(errs.String(), "give --tenant with one of source, target") {
			t.Errorf("%v without a tenant: status %d, %s", where, status, errs.String())
		}
		if status, _, errs := run(append(where, "--tenant", "other")...); status != exit.WrongUsage || !strings.Contains(errs.String(), `unknown tenant "other": use one of source, target`) {
			t.Errorf("%v and another tenant: status %d, %s", where, status, errs.String())
		}
	}
}

// TestUpWithACopy seeds the copy of a real tenant, whose secret is in the file of the endpoints only.
func TestUpWithACopy(t *testing.T) {
	t.Parallel()
	folder, seed, file := t.TempDir(), filepath.Join(t.TempDir(), "seed.json"), filepath.Join(t.TempDir(), "endpoints.json")
	err := population.Write(folder, "7e4a1c52-0000-4000-8000-00000000000a", tenant.Seed{}, 1)
	if err == nil {
		err = os.WriteFile(seed, []byte(`{"users": [{"userPrincipalName": "ada@contoso.com", "mailNickname": "ada", "displayName": "Ada", "accountEnabled": true}]}`), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, errs testenv.Buffer
	root := cli.NewRoot(command.Environment{Stdout: &out, Stderr: &errs})
	root.AddCommand(localCommand())
	root.SetArgs([]string{"local", "up", "--parts", "identity", "--ephemeral", "--free-ports", "--endpoints", file, "--tenants", "source=" + folder, "--seed", "source=" + seed, "--verbose"})
	ended := make(chan int, 1)
	go func() { ended <- cli.Execute(ctx, root) }()
	var e system.Endpoints
	testenv.Eventually(t, "the system is ready", func() bool {
		e, err = system.ReadEndpoints(file)
		return err == nil || len(ended) > 0
	})
	worker := e.Workers["source"]
	credential := testenv.Must(azidentity.NewClientSecretCredential(worker["TARGET_TENANT_ID"], worker["APP_ID"], worker["APP_SECRET"], &azidentity.ClientSecretCredentialOptions{
		ClientOptions:            azcore.ClientOptions{Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: worker["AZURE_AUTHORITY_HOST"]}, Transport: trusting(t, worker["EXTRA_CA_FILE"])},
		DisableInstanceDiscovery: true,
	}))(t)
	token := testenv.Must(credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{entra.GraphAudience + "/.default"}}))(t)
	for _, tc := range []struct {
		path, token string
		want        int
	}{
		{"/tenants/source/_local/state", "", http.StatusNotFound},
		{"/v1.0/users/ada@contoso.com", "", http.StatusUnauthorized},
		{"/v1.0/users/ada@contoso.com", token.Token, http.StatusOK},
	} {
		r := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, e.TenantURL+tc.path, nil))(t)
		if tc.token != "" {
			r.Header.Set("Authorization", "Bearer "+tc.token)
		}
		response := testenv.Must(http.DefaultClient.Do(r))(t)
		response.Body.Close()
		if response.StatusCode != tc.want {
			t.Errorf("%s: %s, want %d", tc.path, response.Status, tc.want)
		}
	}
	stop()
	if status := <-ended; status != exit.OK || strings.Contains(out.String()+errs.String(), worker["APP_SECRET"]) {
		t.Errorf("status %d\n%s%s", status, out.String(), errs.String())
	}
	if info := testenv.Must(os.Stat(file))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the endpoints has the mode %v", info.Mode())
	}
}

// trusting returns a client that trusts the CA of a local system.
func trusting(t *testing.T, caFile string) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(testenv.Must(os.ReadFile(caFile))(t))
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
}

// A part that is not started is known when its address is given.
func TestPartsWithAnAddressRunElsewhere(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                            "",
		"--servicebus 127.0.0.1:5999": "",
		"--parts host":                "",
		"--parts host --servicebus 127.0.0.1:5999 --tenant 127.0.0.1:5998":    "[identity servicebus]",
		"--parts servicebus --servicebus 127.0.0.1:5999 --cosmos 127.0.0.1:0": "",
	} {
		c, f := upCommand(), &upFlags{}
		if err := c.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		parts, err := c.Flags().GetStringSlice("parts")
		if err != nil {
			t.Fatal(err)
		}
		f.parts = parts
		f.elsewhere(c.Flags())
		slices.Sort(f.config.Elsewhere)
		if got := strings.TrimPrefix(fmt.Sprint(f.config.Elsewhere), "[]"); got != want {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
}

func TestWaitNeedsAHost(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "endpoints.json")
	if err := system.WriteEndpoints(file, system.Endpoints{Addresses: system.Addresses{ServiceBus: "127.0.0.1:5672"}}); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := env(t, "--wait", "--endpoints", file); status != exit.WrongUsage || !strings.Contains(errs, "no Functions host") {
		t.Errorf("status %d, %q", status, errs)
	}
}

func TestUpTellsWhatComesNext(t *testing.T) {
	t.Parallel()
	documented := system.DefaultAddresses()
	for _, tt := range []struct {
		name      string
		flags     upFlags
		addresses system.Addresses
		want      []string
	}{
		{"as it is", upFlags{config: system.Config{DataDir: ".data"}}, documented, []string{`"$(bin/matoolkit local env)"`, `local env --for worker)"`}},
		{"state elsewhere", upFlags{config: system.Config{DataDir: "it's here"}}, documented, []string{`local env --data-dir 'it'\''s here')"`}},
		{"state in a folder of its own", upFlags{config: system.Config{DataDir: ".data/first-hour"}}, documented, []string{`local env --data-dir .data/first-hour)"`}},
		{"other ports", upFlags{config: system.Config{DataDir: ".data"}}, system.FreeAddresses(), []string{"start with --endpoints FILE"}},
		{"other ports, in a file", upFlags{endpoints: "my ep.json", config: system.Config{DataDir: ".data"}}, system.FreeAddresses(), []string{`local env --endpoints 'my ep.json')"`, `local env --for worker --endpoints 'my ep.json')"`}},
		{"one part", upFlags{parts: []string{"cosmos"}}, documented, nil},
		{"no state", upFlags{ephemeral: true}, documented, []string{"start with --endpoints FILE"}},
		{"no state, addresses in a file", upFlags{ephemeral: true, endpoints: "ep.json"}, documented, []string{`local env --endpoints ep.json)"`}},
	} {
		got := next(&tt.flags, tt.addresses)
		if (got == "") != (tt.want == nil) {
			t.Errorf("%s: %q", tt.name, got)
		}
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %q", tt.name, want, got)
			}
		}
	}
}

// The environment of a system that is not there yet is no error: it may still be started.
func TestEnvTellsThatNoSystemHasItsStateThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if status, out, said := env(t, "--data-dir", dir); status != 0 || !strings.Contains(out, "MATOOLKIT_API_URL") || !strings.Contains(said, "No system has its state in "+dir) {
		t.Errorf("%d, %q, %q", status, out, said)
	}
	err := os.MkdirAll(filepath.Join(dir, "entra"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "entra", "ca.pem"), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if status, _, said := env(t, "--data-dir", dir); status != 0 || said != "" {
		t.Errorf("%d, %q", status, said)
	}
}
