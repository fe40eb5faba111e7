package store

import (
	"context"
)

// UnprocessableMessages implements Messages.
func (s *Store) UnprocessableMessages(ctx context.Context, f MessageFilter, page Paging) (Page[Unprocessable], error) {
	q := newQuery("c.type = 'unprocessed'")
	if f.Status != "" {
		q.where("c.doc.status = @status", "@status", f.Status)
	}
	if f.Topic != "" {
		q.where("c.doc.topic = @topic", "@topic", f.Topic)
	}
	order, err := orderBy(page.Sort, Sort{By: FieldPlace, Descending: true}, FieldPlace, FieldTopic, FieldMessageType)
	if err != nil {
		return Page[Unprocessable]{}, err
	}
	return list[Unprocessable](ctx, s, PartitionUnprocessed, q.items(order), page)
}
