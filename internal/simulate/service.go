package simulate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/signature"
)

// Service simulates for callers of the API. It is safe for concurrent use.
type Service struct {
	// Functions gives the functions that workers have announced.
	Functions func(ctx context.Context, workers []string) (lint.Catalogs, error)
	// TempDir is the folder of the lists that are being read; os.TempDir when empty.
	TempDir string
}

// The parts of an answer that are cut short.
const (
	maxEvents  = 500
	maxFailed  = 100
	maxTexts   = 200 // warnings, and what remains
	maxBatches = 100
)

// listName is how texts name the list of members.
const listName = "members.csv"

// Simulate plays a runbook with the members of a CSV. Jobs succeed after a second, unless the workers lack their
// function. Errors: CodeInvalid with the mistake; CodeTooLarge; CodeUnavailable.
func (s Service) Simulate(ctx context.Context, request api.SimulationRequest) (api.Simulation, error) {
	if request.Start.IsZero() {
		return api.Simulation{}, problem.New(api.CodeInvalid, "start is missing: give the time at which the migration starts")
	}
	if n := strings.Count(strings.TrimRight(request.Members, "\r\n"), "\n"); n > api.MaxSimulatedMembers {
		return api.Simulation{}, problem.New(api.CodeTooLarge, "the list has %d rows; a simulation can have %d: use matoolkit runbook simulate for more", n, api.MaxSimulatedMembers)
	}
	functions, err := s.functions(ctx, request.YAML)
	if err != nil {
		return api.Simulation{}, err
	}
	folder, err := os.MkdirTemp(s.TempDir, "simulation")
	if err != nil {
		return api.Simulation{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	list := filepath.Join(folder, listName)
	if err := os.WriteFile(list, []byte(request.Members), 0o600); err != nil {
		return api.Simulation{}, err
	}
	t, err := Run(ctx, Config{Runbook: []byte(request.YAML), Members: list, Start: request.Start, Functions: functions, Approve: request.Approve})
	if err != nil {
		return api.Simulation{}, explain(ctx, err, folder)
	}
	return view(t, folder), nil
}

// functions are those that the workers of a runbook have announced; nil if none has, or the text cannot be read.
func (s Service) functions(ctx context.Context, yaml string) ([]signature.Function, error) {
	rb, _ := runbook.Read([]byte(yaml))
	if rb == nil {
		return nil, nil
	}
	known, err := s.Functions(ctx, rb.Workers())
	if err != nil {
		return nil, err
	}
	var all []signature.Function
	for _, id := range rb.Workers() {
		all = append(all, known.Workers[id]...)
	}
	return unique(all), nil
}

// unique leaves out functions whose name comes again.
func unique(all []signature.Function) []signature.Function {
	var out []signature.Function
	seen := map[string]bool{}
	for _, f := range all {
		if name := strings.ToLower(f.Name); !seen[name] {
			seen[name] = true
			out = append(out, f)
		}
	}
	return out
}

// explain words an error of a simulation as one of the API, without the folder of the list.
func explain(ctx context.Context, err error, folder string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var wrong *Wrong
	if !errors.As(err, &wrong) {
		return problem.New(api.CodeInvalid, "%s", withoutFolder(err.Error(), folder))
	}
	e := &problem.Error{Code: api.CodeInvalid, Message: wrong.Comes}
	for _, text := range wrong.Found {
		e.Problems = append(e.Problems, api.InputProblem{Message: withoutFolder(text, folder)})
	}
	return e
}

func withoutFolder(text, folder string) string {
	return strings.ReplaceAll(text, folder+string(filepath.Separator), "")
}

// view is the answer of the API.
func view(t *Timeline, folder string) api.Simulation {
	v := api.Simulation{
		Runbook: t.Runbook, BeginAt: t.Begin, EndAt: t.End, Complete: t.Complete, Batches: []api.SimulatedBatch{}, BatchCount: len(t.Batches),
		Functions: []api.SimulatedFunction{}, Events: []api.SimulatedEvent{}, Warnings: firstTexts(t.Warnings), Remaining: firstTexts(t.Remaining),
	}
	for _, b := range t.Batches[:min(len(t.Batches), maxBatches)] {
		batch := api.SimulatedBatch{
			ID: b.ID, Start: b.Start, Status: b.Status, Members: b.Members, Succeeded: b.Succeeded,
			Failed: append([]string{}, b.Failed[:min(len(b.Failed), maxFailed)]...), FailedAll: len(b.Failed), Phases: []api.SimulatedPhase{},
		}
		for _, p := range b.Phases {
			batch.Phases = append(batch.Phases, api.SimulatedPhase{
				Name: p.Name, Offset: p.Offset, Status: p.Status, Reason: p.Reason, DueAt: p.DueAt, StartedAt: p.StartedAt, EndedAt: p.EndedAt,
				Seconds: p.Seconds, Late: p.Late, Succeeded: p.Succeeded, Failed: p.Failed, Cancelled: p.Cancelled, Jobs: p.Jobs,
			})
		}
		v.Batches = append(v.Batches, batch)
	}
	for _, f := range t.Functions {
		v.Functions = append(v.Functions, api.SimulatedFunction{Name: f.Name, Jobs: f.Jobs, Retries: f.Retries, Polls: f.Polls, BusiestHour: f.BusiestHour, BusiestHourAt: f.BusiestAt})
	}
	for _, e := range t.Events[:min(len(t.Events), maxEvents)] {
		v.Events = append(v.Events, api.SimulatedEvent{At: e.At, BatchID: e.Batch, Phase: e.Phase, Kind: string(e.Kind), Text: withoutFolder(e.Text, folder)})
	}
	for i, w := range v.Warnings {
		v.Warnings[i] = withoutFolder(w, folder)
	}
	return v
}

// firstTexts are the first texts, and how many more there are.
func firstTexts(all []string) []string {
	first := append([]string{}, all[:min(len(all), maxTexts)]...)
	if more := len(all) - len(first); more > 0 {
		first = append(first, fmt.Sprintf("and %d more", more))
	}
	return first
}
