package memory

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/store"
)

// UnprocessableMessages implements store.Messages.
func (s *Store) UnprocessableMessages(ctx context.Context, f store.MessageFilter, page store.Paging) (store.Page[store.Unprocessable], error) {
	o := order{store.Sort{By: store.FieldPlace, Descending: true}, []store.Field{store.FieldPlace, store.FieldTopic, store.FieldMessageType}}
	return list(ctx, s, "UnprocessableMessages", store.PartitionUnprocessable, "unprocessed", f, o, page, func(_ *document, u *store.Unprocessable) bool {
		return oneOf(f.Statuses, u.Status) && (f.Topic == "" || u.Topic == f.Topic)
	})
}
