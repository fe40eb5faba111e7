package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/store"
)

// system is a small system whose states are explored.
type system struct {
	name     string
	versions []string // the runbook's; the first is published
	people   []string
	start    time.Duration // of the batch, from the beginning
	commands []command
	budget   budget
	soak     bool // it takes too long for the ordinary tests

	// deadlines: the time of a job can end while the worker has it, or before.
	deadlines bool

	// once: no function is called for a person in two batches, and at the end each of the phases has been
	// called for everybody.
	once bool

	// groups: the results of all jobs that the worker has can come in one message.
	groups bool

	// begin makes the state that the system begins with; nil: a batch that follows a schedule
	prepare func(ctx context.Context, w *world, a *app.App) error

	// Deliberate faults: messages that the broker loses, and outcomes of writes.
	loses    func(topic string, m bus.Message) bool
	rewrites func(store.Writes) store.Writes
}

// begin publishes the runbook, makes the batch and has the scheduler tick once, undisturbed.
func (s *system) begin(ctx context.Context, w *world) error {
	ids := 0
	a := newApp(w, w.store, w.bus.Client(nil), w.now, func() string {
		ids++
		return fmt.Sprintf("begin%011d", ids)
	})
	if err := publishes(1, s.versions[0]).run(ctx, a); err != nil {
		return fmt.Errorf("publishing: %w", err)
	}
	if s.prepare != nil {
		return s.prepare(ctx, w, a)
	}
	if err := writeBatch(ctx, w.store, s.versions[0], s.people, epoch.Add(s.start), epoch); err != nil {
		return err
	}
	if strings.Contains(s.versions[0], "\nchecks:") {
		if err := checks(theBatch).run(ctx, a); err != nil {
			return err
		}
	}
	return tick(ctx, a)
}

const head = `name: move
data_source: {type: csv, primary_key: Upn}
`

// twoPhases is a runbook with two phases of two steps.
const twoPhases = head + `
retry: {max_retries: 1, interval: 30s}
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: w1, function: New, params: {Name: "{{Upn}}"}, timeout: 30m}
      - {name: join, worker_id: w1, function: Join, params: {Name: "{{Upn}}"}, timeout: 30m}
  - name: verify
    offset: T+5m
    steps:
      - {name: check, worker_id: w1, function: Check, params: {Name: "{{Upn}}"}, timeout: 30m}
      - {name: tell, worker_id: w1, function: Tell, params: {Name: "{{Upn}}"}, timeout: 30m}
`

// short is a runbook with two phases of one step, with what undoes the first.
const short = head + `
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: w1, function: New, params: {Name: "{{Upn}}"}, timeout: 30m, on_failure: undo}
  - name: verify
    offset: T+5m
    steps:
      - {name: check, worker_id: w1, function: Check, params: {Name: "{{Upn}}"}, timeout: 30m}
on_member_removed:
  - {name: clean, worker_id: w1, function: Clean, params: {Name: "{{Upn}}"}, timeout: 30m}
rollbacks:
  undo: [{name: delete, worker_id: w1, function: Delete, params: {Name: "{{Upn}}"}, timeout: 30m}]
`

// pair is a runbook with one phase of two steps, which ends with a step of its own.
const pair = head + `
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: w1, function: New, params: {Name: "{{Upn}}"}, timeout: 30m}
    on_complete:
      - {name: report, worker_id: w1, function: Report, timeout: 30m}
`

// training is a runbook of requests, behind whose phase a detached step runs.
const training = `name: move
trigger: request
items: {primary_key: Upn}
retry: {max_retries: 1, interval: 30s}
phases:
  - name: sync
    steps:
      - {name: read, worker_id: w1, function: Read, params: {Name: "{{Upn}}"}, timeout: 30m}
    on_complete:
      - {name: merge, worker_id: w1, function: Merge, timeout: 30m}
      - {name: train, worker_id: w1, function: Train, timeout: 30m, detached: true}
`

// caching is a runbook of requests which do the work of an item once.
const caching = `name: move
trigger: request
items: {primary_key: Upn}
phases:
  - name: sync
    steps:
      - {name: read, worker_id: w1, function: Read, params: {Name: "{{Upn}}"}, timeout: 30m, cache: {key: "{{Upn}}", ttl: 1h}}
`

// requested makes a batch of ann for each of several owners.
func requested(owners ...string) func(context.Context, *world, *app.App) error {
	return func(ctx context.Context, _ *world, a *app.App) error {
		for _, owner := range owners {
			items := []map[string]json.RawMessage{{"Upn": json.RawMessage(`"ann"`)}}
			if _, err := a.StartPipeline(ctx, ada, runbookName, api.PipelineRequest{Owner: owner, Items: items}); err != nil {
				return err
			}
		}
		return nil
	}
}

// begun is a runbook that begins with a step for the batch.
const begun = head + `
init:
  - {name: prepare, worker_id: w1, function: Prepare, timeout: 30m, on_failure: tidy}
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: w1, function: New, params: {Name: "{{Upn}}"}, timeout: 30m}
rollbacks:
  tidy: [{name: sweep, worker_id: w1, function: Sweep, timeout: 30m}]
`

// conditional is a runbook of whose init and on_complete steps some run under conditions that use what
// belongs to the batch and to the phase.
const conditional = head + `
init:
  - {name: prepare, worker_id: w1, function: Prepare, when: "_batch_id == 7", timeout: 30m, on_failure: tidy}
  - {name: nothing, worker_id: w1, function: Never, when: "_batch_id != 7", timeout: 30m}
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: w1, function: New, params: {Name: "{{Upn}}"}, timeout: 30m}
    on_complete:
      - {name: report, worker_id: w1, function: Report, when: "_phase_failed == 0", timeout: 30m}
      - {name: alert, worker_id: w1, function: Alert, when: "_phase_failed > 0", timeout: 30m}
rollbacks:
  tidy: [{name: sweep, worker_id: w1, function: Never, when: "_batch_id != 7", timeout: 30m}]
`

// hasty is a runbook whose jobs have two minutes.
const hasty = head + `
retry: {max_retries: 1, interval: 30s}
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: w1, function: New, params: {Name: "{{Upn}}"}, timeout: 2m, on_failure: undo}
rollbacks:
  undo: [{name: delete, worker_id: w1, function: Delete, params: {Name: "{{Upn}}"}, timeout: 2m}]
`

// waiting is a runbook whose first step polls, and can be undone. Its function is complete with the
// first poll.
const waiting = head + `
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: w1, function: Await-New, params: {Name: "{{Upn}}"}, timeout: 30m, poll: {interval: 30s, timeout: 1h}}
      - {name: join, worker_id: w1, function: Join, params: {Name: "{{Upn}}"}, timeout: 30m, on_failure: undo}
on_member_removed:
  - {name: clean, worker_id: w1, function: Clean, params: {Name: "{{Upn}}"}, timeout: 30m}
rollbacks:
  undo: [{name: delete, worker_id: w1, function: Delete, params: {Name: "{{Upn}}"}, timeout: 30m}]
`

// looking is a runbook whose members wait for a check before they start, and have one that they do not
// wait for.
const looking = head + `
checks:
  - {name: free, worker_id: w1, function: Free, require: true, params: {Name: "{{Upn}}"}, timeout: 30m}
  - {name: licensed, worker_id: w1, function: License, params: {Name: "{{Upn}}"}, timeout: 30m}
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: w1, function: New, params: {Name: "{{Upn}}"}, timeout: 30m}
on_member_removed:
  - {name: clean, worker_id: w1, function: Clean, params: {Name: "{{Upn}}"}, timeout: 30m}
`

// glancing is a runbook whose members wait for no check, which can run when their batch ends.
var glancing = strings.Replace(looking, "require: true, ", "", 1)

// followed is a runbook whose batches follow a data source.
const followed = `name: move
data_source: {type: csv, connection: LIST, primary_key: Upn, batch_time_column: Start, addition_guard: {share: 100%, number: 100}}
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: w1, function: New, params: {Name: "{{Upn}}"}, timeout: 30m}
  - name: verify
    offset: T+5m
    steps:
      - {name: check, worker_id: w1, function: Check, params: {Name: "{{Upn}}"}, timeout: 30m}
on_member_removed:
  - {name: clean, worker_id: w1, function: Clean, params: {Name: "{{Upn}}"}, timeout: 30m}
`

// followedPhases are the functions of the phases of followed.
var followedPhases = []string{"New", "Check"}

// theWave is the number of the first batch of followed.
const theWave = 1

// postponed is the start to which the data source moves the members of theWave.
var postponed = epoch.Add(20 * time.Minute)

// moved makes a wave whose first phase has been fanned out when the data source moves all of it to another
// start. A tick has held that.
func moved(ctx context.Context, w *world, a *app.App) error {
	w.list = startingAt(epoch, both)
	if err := automates().run(ctx, a); err != nil {
		return err
	}
	if err := tick(ctx, a); err != nil {
		return err
	}
	for delivered := true; delivered; {
		delivered = false
		for _, q := range orchestrated {
			for _, m := range w.messages(q) {
				w.do(action{kind: delivers, topic: q.topic, sequence: m.Sequence})
				delivered = true
			}
		}
	}
	w.list = startingAt(postponed, both)
	if err := tick(ctx, a); err != nil {
		return err
	}
	if h := w.read().batches[theWave].batch.RemovalHold; h == nil || h.Moving != len(both) || len(w.messages(jobs)) != len(both) {
		return fmt.Errorf("the wave is not held: %+v, with %d jobs", h, len(w.messages(jobs)))
	}
	return nil
}

// naming is a runbook whose steps use a column that can be corrected.
var naming = strings.ReplaceAll(short, `Name: "{{Upn}}"`, `Name: "{{Name?}}"`)

// prepared is undisturbed work of the administrator before anything else.
func prepared(all ...command) func(context.Context, *world, *app.App) error {
	return func(ctx context.Context, _ *world, a *app.App) error {
		for _, c := range all {
			if err := c.run(ctx, a); err != nil {
				return err
			}
		}
		return nil
	}
}

var (
	ann  = []string{"ann"}
	both = []string{"ann", "bob"}
)

var publishing = publishes(2, "description: new\n"+short)

// systems are explored to their last state: the small ones with each test, the others in a soak,
// as far as its time goes.
var systems = []*system{
	{name: "delays", versions: []string{short}, people: both},
	{name: "on complete", versions: []string{pair}, people: both, budget: budget{repeats: 1}},
	{name: "a request", versions: []string{training}, prepare: requested("octo"), budget: budget{repeats: 1}},
	{name: "a request and crashes", versions: []string{training}, prepare: requested("octo"), budget: budget{crashes: 1}},
	{name: "a request and failures", versions: []string{training}, prepare: requested("octo"), budget: budget{failures: 2}},
	{name: "a request and a cancellation", versions: []string{training}, prepare: requested("octo"), commands: []command{cancels(1)}},
	{name: "the cache", soak: true, versions: []string{caching}, prepare: requested("octo", "hubot"), budget: budget{repeats: 1}, once: true},
	{name: "the cache and crashes", versions: []string{caching}, prepare: requested("octo", "hubot"), budget: budget{crashes: 1}},
	{name: "the cache in between", versions: []string{caching}, prepare: requested("octo", "hubot"), budget: budget{parks: 1}, once: true},
	{name: "the cache and failures", versions: []string{caching}, prepare: requested("octo", "hubot"), budget: budget{failures: 1}},
	{name: "the cache and a cancellation", versions: []string{caching}, prepare: requested("octo", "hubot"), commands: []command{cancels(1)}},
	{name: "failures", versions: []string{twoPhases}, people: ann, budget: budget{failures: 1}},
	{name: "duplicates", versions: []string{short}, people: ann, budget: budget{repeats: 2}},
	{name: "crashes", versions: []string{short}, people: ann, budget: budget{crashes: 1}},
	{name: "conflicts", versions: []string{short}, people: ann, budget: budget{parks: 1}},
	{name: "deaths", versions: []string{short}, people: ann, budget: budget{deaths: 2}},
	{name: "deadlines", versions: []string{hasty}, people: ann, deadlines: true},
	{name: "ticks", versions: []string{short}, people: ann, budget: budget{ticks: 1}},
	{name: "retry", versions: []string{short}, people: ann, budget: budget{failures: 1}, commands: []command{retries(theBatch)}},
	{name: "retry by the active version", versions: []string{short}, people: ann, budget: budget{failures: 1}, commands: []command{publishing, retriesBy(theBatch, api.VersionActive, "")}},
	{name: "retry from a step", versions: []string{twoPhases}, people: ann, budget: budget{failures: 2}, commands: []command{retriesBy(theBatch, "", "new")}},
	{name: "correction", versions: []string{naming}, people: ann, budget: budget{failures: 1}, commands: []command{corrects(theBatch, 1), retries(theBatch)}},
	{name: "correction in between", versions: []string{naming}, people: ann, budget: budget{parks: 1, crashes: 1}, commands: []command{corrects(theBatch, 1)}},
	{name: "another start", versions: []string{short}, people: ann, budget: budget{crashes: 1}, commands: []command{reschedules(theBatch)}},
	{name: "removal", versions: []string{short}, people: ann, commands: []command{removes(theBatch, 1)}},
	{name: "cancel", versions: []string{short}, people: ann, commands: []command{cancels(theBatch)}},
	{name: "pause", versions: []string{pair}, people: ann, commands: []command{pauses(theBatch), resumes(theBatch)}},
	{name: "new version", versions: []string{short}, people: ann, commands: []command{publishing}},
	{name: "polls", versions: []string{waiting}, people: ann, budget: budget{crashes: 1, failures: 1}},
	{name: "polls and deaths", versions: []string{waiting}, people: ann, budget: budget{deaths: 2, repeats: 1}},
	{name: "polls and a pause", versions: []string{waiting}, people: ann, commands: []command{pauses(theBatch), resumes(theBatch)}},
	{name: "polls and a cancellation", versions: []string{waiting}, people: ann, commands: []command{cancels(theBatch)}},
	{name: "polls and a removal", versions: []string{waiting}, people: ann, commands: []command{removes(theBatch, 1)}},
	{name: "polls and a skip", versions: []string{waiting}, people: ann, budget: budget{failures: 1}, commands: []command{skips(theBatch, 1, 1)}},
	{name: "polls and deadlines", versions: []string{strings.ReplaceAll(waiting, "timeout: 30m", "timeout: 2m")}, people: ann, deadlines: true},
	{name: "groups of results", versions: []string{pair}, people: both, groups: true, budget: budget{crashes: 1}},
	{name: "groups of results again", versions: []string{pair}, people: both, groups: true, budget: budget{repeats: 2}},
	{name: "groups of results in between", versions: []string{pair}, people: both, groups: true, budget: budget{parks: 1}},
	{name: "required checks", versions: []string{looking}, people: ann, budget: budget{failures: 1, repeats: 1}},
	{name: "required checks and crashes", versions: []string{looking}, people: ann, budget: budget{crashes: 1}},
	{name: "required checks and a retry", versions: []string{looking}, people: ann, budget: budget{failures: 1}, commands: []command{retries(theBatch)}},
	{name: "required checks and a removal", versions: []string{looking}, people: ann, commands: []command{removes(theBatch, 1)}},
	{name: "required checks and a cancellation", versions: []string{looking}, people: ann, commands: []command{cancels(theBatch)}},
	{name: "checks that nobody waits for", versions: []string{glancing}, people: ann, budget: budget{failures: 1}},
	{name: "checks in between", versions: []string{glancing}, people: ann, budget: budget{parks: 1, crashes: 1}},
	{name: "one person for two batches", versions: []string{short}, prepare: prepared(creates("ann")), commands: []command{creates("ann", "bob"), removes(1, 1)}, budget: budget{parks: 2, crashes: 1}},
	{name: "one person into two batches", versions: []string{short}, prepare: prepared(creates("bob"), creates("cem")), commands: []command{adds(1, "ann"), adds(2, "ann")}, budget: budget{parks: 2, crashes: 1}},

	{name: "moved wave", versions: []string{followed}, prepare: moved, once: true, commands: []command{moves(theWave)}, budget: budget{ticks: 1}},
	{name: "moved wave and a crash", versions: []string{followed}, prepare: moved, once: true, commands: []command{moves(theWave)}, budget: budget{crashes: 1}},
	{name: "moved wave in between", soak: true, versions: []string{followed}, prepare: moved, once: true, commands: []command{moves(theWave)}, budget: budget{parks: 1}},
	{name: "moved wave and a pause", soak: true, versions: []string{followed}, prepare: moved, once: true, commands: []command{moves(theWave), pauses(theWave), resumes(theWave)}},
	{name: "moved or rescheduled wave", soak: true, versions: []string{followed}, prepare: moved, once: true, commands: []command{moves(theWave), reschedulesTo(theWave, postponed)}, budget: budget{parks: 1}},
	{name: "moved or removed wave", soak: true, versions: []string{followed}, prepare: moved, commands: []command{moves(theWave), confirms(theWave)}, budget: budget{parks: 1}},
	{name: "moved wave and a cancellation", soak: true, versions: []string{followed}, prepare: moved, commands: []command{moves(theWave), cancels(theWave)}, budget: budget{ticks: 1}},
	{name: "moved wave and a removal", soak: true, versions: []string{followed}, prepare: moved, commands: []command{moves(theWave), removes(theWave, 1)}, budget: budget{ticks: 1}},
	{name: "conditions of the batch", versions: []string{conditional}, people: ann, budget: budget{failures: 1, crashes: 1}},
	{name: "conditions of the batch and a retry", soak: true, versions: []string{conditional}, people: ann, budget: budget{failures: 1}, commands: []command{retries(theBatch)}},

	{name: "moved wave and faults", soak: true, versions: []string{followed}, prepare: moved, once: true, commands: []command{moves(theWave)}, budget: budget{ticks: 2, parks: 1, crashes: 1}},
	{name: "moved wave and all commands", soak: true, versions: []string{followed}, prepare: moved, commands: []command{moves(theWave), pauses(theWave), resumes(theWave), cancels(theWave)}, budget: budget{ticks: 1, crashes: 1}},
	{name: "two people, two phases, two steps", soak: true, versions: []string{twoPhases}, people: both},
	{name: "two failures", soak: true, versions: []string{twoPhases}, people: ann, budget: budget{failures: 2}},
	{name: "two duplicates", soak: true, versions: []string{twoPhases}, people: ann, budget: budget{repeats: 2}},
	{name: "two crashes", soak: true, versions: []string{twoPhases}, people: ann, budget: budget{crashes: 2}},
	{name: "two people in conflict", soak: true, versions: []string{short}, people: both, budget: budget{parks: 1}},
	{name: "ticks and crashes", soak: true, versions: []string{twoPhases}, people: ann, budget: budget{ticks: 1, crashes: 1}},
	{name: "cancel and crashes", soak: true, versions: []string{short}, people: ann, commands: []command{cancels(theBatch)}, budget: budget{failures: 1, crashes: 1}},
	{name: "cancel in between", soak: true, versions: []string{short}, people: ann, commands: []command{cancels(theBatch)}, budget: budget{parks: 1, failures: 1}},
	{name: "removal and crashes", soak: true, versions: []string{short}, people: both, commands: []command{removes(theBatch, 1)}, budget: budget{failures: 1, crashes: 1}},
	{name: "removal in between", soak: true, versions: []string{short}, people: ann, commands: []command{removes(theBatch, 1)}, budget: budget{parks: 1, failures: 1}},
	{name: "new version and crashes", soak: true, versions: []string{short}, people: ann, commands: []command{publishing}, budget: budget{crashes: 1}},
	{name: "new version in between", soak: true, versions: []string{short}, people: ann, commands: []command{publishing}, budget: budget{parks: 1}},
	{name: "retry in between", soak: true, versions: []string{short}, people: ann, commands: []command{retries(theBatch)}, budget: budget{parks: 1, failures: 1}},
	{name: "rollback and retry of two", soak: true, versions: []string{short}, people: both, budget: budget{failures: 1}, commands: []command{retries(theBatch)}},
	{name: "pause in between", soak: true, versions: []string{short}, people: ann, commands: []command{pauses(theBatch), resumes(theBatch)}, budget: budget{parks: 1}},
	{name: "on complete in between", soak: true, versions: []string{pair}, people: ann, commands: []command{removes(theBatch, 1)}, budget: budget{parks: 1, crashes: 1, ticks: 1}},
	{name: "init", soak: true, versions: []string{begun}, people: ann, commands: []command{cancels(theBatch), publishes(2, "description: new\n"+begun)}, budget: budget{failures: 1, crashes: 1}},
	{name: "groups and faults", soak: true, versions: []string{short}, people: both, groups: true, budget: budget{crashes: 1, parks: 1, failures: 1}},
	{name: "groups and all commands", soak: true, versions: []string{short}, people: both, groups: true, budget: budget{crashes: 1}, commands: []command{
		removes(theBatch, 1), cancels(theBatch), retries(theBatch),
	}},
	{name: "polls of two", soak: true, versions: []string{waiting}, people: both, budget: budget{failures: 1}},
	{name: "polls in between", soak: true, versions: []string{waiting}, people: ann, budget: budget{parks: 1, crashes: 1}},
	{name: "polls and all commands", soak: true, versions: []string{waiting}, people: ann, budget: budget{failures: 1}, commands: []command{
		removes(theBatch, 1), cancels(theBatch), pauses(theBatch), resumes(theBatch), skips(theBatch, 1, 1), retries(theBatch),
	}},
	{name: "late polls", soak: true, versions: []string{strings.ReplaceAll(waiting, "timeout: 30m", "timeout: 2m")}, people: ann, deadlines: true, budget: budget{late: 2, deaths: 1}},
	{name: "all commands", soak: true, versions: []string{short}, people: ann, budget: budget{failures: 1}, commands: []command{
		removes(theBatch, 1), cancels(theBatch), publishing, retries(theBatch),
	}},
	{name: "late jobs", soak: true, versions: []string{hasty}, people: ann, deadlines: true, budget: budget{late: 2, deaths: 1, parks: 1}},
	{name: "two deliveries at once", soak: true, versions: []string{twoPhases}, people: ann, budget: budget{repeats: 1, parks: 2}},
	{name: "two people and faults", soak: true, versions: []string{short}, people: both, budget: budget{failures: 1, crashes: 1, repeats: 1}, commands: []command{retries(theBatch)}},
	{name: "two people and all commands", soak: true, versions: []string{twoPhases}, people: both, budget: budget{failures: 1}, commands: []command{
		removes(theBatch, 1), cancels(theBatch), publishes(2, "description: new\n"+twoPhases), retries(theBatch),
	}},
}
