package cosmos

import (
	"context"
	"database/sql"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

// way is how documents are come to: by which index, from where, and in which order.
type way struct {
	lookup *lookup // by its entries; nil: by the items
	where  string
	args   []any
	order  string
}

// byID is the way in the order of partition key and id, behind the position that a page
// ended at. In one partition it leaves out what an index and the ids in WHERE do.
func (st *store) byID(q *query.Query, pk string, from continuation) way {
	if pk == "" {
		return way{where: ` AND (at.pk, at.id) > (?, ?)`, args: []any{from.PK, from.ID}, order: `at.pk, at.id`}
	}
	w := way{where: ` AND at.pk = ?`, args: []any{pk}, order: `at.id`}
	switch order := q.Order(); {
	case len(order) == 1 && order[0].Descending:
		w.order = `at.id DESC`
		if from.ID != "" {
			w.where, w.args = w.where+` AND at.id < ?`, append(w.args, from.ID)
		}
	default:
		w.where, w.args = w.where+` AND at.id > ?`, append(w.args, from.ID)
	}
	if w.listed(q) {
		return w
	}
	values := narrowing(q)
	if path := prefixPath(q); path != "" {
		if l := st.sortedFor(values, path); l != nil {
			w.narrow(l, values)
			w.beginning(q.Prefix(stepsOf(path)))
		}
	}
	if w.lookup == nil {
		values = narrowingToOneOf(q)
		if l := st.lookupFor(values); l != nil {
			w.narrow(l, values)
		}
	}
	if prefix := q.Prefix([]string{"id"}); prefix != "" {
		w.where, w.args = w.where+` AND at.id >= ?`, append(w.args, prefix)
		if end := behind(prefix); end != "" {
			w.where, w.args = w.where+` AND at.id < ?`, append(w.args, end)
		}
	}
	return w
}

// maxListed is how many ids one statement lists. SQLite takes 32,766 arguments.
const maxListed = 10_000

// listed leaves out the documents whose ids WHERE does not list. It reports false where
// WHERE lists none, or too many for one statement.
func (w *way) listed(q *query.Query) bool {
	values, ok := q.OneOf([]string{"id"})
	if !ok || len(values) > maxListed {
		return false
	}
	n := 0
	for _, id := range values {
		if id.Kind == document.String { // no id equals another value
			w.args = append(w.args, id.Text)
			n++
		}
	}
	w.where += ` AND at.id IN (` + strings.TrimSuffix(strings.Repeat(`?,`, n), `,`) + `)`
	return true
}

// sorted is the way in the order of the one path that ORDER BY names, where an index has
// it: then a page costs what it gives, as it does at the service.
func (st *store) sorted(q *query.Query, pk string, from continuation) (way, bool) {
	path := sortPath(q)
	if _, listed := q.OneOf([]string{"id"}); listed || pk == "" || path == "" {
		return way{}, false
	}
	values := narrowing(q)
	l := st.sortedFor(values, path)
	after, err := parseKeys(from.Keys)
	if l == nil || err != nil || len(after) > 1 {
		return way{}, false
	}
	descending := q.Order()[0].Descending
	w := way{where: ` AND at.pk = ?`, args: []any{pk}, order: `at.sorted, at.id`}
	if descending { // those of one value are in the order of ids all the same
		w.order = `at.sorted DESC, at.id`
	}
	w.narrow(l, values)
	if prefix := q.Prefix(stepsOf(path)); prefix != "" {
		w.beginning(prefix)
	}
	if bound, orEqual, ok := q.Above(stepsOf(path)); ok {
		w.above(bound, orEqual)
	}
	if len(after) == 1 {
		key := appendSorted(nil, after[0])
		if descending {
			w.where += ` AND at.sorted <= ? AND NOT (at.sorted = ? AND at.id <= ?)`
			w.args = append(w.args, key, key, from.ID)
		} else {
			w.where += ` AND (at.sorted, at.id) > (?, ?)`
			w.args = append(w.args, key, from.ID)
		}
	}
	return w, true
}

// beginning leaves out what does not begin with a prefix at the path of the order.
func (w *way) beginning(prefix string) {
	from, to := appendSorted(nil, document.StringValue(prefix)), []byte{byte(document.String) + 1}
	if end := behind(prefix); end != "" {
		to = appendSorted(nil, document.StringValue(end))
	}
	w.where += ` AND at.sorted >= ? AND at.sorted < ?`
	w.args = append(w.args, from, to)
}

// above leaves out items that are not greater than a value at the path of the order.
func (w *way) above(bound document.Value, orEqual bool) {
	if orEqual {
		w.where += ` AND at.sorted >= ?`
	} else {
		w.where += ` AND at.sorted > ?`
	}
	w.where += ` AND at.sorted < ?`
	w.args = append(w.args, appendSorted(nil, bound), []byte{byte(bound.Kind) + 1})
}

func (w *way) narrow(l *lookup, values narrowed) {
	w.lookup = l
	equal := l.equalTo(values)
	of := `= ?` // which is in the order of the entries
	if len(equal) != 1 {
		of = `IN (` + strings.TrimSuffix(strings.Repeat(`?,`, len(equal)), `,`) + `)`
	}
	w.where += ` AND at.lookup = ? AND at.equal ` + of
	w.args = append(w.args, l.number)
	for _, one := range equal {
		w.args = append(w.args, one)
	}
	if l.sorted == "" {
		w.where += ` AND at.sorted = x''`
	}
}

// scan visits the documents that a query may select, in the order of the way, until visit
// returns false.
func (st *store) scan(ctx context.Context, c *container, how way, visit func(pk, id string, doc []byte) bool) error {
	statement := `SELECT at.pk, at.id, seq, version, ts, body FROM items AS at`
	if how.lookup != nil {
		statement = `SELECT at.pk, at.id, seq, version, ts, body FROM entries AS at CROSS JOIN items ON seq = at.item`
	}
	statement += ` WHERE at.container = ?` + how.where + ` ORDER BY ` + how.order
	// The context is looked at here and not in the driver, which might give up
	// the connection: in memory, the data would go with it.
	begin := func(on queryer) (*sql.Rows, error) {
		return on.QueryContext(context.WithoutCancel(ctx), statement, append([]any{c.number}, how.args...)...)
	}
	var rows *sql.Rows
	var err error
	if how.lookup == nil {
		rows, err = begin(st.reads)
	} else {
		var done func()
		if rows, done, err = st.byEntries(how.lookup, begin); err == nil {
			defer done()
		}
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	var doc []byte
	for rows.Next() {
		it := item{container: c}
		var pk, id string
		if err := rows.Scan(&pk, &id, &it.seq, &it.version, &it.ts, &it.body); err != nil {
			return err
		}
		doc = it.append(doc[:0])
		if !visit(pk, id, doc) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return rows.Err()
}
