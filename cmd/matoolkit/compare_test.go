package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/cmd/matoolkit/rehearse"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/simulate"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// night is a batch beside its rehearsal a week before: three phases, of which one took too long and one has not ended, and an
// error of each kind.
func night(t *testing.T) (*rehearse.Report, rehearse.Reality) {
	t.Helper()
	text := []byte(`
name: moves
data_source: {type: csv, primary_key: Upn}
phases:
  - name: prepare
    offset: T-1d
    steps:
      - {name: license, worker_id: w, function: Add-EntraUserLicense, params: {UserId: "{{Upn}}"}}
      - {name: address, worker_id: w, function: Set-EntraProxyAddresses, params: {UserId: "{{Upn}}"}}
  - name: cut-over
    offset: T-0
    steps: [{name: rename, worker_id: w, function: Set-EntraUserUPN, params: {UserId: "{{Upn}}"}}]
`)
	at := func(day, hour, minute int) *time.Time {
		return new(time.Date(2026, 12, day, hour, minute, 0, 0, time.UTC))
	}
	failed := func(phase, step, function, member, text string) simulate.Failure {
		return simulate.Failure{Batch: 1, Phase: phase, Step: step, Function: function, Member: member, Error: text}
	}
	unpredicted := failed("checks", "mailbox", "Test-ExchangeMailbox", "eva@contoso.com", "has no mailbox")
	unpredicted.Warning = true
	r := &rehearse.Report{
		Format: rehearse.Format, Runbook: "moves", Start: *at(1, 18, 0),
		Batches: []rehearse.Batch{{ID: 1, Start: *at(1, 18, 0), Members: []string{"ada@contoso.com", "ben@contoso.com", "chen@contoso.com", "eva@contoso.com", "dan@contoso.com", "gone@contoso.com"}}},
		Phases: []rehearse.Phase{
			{Batch: 1, Name: "init", Status: "completed", StartedAt: at(1, 9, 0), EndedAt: at(1, 9, 1), Seconds: 60},
			{Batch: 1, Name: "prepare", Status: "completed", StartedAt: at(1, 10, 0), EndedAt: at(1, 11, 0), Seconds: 3600, Succeeded: 4, Failed: 2},
			{Batch: 1, Name: "cut-over", Status: "completed", StartedAt: at(1, 18, 0), EndedAt: at(1, 18, 10), Seconds: 600, Succeeded: 4},
		},
		Timeline: &simulate.Timeline{Failures: []simulate.Failure{
			failed("prepare", "license", "Add-EntraUserLicense", "ben@contoso.com", "no licence of SPE_E5 is left"),
			failed("prepare", "license", "Add-EntraUserLicense", "chen@contoso.com", "no licence of SPE_E5 is left"),
			failed("prepare", "address", "Set-EntraProxyAddresses", "dan@contoso.com", "another object has dan@contoso.com"),
			failed("prepare", "address", "Set-EntraProxyAddresses", "gone@contoso.com", "another object has gone@contoso.com"),
			failed("cut-over", "rename", "Set-EntraUserUPN", "eva@contoso.com", "the domain is federated"),
			unpredicted,
		}},
	}
	real := rehearse.Reality{
		Text: text,
		Batch: api.Batch{
			ID: 42, RunbookName: "moves", RunbookVersion: 3, Status: api.BatchActive, BatchStartTime: at(8, 18, 0), Checks: &api.CheckCounts{Done: true},
			Phases: []api.Phase{
				{Name: "init", Kind: api.KindInit, Status: api.PhaseCompleted, DispatchedAt: at(8, 9, 0), CompletedAt: at(8, 9, 1)},
				{Name: "prepare", Kind: api.KindPhase, Status: api.PhaseCompleted, DispatchedAt: at(8, 10, 5), CompletedAt: at(8, 12, 5), Succeeded: 3, Failed: 3},
				{Name: "cut-over", Kind: api.KindPhase, Status: api.PhaseDispatched, DispatchedAt: at(8, 18, 0)},
				{Name: "removal", Kind: api.KindRemoval, Status: api.PhaseCompleted},
			},
		},
	}
	for _, key := range []string{"ada@contoso.com", "ben@contoso.com", "chen@contoso.com", "dan@contoso.com", "eva@contoso.com", "new@contoso.com"} {
		real.Members = append(real.Members, api.Member{Key: key})
	}
	real.Steps = append(real.Steps, []api.Step{
		{Phase: "prepare", Kind: api.KindPhase, Name: "license", Function: "Add-EntraUserLicense", MemberKey: "ben@contoso.com", Error: "no licence of SPE_E5 is left"},
		{Phase: "prepare", Kind: api.KindPhase, Name: "license", Function: "Add-EntraUserLicense", MemberKey: "ada@contoso.com", Error: "no licence of SPE_E5 is left"},
		{Phase: "prepare", Kind: api.KindPhase, Name: "address", Function: "Set-EntraProxyAddresses", MemberKey: "dan@contoso.com", Error: "Another object with the same value for property proxyAddresses already exists. (Request_BadRequest)"},
		{Phase: "prepare", Kind: api.KindPhase, Name: "address", Function: "Set-EntraProxyAddresses", MemberKey: "new@contoso.com", Error: "the mailbox is not ready"},
		{Phase: "checks", Kind: api.KindCheck, Name: "mailbox", Function: "Test-ExchangeMailbox", MemberKey: "eva@contoso.com", Error: "has no mailbox"},
	}...)
	real.Checks = []api.Check{{MemberKey: "eva@contoso.com", Name: "mailbox", Function: "Test-ExchangeMailbox", Status: api.CheckFailed, Error: "has no mailbox"}}
	return r, real
}

// printed are the outputs of a comparison with options.
func printed(t *testing.T, c *rehearse.Comparison, options ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := cli.NewRoot(command.Environment{Stdout: &out, Stderr: &out})
	root.AddCommand(&cobra.Command{Use: "show", RunE: func(cmd *cobra.Command, _ []string) error { return printComparison(cmd, c, "observed.json") }})
	root.SetArgs(append([]string{"show"}, options...))
	if status := cli.Execute(t.Context(), root); status != exit.OK {
		t.Fatalf("status %d: %s", status, &out)
	}
	return out.String()
}

func TestComparisonIsPrinted(t *testing.T) {
	t.Parallel()
	c := testenv.Must(rehearse.Compare(night(t)))(t)
	var encoded bytes.Buffer
	if err := c.JSON(&encoded); err != nil {
		t.Fatal(err)
	}
	for file, got := range map[string]string{"comparison.txt": printed(t, c), "comparison.quiet": printed(t, c, "--quiet"), "comparison.json": encoded.String()} {
		golden(t, file, got)
	}
}

// calm is a night that went as rehearsed, but that Chen and Eva did not fail.
func calm(t *testing.T) (*rehearse.Report, rehearse.Reality) {
	t.Helper()
	r, real := night(t)
	prepare, cutOver := &real.Batch.Phases[1], &real.Batch.Phases[2]
	prepare.CompletedAt = new(prepare.DispatchedAt.Add(time.Hour))
	cutOver.CompletedAt, cutOver.Status = new(cutOver.DispatchedAt.Add(10*time.Minute)), api.PhaseCompleted
	real.Batch.Status = api.BatchCompleted
	real.Steps = slices.DeleteFunc(real.Steps, func(s api.Step) bool { return s.MemberKey == "ada@contoso.com" })
	for i := range real.Members {
		real.Members[i].ID = i + 1
	}
	return r, real
}

// People who were in the batch for a part of it only are named, and not compared.
func TestPeopleWhoLeftOrCameAreNotCompared(t *testing.T) {
	t.Parallel()
	const chen, eva = "chen@contoso.com", "eva@contoso.com"
	at := time.Date(2026, 12, 8, 9, 0, 0, 0, time.UTC)
	license := api.Step{Phase: "prepare", Kind: api.KindPhase, Name: "license", Function: "Add-EntraUserLicense", MemberKey: chen, Error: "no licence of SPE_E5 is left"}
	as := func(m api.Member, id int) api.Member { m.ID = id; return m }
	for name, tc := range map[string]struct {
		chen, eva   api.Member
		more        []api.Member // further members
		steps       []api.Step   // that failed, too
		leftOut     []string
		asPredicted bool
	}{
		"removed":                             {chen: api.Member{RemovedAt: &at}, eva: api.Member{RemovedAt: &at}, leftOut: []string{chen, eva}, asPredicted: true},
		"moved to another batch":              {chen: api.Member{RemovedAt: &at, MovedToID: 43}, eva: api.Member{MovedTo: &at}, leftOut: []string{chen, eva}, asPredicted: true},
		"came with finished phases":           {chen: api.Member{MovedFrom: 41, Carried: []string{"prepare"}}, eva: api.Member{MovedFrom: 41, Carried: []string{"prepare", "cut-over"}}, leftOut: []string{chen, eva}, asPredicted: true},
		"came without finished phases":        {chen: api.Member{MovedFrom: 41}, eva: api.Member{RemovedAt: &at}, leftOut: []string{eva}},
		"removed, failed as no one predicted": {chen: api.Member{RemovedAt: &at}, eva: api.Member{RemovedAt: &at}, steps: []api.Step{{Phase: "prepare", Kind: api.KindPhase, Name: "address", MemberKey: chen, MemberID: 3, Error: "broken"}}, leftOut: []string{chen, eva}, asPredicted: true},
		"removed, and added again": {
			chen: api.Member{RemovedAt: &at}, eva: api.Member{RemovedAt: &at}, more: []api.Member{{ID: 9, Key: chen}},
			steps: []api.Step{
				{Phase: "prepare", Kind: api.KindPhase, Name: "address", MemberKey: chen, MemberID: 3, Error: "broken before the removal"},
				func() api.Step { s := license; s.MemberID = 9; return s }(),
			},
			leftOut: []string{eva}, asPredicted: true,
		},
		"all stayed": {leftOut: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, real := calm(t)
			for i, m := range real.Members {
				switch m.Key {
				case chen:
					real.Members[i] = as(tc.chen, m.ID)
				case eva:
					real.Members[i] = as(tc.eva, m.ID)
				}
				real.Members[i].Key = m.Key
			}
			real.Members, real.Steps = append(real.Members, tc.more...), append(real.Steps, tc.steps...)
			c := testenv.Must(rehearse.Compare(r, real))(t)
			if !slices.Equal(c.LeftOut, tc.leftOut) || c.AsPredicted != tc.asPredicted || c.Members != 5-len(tc.leftOut) || !slices.Equal(c.OnlyRehearsed, []string{"gone@contoso.com"}) {
				t.Errorf("left out %q, as predicted %v, %d members, only rehearsed %q; errors %+v", c.LeftOut, c.AsPredicted, c.Members, c.OnlyRehearsed, c.Errors)
			}
			if out := printed(t, c); strings.Contains(out, "removed or moved, and not compared") != (len(tc.leftOut) > 0) {
				t.Errorf("%s", out)
			}
		})
	}
}

// A comparison says what becomes of phases that have not ended.
func TestComparisonSaysWhatHasNotEnded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*rehearse.Report, *rehearse.Reality)
		want   string
	}{
		"an open batch": {func(_ *rehearse.Report, real *rehearse.Reality) { real.Batch.Status = api.BatchActive }, "Some phases have not ended in both. Compare again when they have."},
		"cancelled before a phase": {func(_ *rehearse.Report, real *rehearse.Reality) {
			real.Batch.Status = api.BatchCancelled
			p := &real.Batch.Phases[2]
			p.Status, p.DispatchedAt, p.CompletedAt = api.PhaseCancelled, nil, p.DispatchedAt
		}, "The batch ended without these phases, which are not compared: cut-over."},
		"cancelled in a phase": {func(r *rehearse.Report, real *rehearse.Reality) {
			real.Batch.Status = api.BatchCancelled
			p := &real.Batch.Phases[2]
			p.Status, p.CompletedAt = api.PhaseCancelled, new(p.DispatchedAt.Add(time.Minute))
			r.Timeline.Failures = []simulate.Failure{{Batch: 1, Phase: "cut-over", Step: "rename", Function: "Set-EntraUserUPN", Member: "eva@contoso.com", Error: "the domain is federated"}}
		}, "The batch ended without these phases, which are not compared: cut-over."},
		"a rehearsal that stopped": {func(r *rehearse.Report, real *rehearse.Reality) {
			real.Batch.Phases[2].CompletedAt, r.Phases[2].EndedAt = new(real.Batch.Phases[2].DispatchedAt.Add(time.Minute)), nil
		}, "The rehearsal ended without these phases, which are not compared: cut-over."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, real := calm(t)
			real.Batch.Phases[2].CompletedAt = nil
			r.Timeline.Failures, real.Steps, real.Checks = nil, nil, nil
			tc.change(r, &real)
			out := printed(t, testenv.Must(rehearse.Compare(r, real))(t))
			if !strings.Contains(out, tc.want) || strings.Count(out, "phases") != strings.Count(tc.want, "phases") {
				t.Errorf("want %q:\n%s", tc.want, out)
			}
		})
	}
}

// golden compares a text with a file in testdata, or writes the file with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("%s (%v): -update writes it; got\n%s", file, err, got)
	}
}

// The differences of a batch that ended as predicted are none, and its entries are written once.
func TestEntriesAreMerged(t *testing.T) {
	t.Parallel()
	c := testenv.Must(rehearse.Compare(night(t)))(t)
	path := filepath.Join(t.TempDir(), "observed.json")
	if err := os.WriteFile(path, []byte(`{"unmodelled": [{"functions": ["*"], "behaviour": "Mondays."}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	write := func() string {
		table := testenv.Must(readEntries(path))(t)
		if err := writeEntries(path, rehearse.MergeNotModelled(table, c.Differences)); err != nil {
			t.Fatal(err)
		}
		return string(testenv.Must(os.ReadFile(path))(t))
	}
	first := write()
	if second := write(); second != first || !strings.Contains(first, "Mondays.") {
		t.Errorf("%s\nthen\n%s", first, second)
	}
	if strings.Contains(first, "@contoso.com") {
		t.Errorf("the entries name members: %s", first)
	}
	c.Differences[0].Observed[0].Batch = 43 // another batch meets the same
	if third := testenv.Must(readEntries(path))(t); len(rehearse.MergeNotModelled(third, c.Differences)) != len(third) || strings.Count(write(), `"batchId"`) != strings.Count(first, `"batchId"`)+1 {
		t.Errorf("the entry is not merged: %s", write())
	}
}

func TestCompareRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	r, _ := night(t)
	r.Digest = "sha256:00"
	good := file("good.json", string(testenv.Must(json.Marshal(r))(t)))
	r.Format = 9
	newer := file("newer.json", string(testenv.Must(json.Marshal(r))(t)))
	for name, tc := range map[string]struct {
		args   []string
		want   string
		status int
	}{
		"a runbook":            {[]string{file("runbook.yaml", "name: moves"), "--compare", "42"}, "not the report of a rehearsal as JSON", exit.Refused},
		"other JSON":           {[]string{file("other.json", `{"users": []}`), "--compare", "42"}, "give the file that --json wrote", exit.Refused},
		"another format":       {[]string{newer, "--compare", "42"}, "the report has format 9", exit.Refused},
		"no file":              {[]string{filepath.Join(folder, "none.json"), "--compare", "42"}, "no such file", exit.WrongUsage},
		"no batch":             {[]string{good, "--compare", ""}, "invalid batch", exit.WrongUsage},
		"no API":               {[]string{good, "--compare", "42"}, "the address of the admin API is not set", exit.WrongUsage},
		"options":              {[]string{good, "--compare", "42", "--members", "m.csv", "--parallelism", "3"}, "omit --members, --parallelism", exit.WrongUsage},
		"broken entries":       {[]string{good, "--compare", "42", "--entries", file("broken.json", `{"unmodelled": [{}]}`)}, "entry 1: give", exit.WrongUsage},
		"entries of no use":    {[]string{"runbook.yaml", "--entries", "x.json"}, "--entries is for --compare", exit.WrongUsage},
		"a table that is none": {[]string{"../../examples/tenant-to-tenant/runbook.yaml", "--members", "../../examples/tenant-to-tenant/members.csv", "--start", "2026-12-01 18:00", "--target", "../../examples/tenant-to-tenant/target.json", "--not-modelled", file("list.json", `[]`)}, "--not-modelled: ", exit.WrongUsage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if status, _, errs := rehearsed(t, tc.args...); status != tc.status || !strings.Contains(errs, tc.want) {
				t.Errorf("status %d, want %d and %q: %s", status, tc.status, tc.want, errs)
			}
		})
	}
}
