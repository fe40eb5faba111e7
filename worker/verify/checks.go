package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
)

// checks are made in this order: the last ones judge everything that came before.
// A check returns what it saw, a breach, a warning, a skip, or an error that ends the run.
var checks = []struct {
	name string
	make func(ctx context.Context, v *verifier) (string, error)
}{
	{"answers a job", answers},
	{"reads fields in any case", anyCase},
	{"fails an unknown function", failsUnknownFunction},
	{"fails an unknown parameter", failsUnknownParameter},
	{"fails without a required parameter", failsMissingParameter},
	{"fails parameters that are not an object", failsParameters},
	{"fails a job without a function", failsWithoutFunction},
	{"survives invalid jobs", survives},
	{"does not start an expired job", doesNotBegin},
	{"does not start a revoked job", failsRevoked},
	{"starts a job dispatched after a control", beginsLater},
	{"fails an answer that is too large", failsHuge},
	{"answers a repeated job the same", repeats},
	{"answers many jobs", many},
	{"completes its jobs", completesJobs},
	{"answers once", once},
	{"returns CorrelationData", correlates},
	{"writes valid results", shapes},
	{"writes valid message properties", envelopes},
	{"sends heartbeats", sendsHeartbeats},
}

func answers(ctx context.Context, v *verifier) (string, error) {
	r, err := v.ask(ctx, v.probe("first"))
	var wrong breach
	if errors.As(err, &wrong) {
		v.silent = true
		if _, strange := v.line.all(); len(strange) > 0 {
			return "", breachf("%s; but %s", wrong, strange[0])
		}
		if v.config.Results == message.SubscriptionOrchestrator {
			return "", breachf("%s; the other checks were skipped. Check that the worker runs, that its id is %s, and that no orchestrator runs", wrong, v.config.WorkerID)
		}
		return "", breachf("%s; the other checks were skipped. Check that the worker runs and that its id is %s", wrong, v.config.WorkerID)
	}
	if err != nil {
		return "", err
	}
	return r.said(), v.succeeds(r)
}

func anyCase(ctx context.Context, v *verifier) (string, error) {
	j := v.probe("case")
	j.lower = true
	r, err := v.ask(ctx, j)
	if err != nil {
		return "", err
	}
	first, err := v.await(ctx, v.id+"-first")
	if err == nil && !strings.EqualFold(first.text("Status"), r.text("Status")) {
		err = breachf("with lower-case field names: %s; otherwise: %s", r.said(), first.said())
	}
	return "jobid, functionname, …", err
}

// fails asks for a failure whose message holds all the words.
func (v *verifier) fails(ctx context.Context, j job, words ...string) (string, error) {
	r, err := v.ask(ctx, j)
	if err != nil {
		return "", err
	}
	e, err := r.failure()
	switch {
	case !r.is(message.StatusFailure) || err != nil || e.Message == nil:
		return "", breachf("expected a failure, got: %s", r.said())
	default:
		for _, w := range words {
			if !strings.Contains(strings.ToLower(*e.Message), strings.ToLower(w)) {
				return "", breachf("the failure does not name %s: %s", w, r.said())
			}
		}
	}
	return r.said(), nil
}

func failsUnknownFunction(ctx context.Context, v *verifier) (string, error) {
	return v.fails(ctx, job{name: "unknown", function: unknownFunction, parameters: json.RawMessage(`{}`)}, unknownFunction)
}

const noFunction = skip("--function is not set")

func failsUnknownParameter(ctx context.Context, v *verifier) (string, error) {
	if v.config.Function == "" {
		return "", noFunction
	}
	const name = "NoSuchParameterAnywhere"
	parameters, err := changed(v.config.Parameters, func(p map[string]json.RawMessage) { p[name] = json.RawMessage(`"x"`) })
	if err != nil {
		return "", err
	}
	return v.fails(ctx, job{name: "unknown-parameter", function: v.config.Function, parameters: parameters}, name)
}

func failsMissingParameter(ctx context.Context, v *verifier) (string, error) {
	if v.config.Function == "" || len(v.config.Required) == 0 {
		return "", skip("--required is not set")
	}
	var said string
	for i, name := range v.config.Required {
		parameters, err := changed(v.config.Parameters, func(p map[string]json.RawMessage) {
			maps.DeleteFunc(p, func(k string, _ json.RawMessage) bool { return strings.EqualFold(k, name) })
		})
		if err != nil {
			return "", err
		}
		if said, err = v.fails(ctx, job{name: fmt.Sprintf("missing-%d", i), function: v.config.Function, parameters: parameters}, name); err != nil {
			return "", err
		}
	}
	return said, nil
}

func changed(parameters json.RawMessage, change func(map[string]json.RawMessage)) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(parameters, &all); err != nil {
		return nil, fmt.Errorf("the parameters are not a JSON object: %w", err)
	}
	change(all)
	return json.Marshal(all)
}

func failsParameters(ctx context.Context, v *verifier) (string, error) {
	j := v.probe("array")
	j.parameters = json.RawMessage(`["not","an","object"]`)
	return v.fails(ctx, j)
}

func failsWithoutFunction(ctx context.Context, v *verifier) (string, error) {
	return v.fails(ctx, job{name: "nameless", parameters: json.RawMessage(`{}`), without: "FunctionName"})
}

// rubbish cannot be answered, since it does not say whom.
var rubbish = []string{
	`{"JobId":`, `[]`, `null`, `"job"`, `{}`, "\x00\xff\xfe", `<job/>`,
	`{"FunctionName":"` + unknownFunction + `","Parameters":{}}`,
	`{"JobId":17,"CorrelationData":"x"}`,
	`{"JobId":"verify","CorrelationData":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`,
}

func survives(ctx context.Context, v *verifier) (string, error) {
	prefix := v.id + "-rubbish-"
	for i, body := range rubbish {
		if err := v.line.send(ctx, []byte(body), fmt.Sprintf("%s%d-%s", prefix, i, random())); err != nil {
			return "", err
		}
	}
	r, err := v.ask(ctx, v.probe("afterwards"))
	if err != nil {
		return "", err
	}
	if err := v.succeeds(r); err != nil {
		return "", err
	}
	left, err := v.line.waitUntilEmpty(ctx, prefix)
	if err == nil && len(left) > 0 {
		return "", breachf("%d invalid jobs are neither completed nor dead-lettered after %s", len(left), v.config.Timeout)
	}
	return fmt.Sprintf("%d messages", len(rubbish)), err
}

func doesNotBegin(ctx context.Context, v *verifier) (string, error) {
	j := v.probe("expired")
	past := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	j.expiresAt = &past
	said, err := v.fails(ctx, j)
	if err != nil {
		return "", err
	}
	r, err := v.await(ctx, v.id+"-expired")
	if err != nil {
		return "", err
	}
	if !r.failedAs(message.ErrorJobExpired) {
		return "", breachf("Error.Type is not %s: %s", message.ErrorJobExpired, said)
	}
	return said, nil
}

// betweenProbes is the delay between two jobs that ask whether a control has arrived.
const betweenProbes = 500 * time.Millisecond

// failsRevoked revokes the jobs of a batch, and sends jobs of it until one is not begun. A
// worker may begin those that it receives before it has read the control, for at most
// message.ControlMaxAge.
func failsRevoked(ctx context.Context, v *verifier) (string, error) {
	c := message.Control{BatchID: v.revokedBatch, RevokedThrough: time.Now().UTC().Truncate(time.Millisecond)}
	if err := v.line.revoke(ctx, c); err != nil {
		return "", err
	}
	sent := time.Now()
	for n := 0; ; n++ {
		j := v.probe(fmt.Sprintf("revoked-%d", n))
		j.batch, j.dispatchedAt = c.BatchID, &c.RevokedThrough
		age := time.Since(sent)
		r, err := v.ask(ctx, j)
		if err != nil {
			return "", err
		}
		if r.failedAs(message.ErrorJobRevoked) {
			v.revokedThrough = c.RevokedThrough
			return fmt.Sprintf("%d ms after the control: %s", age.Milliseconds(), r.said()), nil
		}
		if age >= v.config.ControlWait {
			return "", breachf("a job sent %s after its revocation must fail with Error.Type %s, got: %s",
				age.Round(time.Millisecond), message.ErrorJobRevoked, r.said())
		}
		select {
		case <-time.After(min(betweenProbes, v.config.ControlWait-age)):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// beginsLater sends a job as after the resumption of a batch that was paused.
func beginsLater(ctx context.Context, v *verifier) (string, error) {
	if v.revokedThrough.IsZero() {
		return "", skip("the worker ignores controls")
	}
	later := v.revokedThrough.Add(time.Millisecond)
	j := v.probe("after-control")
	j.batch, j.dispatchedAt = v.revokedBatch, &later
	r, err := v.ask(ctx, j)
	if err != nil {
		return "", err
	}
	if r.failedAs(message.ErrorJobRevoked) {
		return "", breachf("a job with DispatchedAt after RevokedThrough was not started: %s", r.said())
	}
	return r.said(), v.succeeds(r)
}

func failsHuge(ctx context.Context, v *verifier) (string, error) {
	if v.config.Huge == "" {
		return "", skip("--huge-function is not set")
	}
	return v.fails(ctx, job{name: "huge", function: v.config.Huge, parameters: v.config.HugeParameters})
}

func repeats(ctx context.Context, v *verifier) (string, error) {
	j := v.probe("repeated")
	j.copies = 2
	id, err := v.send(ctx, j)
	if err != nil {
		return "", err
	}
	if _, err := v.await(ctx, id); err != nil {
		return "", err
	}
	// Once more, when it has been answered. It is sent as it was, so its correlation
	// must not be made anew.
	delete(v.sent, id)
	j.copies = 1
	if _, err := v.send(ctx, j); err != nil {
		return "", err
	}
	if left, err := v.line.waitUntilEmpty(ctx, id); err != nil {
		return "", err
	} else if len(left) > 0 {
		return "", breachf("%d of 3 deliveries of the job are neither completed nor dead-lettered after %s", len(left), v.config.Timeout)
	}
	// All earlier messages arrived before this result.
	if _, err := v.ask(ctx, v.probe("after-repeated")); err != nil {
		return "", err
	}
	results, _ := v.line.results(id)
	for _, r := range results[1:] {
		if r.message.ID != results[0].message.ID {
			return "", breachf("two results of one job have different message ids, %s and %s: the broker cannot drop the duplicate",
				results[0].message.ID, r.message.ID)
		}
		if !sameOutcome(results[0], r) {
			return "", breachf("a repeated job has a different answer: %s; first: %s", r.said(), results[0].said())
		}
	}
	return fmt.Sprintf("3 deliveries, %d results", len(results)), nil
}

func many(ctx context.Context, v *verifier) (string, error) {
	began := time.Now()
	var ids []string
	for n := range v.config.Jobs {
		id, err := v.send(ctx, v.probe(fmt.Sprintf("many-%d", n)))
		if err != nil {
			return "", err
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		r, err := v.await(ctx, id)
		if err == nil {
			err = v.succeeds(r)
		}
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d in %d ms", len(ids), time.Since(began).Milliseconds()), nil
}

func completesJobs(ctx context.Context, v *verifier) (string, error) {
	left, err := v.line.waitUntilEmpty(ctx, v.id)
	if err == nil && len(left) > 0 {
		return "", breachf("%d jobs were answered but not completed after %s, the first is %s", len(left), v.config.Timeout, left[0])
	}
	return fmt.Sprintf("%d jobs", len(v.sent)), err
}

func once(_ context.Context, v *verifier) (string, error) {
	got, strange := v.line.all()
	if len(strange) > 0 {
		return "", breachf("%s", strange[0])
	}
	for _, id := range slices.Sorted(maps.Keys(got)) {
		if _, ok := v.sent[id]; !ok {
			return "", breachf("there is a result of job %s, which was not sent", id)
		}
		if n := len(got[id]); n > 1 && !strings.HasSuffix(id, "-repeated") {
			return "", breachf("the job %s was answered %d times", id, n)
		}
	}
	return fmt.Sprintf("%d jobs", len(got)), nil
}

func correlates(_ context.Context, v *verifier) (string, error) {
	return v.each(func(id string, r result) []string {
		if !sameJSON(v.sent[id].correlation, r.raw("CorrelationData")) {
			return []string{fmt.Sprintf("CorrelationData is %s; the job has %s", orNothing(bytes.TrimSpace(r.raw("CorrelationData"))), v.sent[id].correlation)}
		}
		return nil
	})
}

func shapes(_ context.Context, v *verifier) (string, error) {
	now := time.Now()
	return v.each(func(_ string, r result) []string { return r.shape(now) })
}

func envelopes(_ context.Context, v *verifier) (string, error) {
	return v.each(func(_ string, r result) []string { return r.envelope(v.config.WorkerID, v.line.trace) })
}

// sendsHeartbeats waits for a heartbeat: a worker sends one every message.HeartbeatInterval.
// Without heartbeats a worker does its jobs, so that this is no breach; heartbeats that the
// orchestrator cannot use are one.
func sendsHeartbeats(ctx context.Context, v *verifier) (string, error) {
	ctx, cancel := context.WithDeadline(ctx, v.began.Add(v.config.HeartbeatWait))
	defer cancel()
	for {
		beats, more := v.line.heartbeats()
		for _, b := range beats {
			if b.fault != nil {
				return "", breachf("%s", b.fault)
			}
		}
		if len(beats) > 0 {
			return fmt.Sprintf("heartbeats: %d", len(beats)), nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return "", ctx.Err()
			}
			return "", warning(fmt.Sprintf("no heartbeat within %s: the orchestrator cannot tell whether the worker is alive", v.config.HeartbeatWait))
		}
	}
}

// each judges every result. It reports each kind of error once, with the first
// job that shows it.
func (v *verifier) each(judge func(id string, r result) []string) (string, error) {
	got, _ := v.line.all()
	n := 0
	for _, id := range slices.Sorted(maps.Keys(got)) {
		if _, ok := v.sent[id]; !ok {
			continue
		}
		for _, r := range got[id] {
			n++
			if faults := judge(id, r); len(faults) > 0 {
				return "", breachf("the result of %s: %s", id, strings.Join(faults, "; "))
			}
		}
	}
	return fmt.Sprintf("%d results", n), nil
}
