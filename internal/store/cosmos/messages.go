package cosmos

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/store"
)

// UnprocessableMessages implements store.Messages.
func (s *Store) UnprocessableMessages(ctx context.Context, f store.MessageFilter, page store.Paging) (store.Page[store.Unprocessable], error) {
	q := newQuery("c.type = 'unprocessed'")
	if len(f.Statuses) > 0 {
		q.where("ARRAY_CONTAINS(@statuses, c.doc.status)", "@statuses", f.Statuses)
	}
	if f.Topic != "" {
		q.where("c.doc.topic = @topic", "@topic", f.Topic)
	}
	order, err := orderBy(page.Sort, store.Sort{By: store.FieldPlace, Descending: true}, store.FieldPlace, store.FieldTopic, store.FieldMessageType)
	if err != nil {
		return store.Page[store.Unprocessable]{}, err
	}
	return list[store.Unprocessable](ctx, s, store.PartitionUnprocessable, q.items(order), page)
}
