package app

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
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Values of secrets exist in three places only: in what comes in (files, rows, results),
// until it is written; in a job on its way to the worker; in the worker. Everything in
// between carries them encrypted, and shows none.

// What is shown in the place of a secret value.
const (
	shownSecret = "(secret)"
	shownErased = "(secret, erased)"
)

// noKey are the keys of a deployment that has none.
type noKey struct{}

var errNoKey = fmt.Errorf("%w: no key is configured: set KEY_VAULT_URL and SECRETS_KEY_NAME", secret.ErrUnavailable)

func (noKey) Current(context.Context) (secret.Key, error)         { return secret.Key{}, errNoKey }
func (noKey) Version(context.Context, string) (secret.Key, error) { return secret.Key{}, errNoKey }

// placeOf is what a secret value is encrypted for: it can be decrypted nowhere else. A run
// without a member has member 0.
func placeOf(batch, member int, name string) string {
	return fmt.Sprintf("batch/%d/member/%d/%s", batch, member, name)
}

func (a *App) seal(ctx context.Context, batch, member int, name string, value json.RawMessage) (json.RawMessage, error) {
	sealed, err := a.secrets.Seal(ctx, value, placeOf(batch, member, name))
	if err != nil {
		return nil, fmt.Errorf("secret %s of batch %d: %w", name, batch, err)
	}
	return engine.Seal(sealed), nil
}

// open decrypts a secret value; one that was stored before its column was secret is as it
// is.
func (a *App) open(ctx context.Context, batch, member int, name string, value json.RawMessage) (json.RawMessage, error) {
	sealed, ok := engine.Sealed(value)
	if !ok {
		return value, nil
	}
	opened, err := a.secrets.Open(ctx, sealed, placeOf(batch, member, name))
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", name, err)
	}
	return opened, nil
}

// sealData gives the data of a member with its secrets encrypted.
func (a *App) sealData(ctx context.Context, rb *runbook.Runbook, batch, member int, data map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if len(rb.Secret) == 0 {
		return data, nil
	}
	sealed := maps.Clone(data)
	for _, name := range rb.Secret {
		if value, ok := data[name]; ok {
			var err error
			if sealed[name], err = a.seal(ctx, batch, member, name, value); err != nil {
				return nil, err
			}
		}
	}
	return sealed, nil
}

// keepErased leaves secrets erased in the data of a member.
func keepErased(data, before map[string]json.RawMessage) {
	for name, value := range before {
		if sealed, ok := engine.Sealed(value); ok && sealed == "" {
			data[name] = value
		}
	}
}

// contentOf is a digest of a request with a file of members, from which nobody can guess
// the secrets in the file.
func (a *App) contentOf(ctx context.Context, rb *runbook.Runbook, digest string) (string, error) {
	if len(rb.Secret) == 0 {
		return digest, nil
	}
	return a.secrets.Digest(ctx, []byte(digest))
}

// sameContent tells whether what contentOf made is of a digest.
func (a *App) sameContent(ctx context.Context, content, digest string) (bool, error) {
	if content == digest || !strings.Contains(content, ".") {
		return content == digest, nil
	}
	return a.secrets.SameDigest(ctx, content, []byte(digest))
}

// fillSecrets puts the values of secrets into the jobs of an outbox. A job whose secret
// can never be decrypted again is answered with a failure in the worker's place. Where the key
// cannot be read at the moment, fillSecrets takes the jobs that need it out of the outbox and
// returns the error, so that everything else can be sent.
func (a *App) fillSecrets(ctx context.Context, o *outbox) (unavailable error) {
	removed := map[int]bool{}
	for _, s := range o.secret {
		if unavailable != nil { // one key serves all jobs
			removed[s.job] = true
			continue
		}
		body, err := a.fillJob(ctx, s.run, o.jobs[s.job].Body)
		if err == nil {
			o.jobs[s.job].Body = body
			continue
		}
		if removed[s.job] = true; errors.Is(err, secret.ErrUnavailable) {
			unavailable = err
			continue
		}
		a.log.ErrorContext(ctx, "the secrets of a job cannot be decrypted", logkey.BatchID, s.run.Batch, logkey.MessageID, o.jobs[s.job].ID, logkey.Error, err)
		answer, err := refusedJob(o.jobs[s.job].Body, err, a.now())
		if err != nil {
			unavailable = err
			continue
		}
		o.results = append(o.results, answer)
	}
	o.secret = nil
	if len(removed) > 0 {
		kept := o.jobs[:0:0]
		for i, m := range o.jobs {
			if !removed[i] {
				kept = append(kept, m)
			}
		}
		o.jobs = kept
	}
	return unavailable
}

// fillJob puts the values of secrets into the parameters of a job.
func (a *App) fillJob(ctx context.Context, run *engine.Run, body []byte) ([]byte, error) {
	var job message.Job
	if err := json.Unmarshal(body, &job); err != nil {
		return nil, err
	}
	params, err := template.FillSecrets(job.Parameters, func(name string) (json.RawMessage, error) {
		value, ok := run.Secrets[name]
		if !ok {
			return nil, fmt.Errorf("%w: the run does not have %s any more", secret.ErrLost, name)
		}
		opened, err := a.open(ctx, run.Batch, run.Member, name, value)
		if err == nil {
			job.Secrets = append(job.Secrets, textsOf(opened)...)
		}
		return opened, err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(job.Secrets)
	job.Parameters, job.Secrets = params, slices.Compact(job.Secrets)
	return json.Marshal(job)
}

// secretLost is the type of the error of a job that was not sent, because a secret of its
// parameters cannot be decrypted.
const secretLost = "SecretLost"

// refusedJob answers a job in its worker's place.
func refusedJob(body []byte, cause error, now time.Time) (bus.Message, error) {
	var job message.Job
	if err := json.Unmarshal(body, &job); err != nil {
		return bus.Message{}, err
	}
	result := message.Result{
		JobID: job.JobID, Status: message.StatusFailure, Timestamp: now.UTC(), CorrelationData: job.CorrelationData,
		Error: &message.JobError{Message: cause.Error(), Type: secretLost, Attempts: 1},
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		return bus.Message{}, err
	}
	return bus.Message{ID: result.ID(), Body: encoded, Properties: map[string]any{message.PropertyMessageType: message.TypeWorkerResult}}, nil
}

// hiding is what is hidden of the answer to a step.
type hiding struct {
	app     *App
	run     *engine.Run
	runbook *runbook.Runbook
	step    runbook.Step
	values  []string // as text
	lost    error    // why a value is not among them; nil: all are
}

// hide encrypts the secrets in a worker's answer, or in what an administrator gives in its
// place, and removes the values of secrets that the step was given from all of it.
func (a *App) hide(ctx context.Context, run *engine.Run, e engine.RunEvent) (engine.RunEvent, error) {
	switch e := e.(type) {
	case engine.StepResult:
		h, err := a.hiding(ctx, run, e.Step)
		if h == nil || err != nil {
			return e, err
		}
		if h.lost != nil {
			return h.withhold(e), nil
		}
		e.Error = h.scrub(e.Error)
		e.Result, err = h.result(ctx, e.Result, e.OK && run.Steps[e.Step].JobID == e.JobID)
		return e, err
	case engine.StepResolved:
		h, err := a.hiding(ctx, run, e.Step)
		if h == nil || err != nil || len(e.Result) == 0 {
			return e, err
		}
		e.Result, err = h.result(ctx, e.Result, true)
		return e, err
	}
	return e, nil
}

// hiding is nil where the step has no secrets.
func (a *App) hiding(ctx context.Context, run *engine.Run, step int) (*hiding, error) {
	rb, err := a.runbook(ctx, run.Runbook, run.Version)
	if err != nil || step < 0 || step >= len(run.Steps) {
		return nil, err
	}
	params := run.Steps[step].Params
	if len(rb.Secret) == 0 && !template.HasSecrets(params) {
		return nil, nil
	}
	h := &hiding{app: a, run: run, runbook: rb}
	if h.step, err = run.Definition(rb, step); err != nil {
		return nil, err
	}
	if !template.HasSecrets(params) {
		return h, nil
	}
	var member store.Item[engine.Member]
	for _, name := range h.step.References() {
		value, ok := run.Secrets[name]
		if !ok && run.Member != 0 { // the answer is late: the run is at another step
			if member.ETag == "" {
				if member, err = a.member(ctx, run.Batch, run.Member); err != nil {
					return nil, err
				}
			}
			if value, ok = member.Doc.WorkerData[name]; !ok {
				value = member.Doc.Data[name]
			}
		}
		if sealed, ok := engine.Sealed(value); !ok && !rb.IsSecret(name) || ok && sealed == "" || len(value) == 0 {
			continue
		}
		value, err := a.open(ctx, run.Batch, run.Member, name, value)
		if errors.Is(err, secret.ErrUnavailable) {
			return nil, err
		}
		if err != nil {
			h.lost = err
			continue
		}
		h.values = append(h.values, textOf(value))
	}
	return h, nil
}

// withhold removes what a worker said from its answer, because the answer cannot be searched
// for a secret that cannot be decrypted. The worker may have got the secret before its key was
// removed. A success without which the runbook cannot go on becomes a failure.
func (h *hiding) withhold(e engine.StepResult) engine.StepResult {
	cause := failure(&message.JobError{Message: h.lost.Error(), Type: secretLost})
	switch {
	case e.Error == cause: // the job was not sent: see refusedJob
	case e.OK && len(h.step.OutputParams) == 0 && h.step.Poll == nil:
		e.Result = json.RawMessage(`"` + shownSecret + `"`)
	default:
		e.OK, e.Result, e.Error = false, nil, "the worker's answer is not stored, because it cannot be searched for a secret: "+cause
	}
	return e
}

// textsOf are the texts and numbers in a JSON value, as text.
func textsOf(value json.RawMessage) (texts []string) {
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case json.Unmarshal(value, &list) == nil:
		for _, element := range list {
			texts = append(texts, textsOf(element)...)
		}
	case json.Unmarshal(value, &object) == nil:
		for _, field := range object {
			texts = append(texts, textsOf(field)...)
		}
	default:
		if text := textOf(value); text != "" && text != "true" && text != "false" {
			texts = append(texts, text)
		}
	}
	return texts
}

// textOf is a JSON value as text.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(bytes.TrimSpace(value))
}

// shortest is how long a secret has to be, in characters, to be removed from the middle
// of a text. One that is shorter is part of many words.
const shortest = 4

// scrub removes the values of secrets from a text.
func (h *hiding) scrub(text string) string {
	for _, value := range h.values {
		switch {
		case value == "":
		case text == value:
			return shownSecret
		case utf8.RuneCountInString(value) >= shortest:
			text = strings.ReplaceAll(text, value, shownSecret)
			if quoted, err := json.Marshal(value); err == nil && len(quoted) > len(value)+2 { // as it stands in JSON
				text = strings.ReplaceAll(text, string(quoted[1:len(quoted)-1]), shownSecret)
			}
		}
	}
	return text
}

// result encrypts the secret outputs in a result that is taken, and hides them in any
// other.
func (h *hiding) result(ctx context.Context, result json.RawMessage, taken bool) (json.RawMessage, error) {
	if len(result) == 0 {
		return result, nil
	}
	result, err := engine.MapOutputs(h.step.OutputParams, result, func(variable string, value json.RawMessage) (json.RawMessage, error) {
		switch {
		case !h.runbook.IsSecret(variable):
			return nil, nil
		case !taken:
			return json.Marshal(template.Secret(variable))
		}
		return h.app.seal(ctx, h.run.Batch, h.run.Member, variable, value)
	})
	if err != nil || len(h.values) == 0 {
		return result, err
	}
	decoder := json.NewDecoder(bytes.NewReader(result))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return result, nil // no JSON, which the store refuses
	}
	return json.Marshal(h.walk(value))
}

// walk removes the values of secrets from a result.
func (h *hiding) walk(v any) any {
	switch v := v.(type) {
	case string:
		return h.scrub(v)
	case json.Number:
		if slices.Contains(h.values, v.String()) && len(v) >= shortest {
			return shownSecret
		}
	case []any:
		for i := range v {
			v[i] = h.walk(v[i])
		}
	case map[string]any:
		if _, sealed := v[engine.SealedField]; sealed {
			return v
		}
		next := make(map[string]any, len(v))
		for name := range v {
			next[h.scrub(name)] = h.walk(v[name])
		}
		return next
	}
	return v
}

// shown gives JSON as people are shown it: without encrypted values and references.
func shown(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(template.SecretField)) && !bytes.Contains(raw, []byte(engine.SealedField)) {
		return raw
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return raw
	}
	text, err := json.Marshal(shownValue(value))
	if err != nil {
		return raw
	}
	return text
}

func shownValue(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = shownValue(v[i])
		}
	case map[string]any:
		if _, is := v[template.SecretField]; is {
			return shownSecret
		}
		if _, is := v[engine.SealedField]; is {
			if raw, err := json.Marshal(v); err == nil {
				if sealed, ok := engine.Sealed(raw); ok && sealed == "" {
					return shownErased
				}
			}
			return shownSecret
		}
		for name := range v {
			v[name] = shownValue(v[name])
		}
	}
	return v
}

// shownData gives the data of a member as people are shown it. Names are those of
// secrets, of which some may be stored as they were before they were secret.
func shownData(data map[string]json.RawMessage, names []string) map[string]json.RawMessage {
	if data == nil {
		return nil
	}
	next := make(map[string]json.RawMessage, len(data))
	for name, value := range data {
		_, sealed := engine.Sealed(value)
		switch {
		case sealed, !slices.Contains(names, name):
			next[name] = shown(value)
		default:
			next[name] = json.RawMessage(`"` + shownSecret + `"`)
		}
	}
	return next
}

// takeSecrets adds to a runbook's secrets the variables that secret parameters of
// functions take, and refuses a runbook whose secrets cannot be kept.
func (a *App) takeSecrets(ctx context.Context, rb *runbook.Runbook, known lint.Catalogs) error {
	rb.Secret = known.Secrets(rb)
	if len(rb.Secret) == 0 {
		return nil
	}
	if bad := secretFunctions(rb); len(bad) > 0 {
		return &Error{Code: api.CodeInvalid, Message: "the runbook has errors", Problems: bad}
	}
	if !a.keyed {
		return fail(api.CodeConflict, "the runbook has secrets (%s), and this deployment has no key to encrypt them with: create one in Key Vault and set KEY_VAULT_URL and SECRETS_KEY_NAME (docs/deployment.md)", strings.Join(rb.Secret, ", "))
	}
	return a.secrets.Check(ctx)
}

// secretFunctions are the steps whose function's name would show a secret.
func secretFunctions(rb *runbook.Runbook) []api.InputProblem {
	var bad []api.InputProblem
	rb.EachStep(func(s runbook.Step, at []any) {
		for _, name := range template.References(s.Function) {
			if rb.IsSecret(name) {
				bad = append(bad, api.InputProblem{
					Field: runbook.PathText(append(slices.Clone(at), "function")), Code: runbook.CodeSecretPlace,
					Message: fmt.Sprintf("{{%s}} is secret, and the name of a function is shown everywhere", name),
				})
			}
		}
	})
	return bad
}

// announceErasure asks for the secrets of a batch that has ended to be erased, where it is
// time.
func (a *App) announceErasure(ctx context.Context, b *engine.Batch, now time.Time) error {
	if at := b.EraseSecretsAt(); at == nil || now.Before(*at) {
		return nil
	}
	task := fmt.Sprintf("tick-%d", now.Unix()/int64(TickInterval/time.Second))
	return a.bus.Send(ctx, message.TopicOrchestratorEvents, workMessage(b.ID, message.WorkErase, task, 0))
}

// erasePage erases the secrets of one page of members, on page 0 those of the runs without
// a member. Somebody who is retried at the same moment keeps theirs.
func (a *App) erasePage(ctx context.Context, b *engine.Batch, m message.BatchWork) (more bool, err error) {
	if at := b.EraseSecretsAt(); at == nil || a.now().Before(*at) {
		return false, nil
	}
	var ops store.Writes
	if m.Page == 0 {
		runs, err := a.store.RunsOfPage(ctx, b.ID, 0, store.RunSelection{})
		if err != nil {
			return false, err
		}
		for _, run := range runs {
			if run.Doc.EraseSecrets() {
				ops = append(ops, store.Replace(store.RunKey(b.ID, run.Doc.Phase, 0), run.Doc, run.Version))
			}
		}
	} else {
		members, err := a.store.MembersOfPage(ctx, b.ID, m.Page, "")
		if err != nil {
			return false, err
		}
		for _, member := range members {
			if member.Doc.EraseSecrets() {
				ops = append(ops, store.Replace(store.MemberKey(b.ID, member.Doc.ID), member.Doc, member.Version))
			}
		}
	}
	// One by one: the members of a page can be too large for one write.
	for _, op := range ops {
		if _, err := a.store.Apply(ctx, store.Writes{op}); err != nil {
			return false, err
		}
	}
	if m.Page < b.PageCount() {
		return true, nil
	}
	a.log.InfoContext(ctx, "secrets erased", logkey.BatchID, b.ID)
	return false, a.decide(ctx, b.ID, engine.SecretsErased{})
}

// mayHoldSecrets tells whether the body of a message that is kept has to be encrypted: a
// job or a result of a runbook with secrets, and any that cannot be told to be of another.
func (a *App) mayHoldSecrets(ctx context.Context, topic string, body []byte) (bool, error) {
	if !a.keyed || topic == message.TopicOrchestratorEvents {
		return false, nil
	}
	var about struct {
		CorrelationData message.Correlation
	}
	if c := &about.CorrelationData; json.Unmarshal(body, &about) == nil && c.RunbookName != "" {
		rb, err := a.runbook(ctx, c.RunbookName, c.RunbookVersion)
		if err == nil {
			return len(rb.Secret) > 0, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
	}
	heads, err := a.store.RunbookHeads(ctx)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(heads, func(h store.Item[store.RunbookHead]) bool { return h.Doc.Secrets }), nil
}

// bodyPlace is what the body of a kept message is encrypted for.
func bodyPlace(id string) string { return "message/" + id }

func (a *App) sealBody(ctx context.Context, id string, body []byte) ([]byte, error) {
	sealed, err := a.secrets.Seal(ctx, body[:min(len(body), largestSealed)], bodyPlace(id))
	return []byte(sealed), err
}

// sealKept encrypts the body of a message that is kept, where it may hold secrets.
func (a *App) sealKept(ctx context.Context, u *store.Unprocessable, id string, m Message) error {
	sealed, err := a.mayHoldSecrets(ctx, u.Topic, m.Body)
	if err != nil || !sealed || u.Sealed {
		return err
	}
	u.Body, err = a.sealBody(ctx, id, m.Body)
	u.Sealed = err == nil
	return err
}

// keptBody is the body of a kept message as it came, as far as it was kept.
func (a *App) keptBody(ctx context.Context, item store.Item[store.Unprocessable]) ([]byte, error) {
	if !item.Doc.Sealed {
		return item.Doc.Body, nil
	}
	body, err := a.secrets.Open(ctx, string(item.Doc.Body), bodyPlace(item.ID))
	if errors.Is(err, secret.ErrLost) {
		return nil, fail(api.CodeConflict, "the body of message %s cannot be decrypted: its version of the key is gone from Key Vault", item.ID)
	}
	return body, err
}

// openFields are those of a job and of a result that hold no secret.
var openFields = []string{
	"JobId", "BatchId", "WorkerId", "FunctionName", "EffectId", "DispatchedAt", "ExpiresAt",
	"Status", "ResultType", "DurationMs", "Timestamp", "CorrelationData",
}

// shownBody is the body of a kept message that may hold secrets as people are shown it:
// of a job or a result only what cannot be one.
func (a *App) shownBody(ctx context.Context, item store.Item[store.Unprocessable]) ([]byte, error) {
	body, err := a.keptBody(ctx, item)
	if err != nil {
		return nil, err
	}
	hidden := json.RawMessage(`"` + shownSecret + `"`)
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields == nil {
		return hidden, nil
	}
	for name := range fields {
		if !slices.ContainsFunc(openFields, func(open string) bool { return strings.EqualFold(open, name) }) {
			fields[name] = hidden
		}
	}
	return json.Marshal(fields)
}

// secretsOf names the secrets of a batch's runbook.
func (a *App) secretsOf(ctx context.Context, b *engine.Batch) ([]string, error) {
	rb, err := a.runbook(ctx, b.Runbook, b.Version)
	if err != nil {
		return nil, err
	}
	return rb.Secret, nil
}
