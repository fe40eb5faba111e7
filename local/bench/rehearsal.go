package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/system"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/local/tenant/population"
)

// Rehearsal is a migration that is rehearsed on a copy of a large tenant.
type Rehearsal struct {
	People  int    // of the source; 0: none is rehearsed
	Members int    // of the wave
	Example string // the folder of the example tenant-to-tenant
}

// rehearsed has what the steps to a rehearsal take.
type rehearsed struct{ serve, export, exported, rehearse usageOf }

// usageOf is what a step takes.
type usageOf struct {
	elapsed, cpu time.Duration
	peak         int64 // bytes resident
}

// The tenants of the example.
const (
	sourceTenant = "source"
	targetTenant = "target"
)

// rehearsals serves tenants of generated people, exports both, and rehearses a wave on the snapshots: with the commands that an
// administrator uses.
func rehearsals(ctx context.Context, c Config) (r *rehearsed, err error) {
	dir, err := os.MkdirTemp("", "matoolkit-bench-")
	if err != nil {
		return nil, err
	}
	b := &bed{Config: c, dir: dir}
	defer func() { err = errors.Join(err, b.stop(), os.RemoveAll(dir)) }()
	named, err := entra.NamedTenants(sourceTenant, targetTenant)
	if err != nil {
		return nil, err
	}
	c.progress("generate %d people", c.Rehearsal.People)
	if err := b.generate(named); err != nil {
		return nil, err
	}
	r = new(rehearsed)
	c.progress("serve them")
	began := time.Now()
	endpoints := b.file("identity.json")
	p, err := b.spawn("identity", nil, b.Matoolkit, "local", "up", "--parts", "identity", "--ephemeral", "--free-ports", "--endpoints", endpoints,
		"--tenants", sourceTenant+"="+b.file("generated-source")+","+targetTenant+"="+b.file("generated-target"))
	if err == nil {
		b.endpoints, err = system.WaitEndpoints(ctx, endpoints, p)
	}
	if err != nil {
		return nil, errors.Join(err, b.logs())
	}
	r.serve.elapsed = time.Since(began)
	used, err := processUsage("identity", p.PID())
	if err != nil {
		return nil, err
	}
	r.serve.cpu, r.serve.peak = used.cpu, used.peak
	for _, t := range named {
		c.progress("export %s", t.Name)
		took, err := b.command(ctx, map[string]string{
			"MATOOLKIT_AUTHORITY": b.endpoints.CLI["MATOOLKIT_AUTHORITY"], "MATOOLKIT_CA_FILE": b.endpoints.CLI["MATOOLKIT_CA_FILE"], "MATOOLKIT_EXPORT_CLIENT_SECRET": b.endpoints.Workers[t.Name]["APP_SECRET"],
		}, "tenant", "export", "--tenant", t.TenantID, "--app", t.WorkerClientID, "--graph-url", b.endpoints.TenantURL, "--exchange-url", b.endpoints.TenantURL,
			"--mailbox-details", "none", "--out", b.file(t.Name))
		if err != nil {
			return nil, err
		}
		if t.Name == sourceTenant {
			r.export = took
		}
	}
	if used, err = processUsage("identity", p.PID()); err != nil {
		return nil, err
	}
	r.exported = usageOf{cpu: used.cpu - r.serve.cpu, peak: used.peak}
	if err := b.stop(); err != nil {
		return nil, err
	}
	c.progress("rehearse %d of them", c.Rehearsal.Members)
	r.rehearse, err = b.command(ctx, nil, "rehearse", filepath.Join(c.Rehearsal.Example, "runbook.yaml"), "--members", b.file("members.csv"), "--source", b.file(sourceTenant),
		"--target", b.file(targetTenant), "--start", "2026-12-01 18:00", "--parallelism", "20", "--removals", "0", "--json", b.file("report.json"))
	if err != nil {
		return nil, err
	}
	if err := b.allSucceeded(); err != nil {
		return nil, err
	}
	t := Table{Name: fmt.Sprintf("A wave of %d rehearsed on a snapshot of a tenant of %s people", c.Rehearsal.Members, grouped(c.Rehearsal.People)), Columns: []string{"step", "seconds", "CPU s", "peak MB"}}
	for _, step := range []struct {
		name string
		used usageOf
	}{
		{"local up with the generated tenant and a small one", r.serve}, {"tenant export", r.export}, {"local up during the exports", r.exported}, {"rehearse", r.rehearse},
	} {
		elapsed := any("")
		if step.used.elapsed > 0 {
			elapsed = one(step.used.elapsed.Seconds())
		}
		t.Rows = append(t.Rows, []any{step.name, elapsed, one(step.used.cpu.Seconds()), step.used.peak >> 20})
	}
	c.add(t)
	return r, nil
}

// generate writes a source with many people, a target without them, and the members.
func (b *bed) generate(named []entra.Named) error {
	for _, t := range named {
		text, err := os.ReadFile(filepath.Join(b.Rehearsal.Example, t.Name+".json"))
		if err != nil {
			return err
		}
		var seed tenant.Seed
		if err := json.Unmarshal(text, &seed); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		people := b.Rehearsal.People
		if t.Name == targetTenant {
			people = 0
			for i := range seed.Licenses {
				seed.Licenses[i].Enabled += b.Rehearsal.Members
			}
		}
		if err := population.Write(b.file("generated-"+t.Name), t.TenantID, seed, people); err != nil {
			return err
		}
	}
	members, err := os.Create(b.file("members.csv"))
	if err != nil {
		return err
	}
	return errors.Join(population.Members(members, b.Rehearsal.Members), members.Close())
}

// command runs a command of matoolkit to its end.
func (b *bed) command(ctx context.Context, env map[string]string, args ...string) (used usageOf, err error) {
	cmd := exec.CommandContext(ctx, b.Matoolkit, args...)
	cmd.Env = os.Environ()
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return used, fmt.Errorf("matoolkit %s %s: %w: %s", args[0], args[1], err, out[max(0, len(out)-2000):])
	}
	used.elapsed = time.Since(began)
	used.cpu, used.peak = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), peakOf(cmd.ProcessState)
	return used, nil
}

// allSucceeded is an error when a member failed in the rehearsal: then it did less.
func (b *bed) allSucceeded() error {
	text, err := os.ReadFile(b.file("report.json"))
	if err != nil {
		return err
	}
	var report struct {
		Succeeded int
		Errors    []struct{ Phase, Step, Error string }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return err
	}
	if report.Succeeded != b.Rehearsal.Members {
		return fmt.Errorf("%d of %d members succeeded: %+v", report.Succeeded, b.Rehearsal.Members, report.Errors[:min(len(report.Errors), 3)])
	}
	return nil
}
