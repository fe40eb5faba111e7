// Package verify checks a worker, written in any language, against the message
// contract of docs/write-a-worker.md. It takes the orchestrator's place: it sends jobs to
// one worker over Service Bus and judges the results. It runs nothing of a worker
// and knows nothing of what its functions do.
package verify

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// Config says which worker is verified and how. Client and WorkerID are required.
type Config struct {
	Client   bus.Client
	WorkerID string
	// Results is the subscription of the topic worker-results to read. No other program
	// may use it: the run removes all its messages. Empty means "verify".
	Results string
	// Function is a function that succeeds for every job with Parameters, a JSON
	// object, for example one that only reads. Without it, the checks that need a
	// success are skipped.
	Function   string
	Parameters json.RawMessage
	// Required are parameters of Function without which it must fail.
	Required []string
	// Huge is a function that, called with HugeParameters, answers more than a message
	// holds.
	Huge           string
	HugeParameters json.RawMessage
	Jobs           int           // how many are sent at once to see that none is lost; 0 means 32
	Timeout        time.Duration // for each thing that is waited for; 0 means 30 s
	// ControlWait is how old a control may be when a job that it revokes is still begun; 0
	// means message.ControlMaxAge.
	ControlWait time.Duration
	// HeartbeatWait is how long after its beginning a run waits for a heartbeat; 0 means a
	// little more than message.HeartbeatInterval.
	HeartbeatWait time.Duration
}

// Outcome of a check.
type Outcome string

// Outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Warned  Outcome = "warned" // the worker lacks something optional that it should have
	Skipped Outcome = "skipped"
)

// Finding is the result of one check. Detail describes the error, the reason for skipping
// the check, or the observation.
type Finding struct {
	Check   string  `json:"check"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail"`
}

// DefaultResults is the subscription that is read when none is named.
const DefaultResults = "verify"

// Run makes all checks, one after the other. Its error means that the worker could
// not be judged: the broker refused, or ctx ended.
func Run(ctx context.Context, config Config) ([]Finding, error) {
	if config.Client == nil || config.WorkerID == "" {
		return nil, errors.New("verify: a client and a worker id are required")
	}
	if config.Results == "" {
		config.Results = DefaultResults
	}
	if config.Jobs <= 0 {
		config.Jobs = 32
	}
	if config.Timeout <= 0 {
		config.Timeout = 30 * time.Second
	}
	if len(config.Parameters) == 0 {
		config.Parameters = json.RawMessage(`{}`)
	}
	if len(config.HugeParameters) == 0 {
		config.HugeParameters = json.RawMessage(`{}`)
	}
	if config.ControlWait <= 0 {
		config.ControlWait = message.ControlMaxAge
	}
	if config.HeartbeatWait <= 0 {
		config.HeartbeatWait = message.HeartbeatInterval + 5*time.Second
	}
	v := &verifier{config: config, sent: map[string]sentJob{}, id: "verify-" + random(), revokedBatch: randomBatch(), began: time.Now()}
	var err error
	if v.line, err = open(config, v.id); err != nil {
		return nil, err
	}
	defer v.line.close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go v.line.listen(ctx, stop)
	if config.Results == message.SubscriptionOrchestrator {
		if err := v.line.alone(ctx); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, err
		}
	}

	for _, c := range checks {
		detail, err := c.make(ctx, v)
		var reason skip
		var doubt warning
		var wrong breach
		switch {
		case ctx.Err() != nil:
			return v.findings, context.Cause(ctx)
		case err == nil:
			v.add(c.name, Passed, detail)
		case errors.As(err, &reason):
			v.add(c.name, Skipped, string(reason))
		case errors.As(err, &doubt):
			v.add(c.name, Warned, string(doubt))
		case errors.As(err, &wrong):
			v.add(c.name, Failed, string(wrong))
		default:
			return v.findings, err
		}
		if v.silent {
			break
		}
	}
	return v.findings, nil
}

// verifier is one run.
type verifier struct {
	config   Config
	id       string // what the ids of all its jobs begin with
	line     *line
	sent     map[string]sentJob
	findings []Finding
	silent   bool // the worker does not answer: there is nothing more to find
	began    time.Time

	revokedBatch   int       // whose jobs are revoked
	revokedThrough time.Time // of the control that the worker has read; zero when it has not
}

func (v *verifier) add(check string, outcome Outcome, detail string) {
	v.findings = append(v.findings, Finding{check, outcome, detail})
}

// breach is a way in which the worker does not keep the contract.
type breach string

func (b breach) Error() string { return string(b) }

func breachf(format string, args ...any) error { return breach(fmt.Sprintf(format, args...)) }

// warning is why a check warns: the worker lacks something optional.
type warning string

func (w warning) Error() string { return string(w) }

// skip is why a check was not made.
type skip string

func (s skip) Error() string { return string(s) }

func random() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// batch is the number of the batch of all jobs but those that are revoked.
const batch = 2147480001

// randomBatch returns the number of a batch whose jobs can be revoked: another one in each
// run, because a control stays on the topic when the run has ended.
func randomBatch() int {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return batch - 1 - int(binary.BigEndian.Uint32(b[:])%(1<<30))
}

// sentJob is a job as sent, or an invalid message in its place.
type sentJob struct {
	id          string
	correlation json.RawMessage
	function    string
}

// job describes one to be sent.
type job struct {
	name       string // completes its id
	function   string
	parameters json.RawMessage
	batch      int // 0 means batch
	expiresAt  *time.Time
	// dispatchedAt is missing in a job without it, which no control revokes.
	dispatchedAt *time.Time
	lower        bool // all names of fields in lower case
	without      string
	copies       int // how often it is sent, each under a message id of its own; 0 means once
}

// correlation is a value that a worker must return unchanged: it has an odd number too
// large for a float, and unknown fields.
func (v *verifier) correlation(batch int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(
		`{"BatchId":%d,"StepExecutionId":%d,"IsInitStep":false,"RunbookName":%q,"RunbookVersion":1,"Later":{"Ratio":2.5,"None":null,"Text":"<é>"}}`,
		batch, int64(9007199254740993)+2*int64(len(v.sent)), v.id))
}

// send sends a job and returns its id.
func (v *verifier) send(ctx context.Context, j job) (string, error) {
	id := v.id + "-" + j.name
	if j.batch == 0 {
		j.batch = batch
	}
	s := sentJob{id: id, correlation: v.correlation(j.batch), function: j.function}
	type field struct {
		name  string
		value any
	}
	fields := []field{
		{"JobId", id},
		{"BatchId", j.batch},
		{"WorkerId", v.config.WorkerID},
		{"FunctionName", j.function},
		{"Parameters", j.parameters},
		{"CorrelationData", s.correlation},
	}
	if j.dispatchedAt != nil {
		fields = append(fields, field{"DispatchedAt", j.dispatchedAt})
	}
	if j.expiresAt != nil {
		fields = append(fields, field{"ExpiresAt", j.expiresAt})
	}
	var body strings.Builder
	for _, f := range fields {
		if f.name == j.without {
			continue
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return "", fmt.Errorf("the parameters are not JSON: %w", err)
		}
		name := f.name
		if j.lower {
			name = strings.ToLower(name)
		}
		fmt.Fprintf(&body, ",%q:%s", name, value)
	}
	v.sent[id] = s
	var ids []string
	for n := range max(j.copies, 1) {
		ids = append(ids, fmt.Sprintf("%s-m%d-%s", id, n, random()))
	}
	return id, v.line.send(ctx, []byte("{"+body.String()[1:]+"}"), ids...)
}

// ask sends a job and waits for its result.
func (v *verifier) ask(ctx context.Context, j job) (result, error) {
	id, err := v.send(ctx, j)
	if err != nil {
		return result{}, err
	}
	return v.await(ctx, id)
}

func (v *verifier) await(ctx context.Context, id string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, v.config.Timeout)
	defer cancel()
	for {
		got, more := v.line.results(id)
		if len(got) > 0 {
			return got[0], nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return result{}, ctx.Err()
			}
			return result{}, breachf("job %s was not answered within %s", id, v.config.Timeout)
		}
	}
}

// probe is a job that any worker can answer.
func (v *verifier) probe(name string) job {
	if v.config.Function != "" {
		return job{name: name, function: v.config.Function, parameters: v.config.Parameters}
	}
	return job{name: name, function: unknownFunction, parameters: json.RawMessage(`{}`)}
}

const unknownFunction = "Test-NoSuchFunctionAnywhere"

// succeeds judges the result of a probe.
func (v *verifier) succeeds(r result) error {
	if v.config.Function != "" && !r.is(message.StatusSuccess) {
		return breachf("%s must succeed with the given parameters, got: %s", v.config.Function, r.said())
	}
	return nil
}
