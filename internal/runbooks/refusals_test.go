package runbooks_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbooks"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/workers"
)

const move = `
name: move
data_source: {type: csv, connection: PEOPLE_CSV, primary_key: upn, batch_time: immediate}
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: w1, function: New, params: {Upn: "{{upn}}"}}
`

var ada = audit.Caller{Name: "ada"}

// newPublisher returns a Publisher over the memory store that allows the setting PEOPLE_CSV and has no
// key for secrets.
func newPublisher(s store.Store) *runbooks.Publisher {
	return newPublisherWith(s, func(string) string { return "people.csv" })
}

// newPublisherWith returns such a Publisher with these environment variables.
func newPublisherWith(s store.Store, getenv func(string) string) *runbooks.Publisher {
	now := func() time.Time { return time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC) }
	ids := 0
	newID := func() string { ids++; return fmt.Sprintf("%016d", ids) }
	log := slog.New(slog.DiscardHandler)
	records := audit.New(audit.Config{Store: s, Now: now, NewID: newID})
	known := workers.New(workers.Config{Store: s, Now: now, Log: log})
	reader := runbookstore.New(runbookstore.Config{Store: s, Now: now, Log: log, Functions: known.Functions})
	sealer := sealing.New(sealing.Config{Store: s, Runbooks: reader})
	requests := idempotency.New(idempotency.Config{Store: s, Sealer: sealer})
	apply := applier.New(applier.Config{Store: s, Bus: unusedSender{}, Now: now, Log: log, Audit: records, Runbooks: reader, Sealer: sealer})
	return runbooks.New(runbooks.Config{
		Store: s, Now: now, Log: log, Sources: &datasource.Reader{Settings: []string{"PEOPLE_CSV"}, Getenv: getenv}, Audit: records, Idempotency: requests, Runbooks: reader, Sealer: sealer, Workers: known,
		Members: membership.New(membership.Config{
			Store: s, Bus: unusedSender{}, Now: now, NewID: newID, Log: log, Applier: apply, Audit: records, Idempotency: requests, Runbooks: reader, Sealer: sealer,
		}),
	})
}

// unusedSender panics: publishing sends no messages.
type unusedSender struct{ bus.Sender }

// A version whose every query or call fails is published, and its warnings say so: the setting may get
// a value, and the worker may start, later.
func TestPublishWarnsOfWhatAlwaysFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		value string
		want  []string
	}{
		"a setting without a value": {" ", []string{"3:38 missing-setting true", "8:21 unknown-worker true"}},
		"a setting with a value":    {"people.csv", []string{"8:21 unknown-worker true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPublisherWith(memory.New(memory.Config{}), func(string) string { return tt.value })
			view, err := p.PublishRunbook(t.Context(), ada, "", []byte(move), api.PublishOptions{DryRun: true})
			var got []string
			for _, d := range view.Warnings {
				got = append(got, fmt.Sprintf("%d:%d %s %t", d.Line, d.Column, d.Code, d.AlwaysFails))
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// TestPublishRefusals pins which runbooks are refused, with the code, the text and the place of each
// problem. A refused publication stores nothing.
func TestPublishRefusals(t *testing.T) {
	t.Parallel()
	type place struct {
		field, code string
		line        int
	}
	for name, tt := range map[string]struct {
		request  string // the name in the request
		yaml     string
		options  api.PublishOptions
		caller   audit.Caller
		code     api.Code
		says     string
		problems []place
	}{
		"not YAML":         {yaml: "name: [", code: api.CodeInvalid, says: "the runbook has errors", problems: []place{{"", "syntax", 1}}},
		"an unknown field": {yaml: strings.Replace(move, "offset:", "ofset:", 1), code: api.CodeInvalid, says: "the runbook has errors", problems: []place{{"phases[0].ofset", "unknown-field", 6}}},
		"another name":     {request: "other", yaml: move, code: api.CodeInvalid, says: "the runbook has errors", problems: []place{{"name", "other-name", 2}}},
		"all errors together": {
			request: "other", yaml: strings.NewReplacer("PEOPLE_CSV", "STORE_KEY", "offset: T-0", "offset: later").Replace(move), code: api.CodeInvalid, says: "the runbook has errors",
			problems: []place{{"name", "other-name", 2}, {"data_source.connection", "unlisted-setting", 3}, {"phases[0].offset", "bad-offset", 6}},
		},
		"unknown overdue behavior": {yaml: move, options: api.PublishOptions{Overdue: "skip"}, code: api.CodeInvalid, says: `"skip"`},
		"an unlisted setting":      {yaml: strings.Replace(move, "PEOPLE_CSV", "STORE_KEY", 1), code: api.CodeInvalid, says: "the runbook has errors", problems: []place{{"data_source.connection", "unlisted-setting", 3}}},
		"a warning, strictly":      {yaml: move, options: api.PublishOptions{Strict: true}, code: api.CodeInvalid, says: "warnings", problems: []place{{"phases[0].steps[0].worker_id", "unknown-worker", 8}}},
		"a secret in the name of a function": {
			yaml: strings.Replace(move, "function: New", `function: "New-{{pin}}"`, 1) + "secret: [pin]\n", code: api.CodeInvalid, says: "the runbook has errors",
			problems: []place{{"phases[0].steps[0].function", "secret-place", 8}},
		},
		"a secret without a key": {yaml: move + "secret: [pin]\n", code: api.CodeConflict, says: "no key to encrypt them"},
		"outputs without a place to keep them": {
			yaml: move + "    on_complete: [{name: merge, worker_id: worker-01, function: New, params: {Of: \"{{_outputs}}\"}}]\n",
			code: api.CodeConflict, says: "keeps no artifacts: create a container",
		},
		"a key of another request": {
			yaml: move, caller: audit.Caller{Name: "ada", Key: "k1"}, code: api.CodeKeyReused, says: "used on 2026-03-01T08:00:00Z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := memory.New(memory.Config{})
			p := newPublisher(s)
			first := strings.Replace(move, "name: move", "name: first", 1)
			if _, err := p.PublishRunbook(t.Context(), audit.Caller{Name: "ada", Key: "k1"}, "", []byte(first), api.PublishOptions{}); err != nil {
				t.Fatal(err)
			}
			versions := s.Versions()
			if tt.caller.Name == "" {
				tt.caller = ada
			}
			_, err := p.PublishRunbook(t.Context(), tt.caller, tt.request, []byte(tt.yaml), tt.options)
			if err == nil {
				t.Fatal("published")
			}
			e := problem.Explain(err)
			if e.Code != tt.code || !strings.Contains(e.Message, tt.says) {
				t.Fatalf("refused with %q: %v; want %q with %q", e.Code, e, tt.code, tt.says)
			}
			var got []place
			for _, found := range e.Problems {
				if found.Severity == string(runbook.SeverityWarning) && !tt.options.Strict {
					continue
				}
				got = append(got, place{found.Field, found.Code, found.Line})
			}
			if !slices.Equal(got, tt.problems) {
				t.Errorf("problems %v, want %v", e.Problems, tt.problems)
			}
			if s.Versions() != versions {
				t.Error("the refused publication stored something")
			}
		})
	}
}

// TestPublishWithoutANewVersion checks which publications succeed and store no version.
func TestPublishWithoutANewVersion(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		yaml                        string
		options                     api.PublishOptions
		caller                      audit.Caller
		version                     int
		unchanged, dryRun, repeated bool
	}{
		"a dry run":                      {yaml: strings.Replace(move, "New,", "Create,", 1), options: api.PublishOptions{DryRun: true}, caller: ada, version: 2, dryRun: true},
		"a dry run with a known key":     {yaml: strings.Replace(move, "New,", "Create,", 1), options: api.PublishOptions{DryRun: true}, caller: audit.Caller{Name: "ada", Key: "k1"}, version: 2, dryRun: true},
		"the active version":             {yaml: move, caller: ada, version: 1, unchanged: true},
		"the same request a second time": {yaml: move, caller: audit.Caller{Name: "ada", Key: "k1"}, version: 1, repeated: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := memory.New(memory.Config{})
			p := newPublisher(s)
			if _, err := p.PublishRunbook(t.Context(), audit.Caller{Name: "ada", Key: "k1"}, "move", []byte(move), api.PublishOptions{}); err != nil {
				t.Fatal(err)
			}
			versions := s.Versions()
			v, err := p.PublishRunbook(t.Context(), tt.caller, "move", []byte(tt.yaml), tt.options)
			if err != nil || v.Version != tt.version || v.Unchanged != tt.unchanged || v.DryRun != tt.dryRun || v.Replayed != tt.repeated {
				t.Errorf("%v, %+v", err, v)
			}
			if s.Versions() != versions {
				t.Error("something was stored")
			}
		})
	}
}

// TestDeactivateRefusals pins which versions can be deactivated. The runbook has two versions, of which
// the second is active unless idle is set.
func TestDeactivateRefusals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		runbook string
		version int
		why     string
		tags    []string
		idle    bool
		code    api.Code
		says    string
	}{
		"no such runbook":             {runbook: "none", version: 1, code: api.CodeNotFound, says: `"none"`},
		"no name":                     {version: 1, code: api.CodeInvalid, says: "runbook"},
		"no such version":             {runbook: "move", version: 3, code: api.CodeNotFound, says: "it has 1 to 2"},
		"superseded":                  {runbook: "move", version: 1, code: api.CodeConflict, says: "version 2 is"},
		"superseded, and none active": {runbook: "move", version: 1, idle: true, code: api.CodeConflict, says: "no version is active"},
		"changed since it was read":   {runbook: "move", version: 2, tags: []string{`"old"`}, code: api.CodeChanged, says: `version 2 of runbook "move"`},
		"a reason too long":           {runbook: "move", version: 2, why: strings.Repeat("x", api.MaxReason+1), code: api.CodeInvalid, says: "the reason has"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := memory.New(memory.Config{})
			p := newPublisher(s)
			for _, yaml := range []string{move, strings.Replace(move, "New,", "Create,", 1)} {
				if _, err := p.PublishRunbook(t.Context(), ada, "move", []byte(yaml), api.PublishOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if tt.idle {
				for range 2 { // the second time it is deactivated already, and stays so
					if v, err := p.Deactivate(t.Context(), ada, "move", 2, ""); err != nil || v.Active || v.Deactivated == nil {
						t.Fatal(err, v)
					}
				}
			}
			versions := s.Versions()
			_, err := p.Deactivate(t.Context(), ada, tt.runbook, tt.version, tt.why, tt.tags...)
			if e := problem.Explain(err); e.Code != tt.code || !strings.Contains(e.Message, tt.says) {
				t.Errorf("refused with %q: %v; want %q with %q", e.Code, e, tt.code, tt.says)
			}
			if s.Versions() != versions {
				t.Error("the refused request stored something")
			}
		})
	}
}
