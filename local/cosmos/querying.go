package cosmos

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

const (
	defaultPage = 100     // rows in a page when the caller does not say
	largestPage = 1000    // rows in a page when the caller leaves it to the service (-1)
	pageBytes   = 4 << 20 // the service ends a page at 4 MB
	pageScanned = 10_000  // documents looked at before a page ends, full or not
)

// continuation is where the next page of a query starts. It travels as opaque
// text and is refused by any other query.
type continuation struct {
	Query   string            `json:"q"`           // digest of the query
	PK      string            `json:"p"`           // the last document taken or passed over
	ID      string            `json:"i"`           //
	Keys    []json.RawMessage `json:"k,omitempty"` // its sort keys, for ORDER BY; [] is undefined
	Skipped int               `json:"s,omitempty"` // rows that OFFSET has used up
	Taken   int               `json:"t,omitempty"` // rows that TOP or LIMIT has used up
}

func (c continuation) encode() string {
	text, _ := json.Marshal(c) // strings, numbers and JSON taken from documents
	return base64.StdEncoding.EncodeToString(text)
}

func decodeContinuation(token, digest string) (continuation, error) {
	c := continuation{Query: digest}
	if token == "" {
		return c, nil
	}
	text, err := base64.StdEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, errors.New("the continuation token is not from this account")
	}
	if c.Query != digest {
		return c, errors.New("the continuation token belongs to another query")
	}
	return c, nil
}

// page is one answer under construction.
type page struct {
	c       *container
	within  epkRange // limits the result
	rows    []byte
	count   int
	limit   int
	scanned int
	kept    int      // of those scanned, by WHERE
	having  bool     // the path that it is sorted by: documents without it are left out
	lacks   []string // the paths of WHERE that the container's policy does not index
	next    *continuation
}

// looked is how many documents the service would have looked at: those that its index
// gives, or all where WHERE asks what the index does not know.
func (p *page) looked() int {
	if len(p.lacks) > 0 {
		return p.scanned
	}
	return p.kept
}

// selects says whether a document is one of the query's.
func (p *page) selects(q *query.Query, pk string, doc []byte) bool {
	return p.within.contains(p.c, pk) && q.Matches(doc) && !(p.having && q.SortKeys(doc)[0].Kind == document.Undefined)
}

func (p *page) full() bool { return p.count >= p.limit || len(p.rows) >= pageBytes }

func (p *page) add(q *query.Query, doc []byte) {
	mark := len(p.rows)
	if p.count > 0 {
		p.rows = append(p.rows, ',')
	}
	rows, ok := q.Project(p.rows, doc)
	if !ok {
		p.rows = p.rows[:mark]
		return
	}
	p.rows = rows
	p.count++
}

// listAll is the query behind a plain GET of a container's documents.
var listAll = []byte(`{"query":"SELECT * FROM c"}`)

func (s *Server) serveQuery(w http.ResponseWriter, r *http.Request, c *container, pk string, ranged bool, body []byte) {
	s.stats.queries.Add(1)
	if r.Method == http.MethodGet {
		body = listAll
	}
	q, err := parseQuery(body)
	if err != nil {
		respondFailure(w, failure(http.StatusBadRequest, err.Error()))
		return
	}
	s.stats.queried(q)
	prefix := ""
	if strings.HasSuffix(pk, ",") {
		pk, prefix = "", pk
	}
	if pk == "" && prefix == "" {
		pk = c.keyIn(q)
	}
	ranged = ranged || prefix != "" // one range has all partitions of a prefix
	crossPartition := ranged || r.Method == http.MethodGet || isTrue(r, "X-Ms-Documentdb-Query-Enablecrosspartition")
	if refused := c.allows(q, pk, crossPartition, ranged); !refused.ok() {
		respondFailure(w, refused)
		return
	}
	within, err := readEPKRange(r, c)
	if err != nil {
		respondFailure(w, failure(http.StatusBadRequest, err.Error()))
		return
	}
	within.prefix = prefix
	p := &page{c: c, within: within, lacks: c.lacks(q), having: c.leavesOut(q.Order())}
	if p.limit, err = pageLimit(r.Header.Get("X-Ms-Max-Item-Count")); err != nil {
		respondFailure(w, failure(http.StatusBadRequest, err.Error()))
		return
	}
	digest := sha256.Sum256(append([]byte(pk+prefix+"\n"+within.start+"-"+within.end+"\n"), body...))
	from, err := decodeContinuation(r.Header.Get("X-Ms-Continuation"), base64.RawStdEncoding.EncodeToString(digest[:9]))
	if err != nil {
		respondFailure(w, failure(http.StatusBadRequest, err.Error()))
		return
	}
	ctx := r.Context()
	switch {
	case q.Counts():
		err = s.store.count(ctx, q, c, pk, p)
	case len(q.Order()) > 0 && (pk == "" || !byID(q)):
		if how, ok := s.store.sorted(q, pk, from); ok {
			err = s.store.streamed(ctx, q, c, p, from, how)
			break
		}
		n, newest := newestFirst(q, pk, from)
		if newest && s.store.newest(q, c, pk, p, n) {
			break
		}
		err = s.store.ordered(ctx, q, c, pk, p, from)
		p.kept = min(p.kept, p.count) // an index in this order would not have had to look at more
		if newest && err == nil && p.scanned >= learnScanned {
			err = s.store.learnNewest(c, pk)
		}
	default:
		err = s.store.streamed(ctx, q, c, p, from, s.store.byID(q, pk, from))
	}
	if err == nil && pk != "" && len(p.lacks) == 0 {
		err = s.store.learn(q, p.scanned, p.kept)
	}
	if ctx.Err() != nil {
		panic(http.ErrAbortHandler) // the caller has gone
	}
	if err != nil {
		s.log.Error("query failed", "error", err)
		respondFailure(w, failure(http.StatusServiceUnavailable, "cannot run the query"))
		return
	}
	s.stats.searched(p)
	s.respondPage(w, c, p)
}

func (s *Server) respondPage(w http.ResponseWriter, c *container, p *page) {
	charge := chargeQuery + chargeScanned*float64(p.looked()) + chargeRead(len(p.rows)) - 1
	s.stats.chargeRead(charge)
	header := w.Header()
	setCharge(w, charge)
	header["X-Ms-Item-Count"] = []string{itoa(p.count)}
	header["X-Ms-Session-Token"] = []string{"0:-1#0"}
	if p.next != nil {
		header["X-Ms-Continuation"] = []string{p.next.encode()}
	}
	dst := append(make([]byte, 0, len(p.rows)+128), `{"_rid":"`...)
	dst = append(dst, c.rid()...)
	dst = append(dst, `","Documents":[`...)
	dst = append(dst, p.rows...)
	dst = append(dst, `],"_count":`...)
	dst = strconv.AppendInt(dst, int64(p.count), 10)
	dst = append(dst, '}')
	header["Content-Length"] = []string{itoa(len(dst))}
	w.WriteHeader(http.StatusOK)
	w.Write(dst)
}

func pageLimit(header string) (int, error) {
	switch header {
	case "":
		return defaultPage, nil
	case "-1":
		return largestPage, nil
	}
	n, err := strconv.ParseInt(header, 10, 32)
	if err != nil || n < 1 {
		return 0, errors.New("x-ms-max-item-count is neither -1 nor a positive number")
	}
	return int(n), nil
}

// keyIn returns the one partition that a query's WHERE names, or "".
func (c *container) keyIn(q *query.Query) string {
	dst := []byte{'['}
	for i, path := range c.paths {
		v, ok := q.EqualTo(path)
		if !ok || v.Kind == document.Undefined {
			return ""
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendComponent(dst, v.Append(nil)); err != nil {
			return ""
		}
	}
	return string(append(dst, ']'))
}

// allows refuses what the gateway refuses: a query over all partitions that
// was not asked for or is not plain, and an order that the indexes do not give.
// A query that names the partition key range comes from a client that merges ranges, and
// there is only one.
func (c *container) allows(q *query.Query, pk string, crossPartition, ranged bool) outcome {
	if pk == "" && !crossPartition {
		return failure(http.StatusBadRequest, "the query names no partition and cross-partition queries are not enabled in the request")
	}
	if clause := q.CrossPartition(); pk == "" && !ranged && clause != "" {
		refused := failure(http.StatusBadRequest, fmt.Sprintf("the gateway cannot serve %s across partitions", clause)).withSub(subNotServable)
		refused.info = planOf(q)
		return refused
	}
	if err := c.sorts(q.Order()); err != nil {
		return failure(http.StatusBadRequest, err.Error())
	}
	return outcome{status: http.StatusOK}
}

// byID says whether ORDER BY asks for the order of ids, in which documents are read anyway.
func byID(q *query.Query) bool {
	order := q.Order()
	return len(order) == 1 && slices.Equal(order[0].Path, []string{"id"})
}

// streamed answers a query whose documents are read in its order: the page ends when it
// is full, or after many documents, even if that leaves it empty.
func (st *store) streamed(ctx context.Context, q *query.Query, c *container, p *page, at continuation, how way) error {
	skip, take := q.Window()
	sorted := len(q.Order()) > 0 && !byID(q)
	more := false
	err := st.scan(ctx, c, how, func(pk, id string, doc []byte) bool {
		if take >= 0 && at.Taken >= take {
			return false
		}
		if p.full() || p.scanned >= pageScanned {
			more = true
			return false
		}
		p.scanned++
		at.PK, at.ID = pk, id
		if p.selects(q, pk, doc) {
			p.kept++
			if at.Skipped < skip {
				at.Skipped++
			} else {
				at.Taken++
				p.add(q, doc)
			}
		}
		if sorted && (p.full() || p.scanned >= pageScanned) { // the next page begins here
			at.Keys = encodeKeys(q.SortKeys(doc))
		}
		return true
	})
	if more {
		p.next = &at
	}
	return err
}

// count answers SELECT VALUE COUNT in one page.
func (st *store) count(ctx context.Context, q *query.Query, c *container, pk string, p *page) error {
	n := 0
	err := st.scan(ctx, c, st.byID(q, pk, continuation{}), func(pk, _ string, doc []byte) bool {
		p.scanned++
		if p.selects(q, pk, doc) {
			p.kept++
			if q.Counted(doc) {
				n++
			}
		}
		return true
	})
	p.rows, p.count = strconv.AppendInt(nil, int64(n), 10), 1
	return err
}

// ordered answers ORDER BY in one partition or in all. Each page sorts the current
// documents and continues after the last row of the previous page, so
// that writes in between neither repeat nor hide other rows.
func (st *store) ordered(ctx context.Context, q *query.Query, c *container, pk string, p *page, at continuation) error {
	type sorted struct {
		keys []document.Value
		pk   string
		id   string
		doc  []byte
	}
	var found []sorted
	after, err := parseKeys(at.Keys)
	if err != nil {
		return err
	}
	if len(after) != 0 && len(after) != len(q.Order()) {
		return errors.New("the continuation token has a different number of sort keys")
	}
	compare := func(a, b sorted) int {
		if c := q.CompareKeys(a.keys, b.keys); c != 0 {
			return c
		}
		return cmp.Or(strings.Compare(a.pk, b.pk), strings.Compare(a.id, b.id))
	}
	last := sorted{keys: after, pk: at.PK, id: at.ID}
	err = st.scan(ctx, c, st.byID(q, pk, continuation{}), func(pk, id string, doc []byte) bool {
		p.scanned++
		if !p.selects(q, pk, doc) {
			return true
		}
		p.kept++
		row := sorted{keys: q.SortKeys(doc), pk: pk, id: id}
		if len(after) == 0 || compare(row, last) > 0 {
			row.doc = append([]byte(nil), doc...)
			found = append(found, row)
		}
		return true
	})
	if err != nil {
		return err
	}
	sort.Slice(found, func(i, j int) bool { return compare(found[i], found[j]) < 0 })
	skip, take := q.Window()
	for _, row := range found {
		if take >= 0 && at.Taken >= take {
			return nil
		}
		if p.full() {
			p.next = &at
			return nil
		}
		at.PK, at.ID, at.Keys = row.pk, row.id, encodeKeys(row.keys)
		if at.Skipped < skip {
			at.Skipped++
			continue
		}
		at.Taken++
		p.add(q, row.doc)
	}
	return nil
}

// encodeKeys wraps each key in an array, so that undefined can be told.
func encodeKeys(keys []document.Value) []json.RawMessage {
	encoded := make([]json.RawMessage, len(keys))
	for i, key := range keys {
		encoded[i] = document.Value{Kind: document.Array, Elements: []document.Value{key}}.Append(nil)
	}
	return encoded
}

func parseKeys(encoded []json.RawMessage) ([]document.Value, error) {
	var keys []document.Value
	for _, text := range encoded {
		v, err := document.Parse(text)
		if err != nil {
			return nil, err
		}
		if len(v.Elements) == 0 {
			v.Elements = []document.Value{{}}
		}
		keys = append(keys, v.Elements[0])
	}
	return keys, nil
}
