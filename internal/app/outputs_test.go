package app_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/artifact"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/secret"
)

// The on_complete steps of a phase get the outputs of its members by reference.

const collected = `
name: collected
data_source: {type: csv, primary_key: Upn}
phases:
  - name: sync
    offset: T-0
    steps: [{name: sync, worker_id: worker-01, function: Sync, output_params: {Context: context, Pin: pin}}]
    on_complete:
      - {name: merge, worker_id: worker-01, function: Merge, params: {Of: "{{_outputs}}"}}
secret: [Pin]
`

// synced answers with what each member's artifact is.
func synced(members map[int]worker) worker {
	return func(j message.Job) (string, error) {
		if f := members[who(j)]; f != nil {
			return f(j)
		}
		return `{"context":"contexts/a","pin":"hidden"}`, nil
	}
}

// readOutputs reads the artifact that the merge was given.
func (s *stage) readOutputs(batch int) (artifact.Artifact, []string) {
	s.t.Helper()
	key := must(artifact.ParseKey(strings.Trim(string(s.step(batch, 0, "merge").Params), `{}"Of:`)))(s.t)
	a := must(s.artifacts.Get(s.ctx, key))(s.t)
	return a, strings.Split(strings.TrimSuffix(string(a.Content), "\n"), "\n")
}

func TestOnCompleteGetsTheOutputsOfAllMembersByReference(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.useKeys(secret.Fixed(testKey))
		s.script = script{"Sync": synced(map[int]worker{2: fails(errNo), 3: fails(errLost)})}
		b := s.startBatch(collected, people(60)) // of two pages
		must(s.app.RemoveMember(s.ctx, ada, b.ID, 3, ""))(t)
		s.deliverAll()
		s.wantCalls(0, "")
		s.answers(3, "Sync", "", errNo)
		s.wantCalls(0, "Merge")
		a, lines := s.readOutputs(b.ID)
		if a.ContentType != "application/x-ndjson" || len(a.Fingerprint) != 64 || len(lines) != 60 {
			t.Fatalf("%+v, %d lines", a.Properties, len(lines))
		}
		for i, line := range lines {
			want := fmt.Sprintf(`{"key":"p%03d@x","status":"succeeded","outputs":{"Context":"contexts/a"}}`, i+1)
			switch i + 1 {
			case 2:
				want = `{"key":"p002@x","status":"failed","outputs":{}}`
			case 3:
				want = `{"key":"p003@x","status":"cancelled","outputs":{}}`
			}
			if line != want {
				t.Errorf("line %d is %s, want %s", i+1, line, want)
			}
		}
		s.verify()
	})
}

// Another process writes the outputs, and dies after each of its writes.
func TestOutputsAreThereWhereverTheProcessDies(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.script = script{"Sync": synced(nil)}
		s.park = containing(`"JobId"`)
		b := s.startBatch(strings.Replace(collected, "secret: [Pin]", "", 1), people(1))
		last := s.parked[len(s.parked)-1]
		cut := s.kill(write, last.handle)
		s.unpark()
		s.park = nil
		s.deliverAll()
		s.tick()
		s.wantCalls(0, "Merge")
		if _, lines := s.readOutputs(b.ID); len(lines) != 1 {
			t.Errorf("%q", lines)
		}
		s.wantStatus(b.ID, "completed")
		return cut
	})
}

// faulty is a store of artifacts that refuses some writes.
type faulty struct {
	artifact.Store
	times atomic.Int64
	err   error
}

func (f *faulty) Put(ctx context.Context, a artifact.Artifact) (artifact.Properties, error) {
	if f.times.Add(-1) >= 0 {
		return artifact.Properties{}, f.err
	}
	return f.Store.Put(ctx, a)
}

func TestOutputsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		err   error
		times int64
		want  string
	}{
		{"for a moment", fmt.Errorf("%w: 503", artifact.ErrUnavailable), 2, "merge succeeded"},
		{"by a newer collection", &artifact.ConflictError{}, 1, "merge succeeded"},
		{"at all", fmt.Errorf("%w: 403 AuthorizationPermissionMismatch", artifact.ErrRefused), 9, "merge failed (the outputs of the members: artifact: the service refuses the request: 403 AuthorizationPermissionMismatch)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			store := &faulty{Store: s.artifacts, err: c.err}
			store.times.Store(c.times)
			s.artifacts = store
			s.useKeys(secret.Fixed(testKey))
			s.script = script{"Sync": synced(nil)}
			b := s.startBatch(collected, people(2))
			s.tick()
			v := s.step(b.ID, 0, "merge")
			got := v.Name + " " + v.Status
			if v.Error != "" {
				got += " (" + v.Error + ")"
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			s.verify()
		})
	}
}

// Members who are retried after the phase has ended have new outputs when its on_complete steps run again.
func TestOutputsAreCollectedAgainForARetry(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.useKeys(secret.Fixed(testKey))
	s.script = script{"Sync": synced(map[int]worker{2: fails(errNo)}), "Merge": fails(errNo)}
	b := s.startBatch(collected, people(2))
	_, first := s.readOutputs(b.ID)
	s.script = script{"Sync": synced(nil)}
	s.clock.ns.Add(1e9)
	for _, of := range []api.Selection{{Members: []int{2}}, {}} {
		must(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Selection: of, Reason: "again"}))(t)
		s.deliverAll()
	}
	_, second := s.readOutputs(b.ID)
	want := `{"key":"p002@x","status":"%s","outputs":%s}`
	if first[1] != fmt.Sprintf(want, "failed", "{}") || second[1] != fmt.Sprintf(want, "succeeded", `{"Context":"contexts/a"}`) {
		t.Errorf("first %q, then %q", first, second)
	}
}

func TestOutputsExpireWithTheirBatch(t *testing.T) {
	t.Parallel()
	for write := 1; ; write++ {
		s := newStage(t, false)
		s.publish(strings.Replace(strings.Replace(bundle, "max: 120", "max: 120, expires: 15m", 1), `Batch: "{{_batch_id}}"`, `Of: "{{_outputs}}"`, 1))
		b := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(3, "a")}))(t)
		s.serve(b.ID)
		if _, err := s.artifacts.Get(s.ctx, applier.OutputsKey(b.ID, 1)); err != nil {
			t.Fatal(err)
		}
		s.clock.ns.Add(16 * 60 * 1e9)
		killed := s.kill(write, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) })
		noError(t, s.app.Tick(s.ctx))
		if _, err := s.artifacts.Get(s.ctx, applier.OutputsKey(b.ID, 1)); !errors.Is(err, artifact.ErrNotFound) {
			t.Errorf("killed after write %d: %v", write, err)
		}
		if !killed {
			break
		}
	}
}
