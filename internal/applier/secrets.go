package applier

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/secret"
)

// fillSecrets puts the values of secrets into the jobs of an outbox. For a job whose secret can never
// be decrypted again, it adds a failed result instead. If the key cannot be read at the moment,
// fillSecrets takes the jobs that need it out of the outbox and returns the error, so that the
// caller can send all other messages.
func (a *Applier) fillSecrets(ctx context.Context, o *Outbox) (unavailable error) {
	removed := map[int]bool{}
	for _, s := range o.secret {
		if unavailable != nil { // one key serves all jobs
			removed[s.job] = true
			continue
		}
		body, err := a.sealer.FillJob(ctx, s.run, o.jobs[s.job].Body)
		if err == nil {
			o.jobs[s.job].Body = body
			continue
		}
		if removed[s.job] = true; errors.Is(err, secret.ErrUnavailable) {
			unavailable = err
			continue
		}
		a.log.ErrorContext(ctx, "failed to decrypt the secrets of a job", logkey.BatchID, s.run.Batch, logkey.MessageID, o.jobs[s.job].ID, logkey.Error, err)
		answer, err := sealing.RefusedJob(o.jobs[s.job].Body, err, a.now())
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
