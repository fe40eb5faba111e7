package engine

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// onSecretsDue erases the secrets of one page. It loads the members before the batch: when a member
// is retried at the same moment, either the batch is open again or the ETag of the member fails the
// write. Each member is a decision of its own, because a page can be too large for one write.
func onSecretsDue(s model.State, e model.SecretsDue, now time.Time) (model.Decision, error) {
	var d model.Decision
	var runs []*model.Run
	var members []*model.Member
	var err error
	if e.Page == 0 {
		runs, err = s.LoadRunsOf(0)
	} else {
		members, err = s.LoadPage(e.Page)
	}
	if err != nil {
		return d, err
	}
	b, err := s.LoadBatch()
	if err != nil || !secretsDue(b, now) {
		return model.Decision{Stale: true}, err
	}
	rb, err := s.LoadRunbook(b.Runbook, b.Version)
	if err != nil {
		return d, err
	}
	for _, run := range runs {
		if next := *run; next.EraseSecrets(rb.Secret) {
			d.Runs = append(d.Runs, &next)
		}
	}
	for _, m := range members {
		if next := *m; next.EraseSecrets(rb.Secret) {
			d.Next = append(d.Next, model.MemberSecretsDue{Member: m.ID})
		}
	}
	if e.Page >= b.PageCount() {
		d.Next = append(d.Next, model.SecretsErased{})
	}
	return d, nil
}

// onMemberSecretsDue erases the secrets of one member, which it loads before the batch.
func onMemberSecretsDue(s model.State, e model.MemberSecretsDue, now time.Time) (model.Decision, error) {
	m, err := s.LoadMember(e.Member)
	if err != nil {
		return model.Decision{}, err
	}
	b, err := s.LoadBatch()
	if err != nil || !secretsDue(b, now) {
		return model.Decision{Stale: true}, err
	}
	rb, err := s.LoadRunbook(b.Runbook, b.Version)
	if err != nil {
		return model.Decision{}, err
	}
	next := *m
	if !next.EraseSecrets(rb.Secret) {
		return model.Decision{Repeated: true}, nil
	}
	return model.Decision{Writes: model.Writes{Members: []*model.Member{&next}}}, nil
}

// secretsDue reports whether it is time to erase the secrets of a batch.
func secretsDue(b *model.Batch, now time.Time) bool {
	at := b.EraseSecretsAt()
	return at != nil && !now.Before(*at)
}

// onSecretsErased notes that the secrets of a batch which has ended are erased.
func onSecretsErased(b *model.Batch, now time.Time) model.Decision {
	if !secretsDue(b, now) {
		return model.Decision{Stale: true}
	}
	b.SecretsErasedAt = &now
	return batchChanged(b)
}

// noteSecrets records in a batch that ends that its runbook has secrets. When the batch took the
// version over, the functions of a worker, and so their secret parameters, may have been unknown.
func noteSecrets(s model.State, b *model.Batch) error {
	if b == nil || b.Secrets || !b.Status.Terminal() {
		return nil
	}
	rb, err := s.LoadRunbook(b.Runbook, b.Version)
	if err != nil {
		return err
	}
	b.Secrets = len(rb.Secret) > 0
	return nil
}
