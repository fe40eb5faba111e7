package runstate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// The cache of steps. A step with a key claims an entry before its job is sent: the entry names the run, and
// the run has the result. Another step with the same key waits for that run, or takes over its result.

// claimGrace is how long an entry is taken for that of a run which is about to do the work, if the run does
// not say so: the entry is written before the run.
const claimGrace = time.Minute

// CacheState is the use of a cache entry.
type CacheState int

// The states of an entry.
const (
	CacheVoid    CacheState = iota // its run neither has a result to give nor does the work
	CacheWorking                   // its run does the work
	CacheDone                      // its run has the result
)

// StateOfEntry returns what an entry is good for, by the run that it names, and the place of the step there;
// -1 if the run has none. holder is nil if there is no such run any more.
func StateOfEntry(e *model.CacheEntry, holder *model.Run, now time.Time) (state CacheState, step int) {
	if holder != nil {
		for i := range holder.Steps {
			if s := &holder.Steps[i]; s.CacheID == e.ID {
				return stateOfWork(holder, s), i
			}
		}
	}
	if now.Sub(e.Since) < claimGrace {
		return CacheWorking, -1
	}
	return CacheVoid, -1
}

// stateOfWork is the state of an entry whose work is a step of a run. A run that waits for its batch to be
// resumed does not do the work: others need not wait for the administrator of that batch.
func stateOfWork(r *model.Run, s *model.Step) CacheState {
	switch {
	case s.Status == model.StepSucceeded:
		if s.Resolved != nil || r.RolledBack {
			return CacheVoid
		}
		return CacheDone
	case r.Status.Terminal() || r.PausedAt != nil:
		return CacheVoid
	case s.JobInFlight(), s.Status == model.StepPolling, s.Status == model.StepPending && s.RetryAfter != nil:
		return CacheWorking
	}
	return CacheVoid
}

// consultCache reports whether the step in hand needs no job now: the cache has its result, or it waits for
// another run that does the work. Otherwise it claims the work, if the step has a key.
func (t *transition) consultCache(d runbook.Step) (settled bool, err error) {
	step := t.step()
	if d.Cache == nil {
		return false, nil
	}
	id, err := t.cacheID(d)
	if err != nil {
		return true, t.failStep("the key of its cache: " + err.Error())
	}
	if id == "" {
		step.CacheID, step.Cached = "", nil
		return false, nil
	}
	entry, err := t.state.LoadCacheEntry(id)
	if err != nil {
		return false, err
	}
	own := entry != nil && entry.HeldBy(t.run)
	switch {
	case own && step.CacheID == id: // a retry
		return false, nil
	case entry == nil, own && t.holdsAnew(id), t.run.NotBefore != nil && entry.Since.Before(*t.run.NotBefore):
		t.claim(d, id)
		return false, nil
	}
	holder := t.run
	if !own {
		if holder, err = t.state.LoadHolder(entry); err != nil {
			return false, err
		}
	}
	switch state, at := StateOfEntry(entry, holder, t.now); state {
	case CacheWorking:
		t.awaitHolder(entry, at)
		return true, nil
	case CacheDone:
		if taken, err := t.takeCached(d, holder, at); taken || err != nil {
			return true, err
		}
	}
	t.claim(d, id)
	return false, nil
}

// holdsAnew reports whether the entry that names this run is for the step in hand: no other step of the run
// has it.
func (t *transition) holdsAnew(id string) bool {
	for i, s := range t.run.Steps {
		if i != t.run.Current && s.CacheID == id {
			return false
		}
	}
	return true
}

// cacheID returns the id of the entry for the step in hand; empty if a variable of its key has no value. Two
// steps of a runbook have the same entry if they call the same function of a worker with the same parameters
// before their variables are filled in, and have the same key: a changed definition uses no earlier result. A batch
// that is a shadow shares nothing with one that is none.
func (t *transition) cacheID(d runbook.Step) (string, error) {
	vars, err := t.variables(append(template.References(d.Function), template.References(d.Cache.Key)...))
	if err != nil {
		return "", err
	}
	segments, err := template.Parse(d.Cache.Key)
	if err != nil {
		return "", err
	}
	var key []string // each value by itself: another one cannot be written to look like two
	for _, v := range segments {
		if !v.Variable {
			key = append(key, v.Text)
			continue
		}
		value, ok := vars[v.Text]
		if empty := ok && (value == nil || value == "") || !ok && v.MayLack(); empty && !v.HasDefault() {
			return "", nil
		}
		text, err := template.ResolveString(v.Source, vars)
		if err != nil {
			return "", err
		}
		key = append(key, text)
	}
	function, err := template.ResolveString(d.Function, vars)
	if err != nil {
		return "", err
	}
	identity, err := json.Marshal([]any{t.run.Runbook, t.run.Shadow, d.WorkerID, function, d.Params, key})
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(identity)
	return hex.EncodeToString(digest[:16]), nil
}

// claim has the run of the step in hand named by an entry, before the run is written.
func (t *transition) claim(d runbook.Step, id string) {
	step := t.step()
	step.CacheID, step.Cached = id, nil
	t.claims = append(t.claims, &model.CacheEntry{
		ID: id, Runbook: t.run.Runbook, StepName: d.Name, Batch: t.run.Batch, Phase: t.run.Phase, Member: t.run.Member,
		Since: t.now, TTL: int(d.Cache.TTL / time.Second), ExpiresAt: t.now.Add(d.Cache.TTL),
	})
}

// The waits between looks at a run that does the work.
const (
	shortestLook = time.Second
	longestLook  = time.Minute
)

// awaitHolder postpones the step in hand by half the time that the work has lasted. So a result is taken over
// in at most half as much time again, and long work costs few looks.
func (t *transition) awaitHolder(e *model.CacheEntry, at int) {
	step := t.step()
	step.Status, step.CacheID = model.StepPending, ""
	step.Cached = &model.CacheSource{Batch: e.Batch, Phase: e.Phase, Member: e.Member, Step: max(0, at)}
	step.Waits++
	wait := min(max(t.now.Sub(e.Since)/2, shortestLook), longestLook)
	t.postpone(t.now.Add(wait))
}

// takeCached ends the step in hand with the result of another run, and goes on behind it. It reports false if
// that result is too old, or of no use to this step.
func (t *transition) takeCached(d runbook.Step, holder *model.Run, at int) (taken bool, err error) {
	from, step := holder.Steps[at], t.step()
	if from.CompletedAt == nil || !t.now.Before(from.CompletedAt.Add(d.Cache.TTL)) {
		return false, nil
	}
	if CheckDone(d, from.Result) != nil || hasSecrets(d, from.Result) {
		return false, nil
	}
	if _, reason := t.checkPayload("result", from.Result); reason != "" {
		return false, nil
	}
	done := *from.CompletedAt
	step.Result, step.CacheID = from.Result, ""
	step.Cached = &model.CacheSource{Batch: holder.Batch, Phase: holder.Phase, Member: holder.Member, Step: at, At: &done}
	if err := t.keepOutputs(d.OutputParams, readAnswer(from.Result)); err != nil {
		return true, t.failStep(err.Error())
	}
	step.Status, step.CompletedAt, step.Error, step.RetryAfter, step.Postponed = model.StepSucceeded, &t.now, "", nil, false
	return true, t.proceed()
}

// hasSecrets reports whether a field of a result that output_params takes is a secret: of an earlier version
// of the runbook, in which the output was one.
func hasSecrets(d runbook.Step, result json.RawMessage) bool {
	found := false
	_, err := model.MapOutputs(d.OutputParams, result, func(_ string, value json.RawMessage) (json.RawMessage, error) {
		_, sealed := model.Sealed(value)
		var v any
		found = found || sealed || json.Unmarshal(value, &v) == nil && template.Reserved(v)
		return nil, nil
	})
	return found || err != nil
}

// CacheEntryUntil returns until when an entry is of use, by the run that it names: the zero time if it is not.
func CacheEntryUntil(e *model.CacheEntry, holder *model.Run, now time.Time) time.Time {
	ttl := time.Duration(e.TTL) * time.Second
	switch state, at := StateOfEntry(e, holder, now); state {
	case CacheWorking:
		return now.Add(ttl)
	case CacheDone:
		if end := holder.Steps[at].CompletedAt; end != nil && now.Before(end.Add(ttl)) {
			return end.Add(ttl)
		}
	}
	return time.Time{}
}
