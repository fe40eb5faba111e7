package engine

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// onSecretsErased notes that the secrets of a batch which has ended are erased.
func onSecretsErased(b *model.Batch, now time.Time) model.Decision {
	if at := b.EraseSecretsAt(); at == nil || now.Before(*at) {
		return model.Decision{Stale: true}
	}
	b.SecretsErasedAt = &now
	return batchChanged(b)
}
