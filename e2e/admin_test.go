package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// admin is a person with the CLI.
type admin struct {
	t        *testing.T
	env      map[string]string
	batch    string
	advances int           // how many phases of the batch were started
	patience time.Duration // with an outage, and with a phase
	every    time.Duration // between two looks at a phase
}

// newAdmin signs in, publishes the example's runbook and creates its batch.
func newAdmin(m *machine) *admin {
	m.t.Helper()
	return newAdminOf(m, "user-migration", filepath.Join(example, "runbook.yaml"), filepath.Join(example, "members.csv"))
}

// newAdminOf signs in, publishes a runbook and creates a batch of it.
func newAdminOf(m *machine, name, runbook, members string) *admin {
	m.t.Helper()
	a := signIn(m)
	a.must("runbook", "publish", runbook, "--force")
	var b api.Batch
	a.ask(&b, "batch", "create", name, members)
	a.batch = strconv.Itoa(b.ID)
	return a
}

func signIn(m *machine) *admin {
	m.t.Helper()
	a := &admin{t: m.t, env: maps.Clone(m.endpoints.CLI), patience: patience, every: 30 * time.Millisecond}
	a.env["MATOOLKIT_HOME"], a.env["MATOOLKIT_TOKEN_STORE"] = m.path("home"), "file"
	a.must("auth", "login")
	return a
}

// give gives a command to the CLI.
func (a *admin) give(args ...string) (stdout string, status int, err error) {
	var out, errs bytes.Buffer
	root := cli.NewRoot(command.Environment{Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return a.env[name] }})
	root.SetArgs(args)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if status = cli.Execute(ctx, root); status != exit.OK {
		err = fmt.Errorf("%v: status %d: %s", args, status, errs.String())
	}
	return out.String(), status, err
}

func (a *admin) must(args ...string) string {
	a.t.Helper()
	out, _, err := a.give(args...)
	if err != nil {
		a.t.Fatal(err)
	}
	return out
}

func (a *admin) ask(into any, args ...string) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(a.must(append(args, "--output", "json")...)), into); err != nil {
		a.t.Fatal(err)
	}
}

// advance starts the next phase. During an outage it repeats the request until it
// succeeds: the request names the phase, so repetitions start it once.
func (a *admin) advance() error {
	a.advances++
	var last error
	for end := time.Now().Add(a.patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		phases, err := a.phases()
		if err != nil {
			last = err
			continue
		}
		_, status, err := a.give("batch", "advance", a.batch, "--phase", phases[min(a.advances, len(phases))-1].Name)
		if status == exit.OK {
			return nil
		}
		if last = err; status != exit.Unavailable && status != exit.Failed {
			break
		}
		a.t.Log("advancing again after:", err)
	}
	return last
}

// phase reads the status of a phase.
func (a *admin) phase(name string) (api.Phase, error) {
	phases, err := a.phases()
	if err != nil {
		return api.Phase{}, err
	}
	for _, p := range phases {
		if p.Name == name {
			return p, nil
		}
	}
	return api.Phase{}, fmt.Errorf("the batch has no phase %q", name)
}

// phases tells how all of them stand, init first.
func (a *admin) phases() ([]api.Phase, error) {
	out, _, err := a.give("batch", "phases", a.batch, "--output", "json")
	if err != nil {
		return nil, err
	}
	var phases api.Page[api.Phase]
	err = json.Unmarshal([]byte(out), &phases)
	return phases.Items, err
}

// await waits until a phase is as asked for. An outage is waited out.
func (a *admin) await(name string, is func(api.Phase) bool) error {
	var p api.Phase
	var err error
	for end := time.Now().Add(a.patience); time.Now().Before(end); time.Sleep(a.every) {
		if p, err = a.phase(name); err == nil && is(p) {
			return nil
		}
	}
	return fmt.Errorf("phase %s stands at %+v, %v", name, p, err)
}

func ended(p api.Phase) bool { return p.Status == "completed" || p.Status == "failed" }
