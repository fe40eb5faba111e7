package runbookstore_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
)

const yaml = `name: moves
data_source: {type: csv, primary_key: Upn}
secret: [Zone]
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: w, function: New, params: {Pw: "x{{First}}", Key: "{{Upn}}", Zone: "{{Zone}}"}}
      - {name: any, worker_id: w, function: "{{Function}}", params: {Pin: "{{Second}}"}}
`

// process is a Reader with a clock and a catalogue of worker w that the test sets.
type process struct {
	*runbookstore.Reader
	store     *memory.Store
	now       time.Time
	functions []signature.Function
	asked     int // how often the functions were read
}

func newProcess(s *memory.Store) *process {
	p := &process{store: s, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	p.Reader = runbookstore.New(runbookstore.Config{
		Store: s, Now: func() time.Time { return p.now }, Log: slog.New(slog.DiscardHandler),
		Functions: func(context.Context, []string) (lint.Catalogs, error) {
			p.asked++
			return lint.Catalogs{Workers: map[string][]signature.Function{"w": p.functions}}, nil
		},
	})
	return p
}

var marked = []signature.Function{{Name: "new", Params: []signature.Parameter{{Name: "pw", Secret: true}, {Name: "key", Secret: true}, {Name: "pin", Secret: true}}}}

func publish(t *testing.T, s *memory.Store) {
	t.Helper()
	_, err := s.Apply(t.Context(), store.Writes{
		store.Create(store.RunbookKey("moves"), store.RunbookHead{Name: "moves", Latest: 1, Active: 1}),
		store.Create(store.VersionKey("moves", 1), store.RunbookVersion{Name: "moves", Version: 1, YAML: yaml, Secrets: []string{"Zone"}}),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (p *process) wantSecrets(t *testing.T, want ...string) {
	t.Helper()
	rb, err := p.Load(t.Context(), "moves", 1)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rb.Secret, want) {
		t.Errorf("the secrets are %v, want %v", rb.Secret, want)
	}
}

func TestAVersionTakesSecretsOverWithinTheAgeOfTheCache(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	publish(t, s)
	one, other := newProcess(s), newProcess(s)
	one.wantSecrets(t, "Zone")
	other.wantSecrets(t, "Zone")

	before := s.Counts()
	for range 1000 {
		one.wantSecrets(t, "Zone")
	}
	if s.Counts() != before || one.asked != 1 {
		t.Errorf("the store was used %+v before and %+v after, the functions were read %d times", before, s.Counts(), one.asked)
	}

	one.functions = marked
	one.now = one.now.Add(15 * time.Second)
	one.wantSecrets(t, "First", "Second", "Zone") // Upn identifies the member
	one.functions = nil                           // the worker's next version does not mark them
	one.ExpireSecrets()
	one.wantSecrets(t, "First", "Second", "Zone")
	other.wantSecrets(t, "Zone")
	other.now = other.now.Add(15 * time.Second)
	other.wantSecrets(t, "First", "Second", "Zone")
	newProcess(s).wantSecrets(t, "First", "Second", "Zone")
	head, err := store.Read[store.RunbookHead](t.Context(), s, store.RunbookKey("moves"))
	if err != nil || !head.Doc.Secrets {
		t.Errorf("the head is %+v, %v", head.Doc, err)
	}
	if got := s.Counts().Writes - before.Writes; got != 1 {
		t.Errorf("%d writes, want 1", got)
	}
}

// A process that cannot store the secrets does not use the version without them.
func TestAVersionIsNotUsedWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	publish(t, s)
	down := true
	p := newProcess(s.Session(func(_ context.Context, o memory.Operation) memory.Fault {
		if down && o.Kind == memory.KindWrite {
			return memory.Unavailable
		}
		return memory.Fault{}
	}))
	p.functions = marked
	if rb, err := p.Load(t.Context(), "moves", 1); err == nil {
		t.Errorf("the version has the secrets %v", rb.Secret)
	}
	down = false
	p.wantSecrets(t, "First", "Second", "Zone")
}

// Before the secrets are too old, one caller reads them again, and the others go on with those that are known, also if
// that caller fails.
func TestOneCallerRefreshesTheSecrets(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	publish(t, s)
	var p *process
	var during func()
	p = newProcess(s.Session(func(context.Context, memory.Operation) memory.Fault {
		if do := during; do != nil {
			during = nil
			do()
			return memory.Unavailable
		}
		return memory.Fault{}
	}))
	p.wantSecrets(t, "Zone")
	p.now = p.now.Add(12 * time.Second)
	others := 0
	during = func() {
		before := s.Counts()
		p.wantSecrets(t, "Zone")
		if s.Counts() != before {
			t.Error("two callers read at once")
		}
		others++
	}
	p.wantSecrets(t, "Zone")
	if others != 1 || p.asked != 1 {
		t.Errorf("%d others, the functions were read %d times", others, p.asked)
	}
	p.functions = marked
	p.wantSecrets(t, "First", "Second", "Zone")
}

// Two processes take the secrets of a version over at once.
func TestTwoProcessesTakeSecretsOver(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{})
	publish(t, s)
	other := newProcess(s)
	other.functions = marked
	overtaken := false
	p := newProcess(s.Session(func(_ context.Context, o memory.Operation) memory.Fault {
		if !overtaken && o.Kind == memory.KindWrite {
			overtaken = true
			other.wantSecrets(t, "First", "Second", "Zone")
		}
		return memory.Fault{}
	}))
	p.functions = marked
	p.wantSecrets(t, "First", "Second", "Zone")
	if !overtaken {
		t.Error("the process wrote nothing")
	}
}

// TestLoadRetriesWithPausesUntilTheContextEnds: another process changes the version before each
// write of this one.
func TestLoadRetriesWithPausesUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Config{})
		publish(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		writes := 0
		p := newProcess(s.Session(func(_ context.Context, o memory.Operation) memory.Fault {
			if o.Kind != memory.KindWrite {
				return memory.Fault{}
			}
			if writes++; writes > 100 {
				cancel()
			}
			return memory.Conflict
		}))
		p.functions = marked
		if _, err := p.Load(ctx, "moves", 1); !errors.Is(err, context.DeadlineExceeded) || writes < 15 || writes > 60 {
			t.Errorf("%d writes: %v", writes, err)
		}
	})
}
