package custom

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/worker/blank"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// MaxAnswer is how many bytes a function may answer. A message holds fewer; what
// exceeds that is refused where it is made into one.
const MaxAnswer = 256 << 10

// FailureProcess is the type of the failure of a function whose process could not
// be started, or ended otherwise than it should.
const FailureProcess = "Process"

// linger is how long the pipes are read after the process has ended, in case a
// process outside its group holds them.
const linger = 2 * time.Second

// The reasons for which a process is ended.
var (
	errLate    = errors.New("the timeout expired")
	errTooLong = errors.New("the answer is too long")
)

// program is the implementation of a function.
type program struct {
	declared    catalog.Function
	argv        []string
	dir         string
	environment []string // NAME=value
	secrets     []string // values that are blanked in what the process says
	tokens      []string // names of APIs
	token       func(ctx context.Context, api string) (Token, error)
	tenantID    string
	script      bool // of PowerShell
	timeout     time.Duration
	set         *Set
}

func (m *manifest) program(root string, config Config, set *Set) *program {
	p := &program{declared: m.declared, argv: m.argv, dir: root, script: m.script, timeout: m.timeout, set: set}
	p.tokens, p.token, p.tenantID = m.tokens, config.Tokens, config.TenantID
	for _, name := range always {
		if value := config.Getenv(name); value != "" {
			p.environment = append(p.environment, name+"="+value)
		}
	}
	for _, name := range m.environment {
		value := config.Getenv(name)
		p.environment = append(p.environment, name+"="+value)
		p.secrets = append(p.secrets, value)
	}
	return p
}

// input is the JSON that a function reads from standard input.
type input struct {
	Function   string         `json:"function"`
	Parameters catalog.Params `json:"parameters"`
	Job        inputJob       `json:"job"`
	Tenant     *inputTenant   `json:"tenant,omitempty"` // with tokens only
}

// inputTenant is the target tenant with tokens for its APIs. Tokens of the worker's own identity come without an id. Only standard input has them: a process shows its
// environment and its arguments to others.
type inputTenant struct {
	ID     string                `json:"id,omitempty"`
	Tokens map[string]inputToken `json:"tokens"`
}

type inputToken struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// tenant gets the tokens that the manifest asks for, nil if it asks for none, and their texts.
func (p *program) tenant(ctx context.Context) (*inputTenant, []string, error) {
	if len(p.tokens) == 0 {
		return nil, nil, nil
	}
	t := &inputTenant{ID: p.tenantID, Tokens: map[string]inputToken{}}
	var texts []string
	for _, api := range p.tokens {
		token, err := p.token(ctx, api)
		if err != nil {
			return nil, nil, p.failure(catalog.FailureUnreachable, "no token for "+api+": "+err.Error())
		}
		t.Tokens[api] = inputToken{token.Value, token.Expires.UTC()}
		texts = append(texts, token.Value)
	}
	return t, texts, nil
}

// inputJob is the same on each delivery of a job, and EffectID also with each retry and
// poll.
type inputJob struct {
	ID              string `json:"id"`
	EffectID        string `json:"effectId"`
	BatchID         int    `json:"batchId"`
	StepExecutionID int64  `json:"stepExecutionId"`
}

// run runs the function once, in a process of its own, which is gone with all of
// its group when run returns.
func (p *program) run(ctx context.Context, params catalog.Params) (any, error) {
	end, ok := p.set.begin()
	if !ok {
		return nil, p.failure(FailureProcess, "the worker is stopping")
	}
	defer end()
	job := catalog.JobOf(ctx)
	tenant, tokens, err := p.tenant(ctx)
	if err != nil {
		return nil, err
	}
	question, err := json.Marshal(input{
		Function: p.declared.Name, Parameters: params, Tenant: tenant,
		Job: inputJob{ID: job.ID, EffectID: job.EffectID, BatchID: job.BatchID, StepExecutionID: job.StepExecutionID},
	})
	if err != nil {
		return nil, err
	}

	secrets := p.secretsOf(params, slices.Concat(job.Secrets, tokens))
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(p.timeout, func() { cancel(errLate) })
	defer late.Stop()
	said, err := p.process(limited, cancel, question, func(r io.Reader) { copyLines(job.Log, standardError, r, secrets) })
	switch reason := context.Cause(limited); {
	case errors.Is(reason, errTooLong):
		return nil, p.failure(catalog.FailureInvalidResult, fmt.Sprintf("the answer has more than %d bytes; the process was killed", MaxAnswer))
	case err == nil: // its work is done, be it at the last moment
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(reason, errLate):
		return nil, p.failure(catalog.FailureTimeout, fmt.Sprintf("the process did not finish within %s and was killed", p.timeout))
	}
	if p.script {
		var before []byte
		before, said = lastLine(said)
		copyLines(job.Log, standardOutput, bytes.NewReader(before), secrets)
	}
	if slices.ContainsFunc(tokens, func(token string) bool { return bytes.Contains(said, []byte(token)) }) {
		return nil, p.failure(catalog.FailureInvalidResult, "the answer has a token in it, which would be stored")
	}
	return p.answer(said, err, blank.Replacer(secrets))
}

// lastLine splits off the last line that is not empty. PowerShell writes warnings to
// standard output, also those of modules that a script has no hold on, so of a script
// only this line is the answer.
func lastLine(said []byte) (before, last []byte) {
	said = bytes.TrimSpace(said)
	at := bytes.LastIndexByte(said, '\n') + 1
	return said[:at], said[at:]
}

// process starts the process and returns what it wrote to standard output, and
// how it ended: an *exec.ExitError when not with status 0.
func (p *program) process(ctx context.Context, cancel context.CancelCauseFunc, question []byte, log func(io.Reader)) ([]byte, error) {
	in, err := newPipe()
	if err != nil {
		return nil, err
	}
	defer in.close()
	out, err := newPipe()
	if err != nil {
		return nil, err
	}
	defer out.close()
	errs, err := newPipe()
	if err != nil {
		return nil, err
	}
	defer errs.close()

	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append([]string{}, p.environment...) // never nil, which would mean the worker's
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in.reader, out.writer, errs.writer
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	in.reader.Close()
	out.writer.Close()
	errs.writer.Close()
	unwatch := context.AfterFunc(ctx, func() { killGroup(cmd.Process.Pid) })

	var said []byte
	var pipes sync.WaitGroup
	pipes.Go(func() {
		_, _ = in.writer.Write(question) // a program may answer without reading it
		in.writer.Close()
	})
	pipes.Go(func() {
		said, _ = io.ReadAll(io.LimitReader(out.reader, MaxAnswer+1))
		if len(said) > MaxAnswer {
			cancel(errTooLong)
		}
	})
	pipes.Go(func() { log(errs.reader) })

	err = cmd.Wait()
	unwatch()
	// What the process leaves behind has no job to work for.
	killGroup(cmd.Process.Pid)
	reapGroup(cmd.Process.Pid)
	deadline := time.Now().Add(linger)
	for _, f := range []*os.File{in.writer, out.reader, errs.reader} {
		_ = f.SetDeadline(deadline)
	}
	pipes.Wait()
	return said, err
}

// failure words an error of this function.
func (p *program) failure(kind, text string) error {
	return &catalog.Failure{Type: kind, Message: p.declared.Name + ": " + text}
}

// pipe has two ends, which may be closed more than once.
type pipe struct{ reader, writer *os.File }

func newPipe() (pipe, error) {
	r, w, err := os.Pipe()
	return pipe{r, w}, err
}

func (p pipe) close() {
	p.reader.Close()
	p.writer.Close()
}
