package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/simulate"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

const gated = `name: moves
data_source: {type: csv, primary_key: UserId}
phases:
  - name: prepare
    offset: T-1d
    steps:
      - {name: make, worker_id: w1, function: Make, params: {Id: "{{UserId}}"}}
  - name: move
    offset: T-0
    approval: required
    steps:
      - {name: move, worker_id: w1, function: Move, params: {Id: "{{UserId}}"}}
`

// announced is a service whose worker w1 has these functions.
func announced(t *testing.T, names ...string) simulate.Service {
	t.Helper()
	return simulate.Service{TempDir: t.TempDir(), Functions: func(context.Context, []string) (lint.Catalogs, error) {
		known := lint.Catalogs{Workers: map[string][]signature.Function{}}
		for _, name := range names {
			known.Workers["w1"] = append(known.Workers["w1"], signature.Function{Name: name, Params: []signature.Parameter{{Name: "Id", Required: true}}})
		}
		return known, nil
	}}
}

// TestSimulate: the answer has the phases with their times, jobs and failures. It names no folder of this machine.
func TestSimulate(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC)
	request := api.SimulationRequest{YAML: gated, Members: "UserId\nada\nbea\n", Start: start}
	for name, tt := range map[string]struct {
		service  simulate.Service
		approve  bool
		complete bool
		phases   string
	}{
		"no worker is known":   {announced(t), true, true, "prepare completed 2/0 move completed 2/0"},
		"all functions":        {announced(t, "Make", "Move"), true, true, "prepare completed 2/0 move completed 2/0"},
		"a function is absent": {announced(t, "Make"), true, false, "prepare completed 2/0 move failed 0/2"},
		"no approval":          {announced(t), false, false, "prepare completed 2/0 move pending 0/0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := request
			request.Approve = tt.approve
			v := testenv.Must(tt.service.Simulate(t.Context(), request))(t)
			var phases []string
			for _, p := range v.Batches[0].Phases {
				if p.Offset != "" {
					phases = append(phases, p.Name, p.Status, counts(p))
				}
			}
			if got := strings.Join(phases, " "); got != tt.phases || v.Complete != tt.complete {
				t.Errorf("%s, complete %t; want %s, %t", got, v.Complete, tt.phases, tt.complete)
			}
			for _, text := range v.Warnings {
				if strings.Contains(text, tt.service.TempDir) {
					t.Errorf("a warning names a folder: %s", text)
				}
			}
			if left := testenv.Must(os.ReadDir(tt.service.TempDir))(t); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

func counts(p api.SimulatedPhase) string {
	return strings.Join([]string{string(rune('0' + p.Succeeded)), string(rune('0' + p.Failed))}, "/")
}

// scattered has a start for each person, so that each has a batch.
const scattered = `name: moves
data_source: {type: sql, connection: PEOPLE, query: "SELECT UserId, Start FROM people", primary_key: UserId, batch_time_column: Start, addition_guard: {number: 1000}}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: move, worker_id: w1, function: Move, params: {Id: "{{UserId}}"}}
`

// TestSimulationOfManyBatches: the answer has the first hundred of them, and their number.
func TestSimulationOfManyBatches(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC)
	list := "UserId,Start\n"
	for i := range 130 {
		list += fmt.Sprintf("u%d,%s\n", i, start.Add(time.Duration(i)*time.Minute).Format(time.RFC3339))
	}
	v := testenv.Must(announced(t).Simulate(t.Context(), api.SimulationRequest{YAML: scattered, Members: list, Start: start}))(t)
	if len(v.Batches) != 100 || v.BatchCount != 130 || v.Batches[0].ID != 1 {
		t.Errorf("%d of %d batches: %q", len(v.Batches), v.BatchCount, v.Warnings)
	}
}

// TestSimulationThatIsNoLongerWaitedFor: it stops, also while it plays and sums up many members.
func TestSimulationThatIsNoLongerWaitedFor(t *testing.T) {
	t.Parallel()
	list := "UserId\n"
	for i := range api.MaxSimulatedMembers {
		list += fmt.Sprintf("u%d\n", i)
	}
	request := api.SimulationRequest{YAML: gated, Members: list, Start: time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC), Approve: true}
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		_, err := announced(t).Simulate(ctx, request)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %s: %v", after, err)
		}
	}
}

// TestSimulateRefusals: refusals name the mistake in the runbook, the members or the start, and long lists are refused.
func TestSimulateRefusals(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		request api.SimulationRequest
		code    api.Code
		says    string
		problem string
	}{
		"no start":          {api.SimulationRequest{YAML: gated, Members: "UserId\nada\n"}, api.CodeInvalid, "start is missing", ""},
		"a runbook's error": {api.SimulationRequest{YAML: strings.Replace(gated, "T-0", "later", 1), Members: "UserId\nada\n", Start: start}, api.CodeInvalid, "the runbook has errors", "9:13"},
		"a wrong list":      {api.SimulationRequest{YAML: gated, Members: "Name\nada\n", Start: start}, api.CodeInvalid, "problem", "UserId"},
		"a long list":       {api.SimulationRequest{YAML: gated, Members: "UserId\n" + strings.Repeat("u\n", api.MaxSimulatedMembers+1), Start: start}, api.CodeTooLarge, "1001 rows", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := announced(t)
			_, err := service.Simulate(t.Context(), tt.request)
			if err == nil {
				t.Fatal("simulated")
			}
			var found []string
			e := problem.Explain(err)
			for _, p := range e.Problems {
				found = append(found, p.Message)
			}
			if e.Code != tt.code || !strings.Contains(e.Message, tt.says) || !strings.Contains(strings.Join(found, "\n"), tt.problem) || strings.Contains(strings.Join(found, "\n"), service.TempDir) {
				t.Errorf("%s: %s %q", e.Code, e.Message, found)
			}
		})
	}
	t.Run("the store is away", func(t *testing.T) {
		t.Parallel()
		away := errors.New("away")
		s := simulate.Service{Functions: func(context.Context, []string) (lint.Catalogs, error) { return lint.Catalogs{}, away }}
		if _, err := s.Simulate(t.Context(), api.SimulationRequest{YAML: gated, Start: start}); !errors.Is(err, away) {
			t.Errorf("%v", err)
		}
	})
}
