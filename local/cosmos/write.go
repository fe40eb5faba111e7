package cosmos

import (
	"database/sql"
	"errors"
	"net/http"
)

// write is one change of one item, checked as far as possible without
// reading the stored item.
type write struct {
	op      Operation
	c       *container
	pk      string
	id      string
	ifMatch string
	body    []byte  // of a create, replace or upsert
	indexed float64 // RU that the body costs for the container's indexes
	patch   *patch  // of a patch
	minimal bool    // its result in a batch has no content
}

// outcome is the result of one operation.
type outcome struct {
	status  int
	sub     int    // sub-status, 0 for none
	message string // for a failure
	info    string // additional information of a failure: the plan of a query
	item    item   // for a success other than a delete
	charge  float64
	wrote   int // bytes
}

func (o outcome) ok() bool { return o.status < 300 }

func failure(status int, message string) outcome {
	return outcome{status: status, message: message, charge: chargeFailed}
}

var (
	conflict     = failure(http.StatusConflict, "an item with this id exists in the partition")
	notFound     = failure(http.StatusNotFound, "there is no item with this id in the partition")
	precondition = failure(http.StatusPreconditionFailed, "the item's ETag differs from If-Match")
)

// apply carries out one write. A write that is refused changes nothing; where the database
// fails, the group is abandoned.
func (g *group) apply(w write) outcome {
	if g.err != nil {
		return unavailable
	}
	if w.c.gone.Load() {
		return failure(http.StatusNotFound, "the container was deleted")
	}
	switch w.op {
	case Create:
		return g.create(w)
	case Replace:
		return g.replace(w)
	case Upsert:
		// Like the service, If-Match guards only an item that exists.
		if o := g.replace(w); o.status != http.StatusNotFound {
			return o
		}
		return g.create(w)
	case Delete:
		return g.delete(w)
	case Patch:
		return g.patch(w)
	default:
		return g.read(w)
	}
}

func (g *group) create(w write) outcome {
	version := g.newVersion()
	result, err := g.statement(insertItem).Exec(version, w.c.number, w.pk, w.id, version, g.ts, w.body)
	if err != nil {
		return g.abandon(err)
	}
	if n, err := result.RowsAffected(); err != nil {
		return g.abandon(err)
	} else if n == 0 {
		return conflict
	}
	it := item{container: w.c, seq: version, version: version, ts: g.ts, body: w.body}
	g.index(w, &item{}, &it)
	g.changed[w.key()] = it
	return outcome{status: http.StatusCreated, item: it, charge: chargeCreate(len(w.body)) + w.indexed, wrote: len(w.body)}
}

func (g *group) replace(w write) outcome {
	before, o := g.load(w)
	if !o.ok() {
		return o
	}
	return g.update(w, before)
}

// update replaces the content of an item.
func (g *group) update(w write, before item) outcome {
	it := item{container: w.c, seq: before.seq, version: g.newVersion(), ts: g.ts, body: w.body}
	if _, err := g.statement(updateItem).Exec(it.version, it.ts, it.body, it.seq); err != nil {
		return g.abandon(err)
	}
	g.index(w, &before, &it)
	g.changed[w.key()] = it
	return outcome{status: http.StatusOK, item: it, charge: chargeReplace(len(w.body)) + w.indexed, wrote: len(w.body)}
}

func (g *group) delete(w write) outcome {
	it, o := g.load(w)
	if !o.ok() {
		return o
	}
	if _, err := g.statement(deleteItem).Exec(it.seq); err != nil {
		return g.abandon(err)
	}
	g.index(w, &it, &item{})
	g.changed[w.key()] = item{}
	return outcome{status: http.StatusNoContent, charge: chargeCreate(len(it.body)) + w.c.chargeIndex(it.body)}
}

func (g *group) patch(w write) outcome {
	it, o := g.load(w)
	if !o.ok() {
		return o
	}
	body, o := w.patch.apply(it)
	if !o.ok() {
		return o
	}
	w.body, w.indexed = body, w.c.chargeIndex(body)
	return g.update(w, it)
}

// index notes the moves of an item in the lookups. It has no body before it is created and after it is
// deleted.
func (g *group) index(w write, before, after *item) {
	if len(g.lookups.all) == 0 {
		return
	}
	g.place(before)
	g.place(after)
	for i, l := range g.lookups.all {
		if from, to := before.places[i], after.places[i]; !from.same(to) {
			g.moved = append(g.moved, moved{l, w.key(), move{from, to}})
		}
	}
}

// place notes the places of an item, unless it has them from the write that made it.
func (g *group) place(it *item) {
	switch {
	case it.of == g.lookups:
		return
	case it.body == nil:
		it.places = make([]*entry, len(g.lookups.all))
	default:
		it.places = g.lookups.entries(it.body, it.seq)
	}
	it.of = g.lookups
}

func (g *group) read(w write) outcome {
	it, o := g.load(w)
	if o.ok() {
		o.item = it
		o.charge = chargeRead(len(it.body))
	}
	return o
}

// load finds the item of a write and checks If-Match.
func (g *group) load(w write) (item, outcome) {
	it, err := g.find(w)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return it, notFound
	case err != nil:
		return it, g.abandon(err)
	case !it.matches(w.ifMatch):
		return it, precondition
	}
	return it, outcome{status: http.StatusOK}
}

// find reads the item of a write, if it is not remembered. Within savepoints it always reads it: an
// earlier batch of the group may have changed it.
func (g *group) find(w write) (item, error) {
	if !g.savepoints {
		key := w.key()
		if it, ok := g.changed[key]; ok && it.body != nil {
			return it, nil
		} else if !ok {
			if it, ok := g.writer.recent.items.Get(key); ok {
				return it, nil
			}
		}
	}
	it := item{container: w.c}
	err := g.statement(selectItem).QueryRow(w.c.number, w.pk, w.id).Scan(&it.seq, &it.version, &it.ts, &it.body)
	return it, err
}

// price works out what the indexes cost, before the writer's turn comes.
func (w *write) price() {
	if w.body != nil {
		w.indexed = w.c.chargeIndex(w.body)
	}
}

// write carries out one write through the writer.
func (st *store) write(w write) outcome {
	w.price()
	var o outcome
	st.writer.do(&job{
		apply:  func(g *group) { o = g.apply(w) },
		failed: func() { o = unavailable },
	})
	return o
}

// batch carries out writes of one partition, all or none. When one fails, it
// keeps its own status and all others have 424.
func (st *store) batch(writes []write) ([]outcome, bool) {
	for i := range writes {
		writes[i].price()
	}
	outcomes := make([]outcome, len(writes))
	success := true
	fail := func(culprit int, o outcome) {
		outcomes, success = failedBatch(len(writes), culprit, o), false
	}
	st.writer.do(&job{
		apply: func(g *group) {
			success = true
			g.atomically(func() bool {
				for i, w := range writes {
					if outcomes[i] = g.apply(w); !outcomes[i].ok() {
						fail(i, outcomes[i])
						return false
					}
				}
				return true
			})
		},
		failed: func() { fail(0, unavailable) },
	})
	return outcomes, success
}
