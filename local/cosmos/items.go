package cosmos

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

func newActivityID() string { return uuid.NewString() }

func itoa(n int) string { return strconv.Itoa(n) }

func setCharge(w http.ResponseWriter, ru float64) {
	w.Header()["X-Ms-Request-Charge"] = []string{strconv.FormatFloat(ru, 'f', 2, 64)}
}

func isTrue(r *http.Request, header string) bool {
	values := r.Header[header]
	return len(values) == 1 && strings.EqualFold(values[0], "true")
}

// isQuery reports whether the body of a request is a query. Clients use either header.
func isQuery(r *http.Request) bool {
	return isTrue(r, "X-Ms-Documentdb-Query") || isTrue(r, "X-Ms-Documentdb-Isquery")
}

func isQueryPlan(r *http.Request) bool { return isTrue(r, "X-Ms-Cosmos-Is-Query-Plan-Request") }

// minimal says whether the caller wants no content back from a write.
func minimal(r *http.Request) bool { return r.Header.Get("Prefer") == "return=minimal" }

func operationOf(r *http.Request, at route) (Operation, error) {
	if at.one {
		switch r.Method {
		case http.MethodGet:
			return Read, nil
		case http.MethodPut:
			return Replace, nil
		case http.MethodDelete:
			return Delete, nil
		case http.MethodPatch:
			return Patch, nil
		}
		return "", errors.New("an item supports GET, PUT, PATCH and DELETE")
	}
	switch {
	case r.Method == http.MethodGet && r.Header["A-Im"] != nil:
		return "", errors.New("the change feed of items is not supported")
	case r.Method == http.MethodGet:
		return Query, nil
	case r.Method != http.MethodPost:
		return "", errors.New("a container's documents support GET and POST")
	case isQuery(r) || isQueryPlan(r):
		return Query, nil
	case isTrue(r, "X-Ms-Cosmos-Is-Batch-Request"):
		return Batch, nil
	case isTrue(r, "X-Ms-Documentdb-Is-Upsert"):
		return Upsert, nil
	}
	return Create, nil
}

// serveItems answers everything below …/docs: it finds the container and the
// partition, lets faults happen, and passes on by operation.
func (s *Server) serveItems(w http.ResponseWriter, r *http.Request, at route) {
	op, err := operationOf(r, at)
	if err != nil {
		respondFailure(w, failure(http.StatusBadRequest, err.Error()))
		return
	}
	c := s.store.catalog.container(at.database, at.container)
	if c == nil {
		respondFailure(w, failure(http.StatusNotFound, fmt.Sprintf("there is no container %q in a database %q", at.container, at.database)).withSub(subNoOwner))
		return
	}
	if refused := unsupportedHeader(r, op); refused != "" {
		respondFailure(w, failure(http.StatusBadRequest, "the header "+refused+" is not supported"))
		return
	}
	ranged, refused := inRange(r, c)
	if !refused.ok() {
		respondFailure(w, refused)
		return
	}
	pk := ""
	if header := r.Header["X-Ms-Documentdb-Partitionkey"]; header != nil {
		if pk, err = c.readKey(header[0], op == Query); err != nil {
			respondFailure(w, failure(http.StatusBadRequest, err.Error()).withSub(subKeyMismatch))
			return
		}
	} else if op != Query && !(op == Batch && ranged) {
		respondFailure(w, failure(http.StatusBadRequest, "the header x-ms-documentdb-partitionkey is missing"))
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		respondFailure(w, failure(http.StatusRequestEntityTooLarge, err.Error()))
		return
	}
	req := Request{Operation: op, Database: at.database, Container: at.container, PartitionKey: pk, ID: at.document}
	var in incoming
	switch op {
	case Create, Upsert, Replace:
		var refused outcome
		if in, refused = readFor(c, body, pk, at.document); !refused.ok() {
			respondFailure(w, refused)
			return
		}
		if len(in.body) > maxItem {
			respondFailure(w, failure(http.StatusRequestEntityTooLarge, "the item is larger than 2 MB"))
			return
		}
		req.ID = in.id
	}
	w, answered := s.suffer(w, r, req)
	if answered {
		return
	}
	if _, dropped := w.(*droppedAnswer); dropped {
		defer panic(http.ErrAbortHandler)
	}
	switch op {
	case Query:
		if isQueryPlan(r) {
			s.serveQueryPlan(w, c, body)
			return
		}
		s.serveQuery(w, r, c, pk, ranged, body)
	case Batch:
		s.serveBatch(w, r, c, pk, body)
	case Read:
		s.serveRead(w, r, c, pk, at.document)
	default:
		s.serveWrite(w, r, write{op: op, c: c, pk: pk, id: req.ID, ifMatch: r.Header.Get("If-Match"), body: in.body}, body)
	}
}

// unsupportedHeader names a header that asks for something that would change
// the result and is not here.
func unsupportedHeader(r *http.Request, op Operation) string {
	if op != Read && op != Query && r.Header["If-None-Match"] != nil {
		return "if-none-match of a write"
	}
	if op != Query && (r.Header["X-Ms-Start-Epk"] != nil || r.Header["X-Ms-End-Epk"] != nil) {
		return "x-ms-start-epk or x-ms-end-epk of a write"
	}
	if strings.EqualFold(r.Header.Get("X-Ms-Indexing-Directive"), "exclude") {
		return "x-ms-indexing-directive: exclude"
	}
	for _, name := range []string{"X-Ms-Documentdb-Pre-Trigger-Include", "X-Ms-Documentdb-Post-Trigger-Include"} {
		if r.Header[name] != nil {
			return strings.ToLower(name)
		}
	}
	return ""
}

// readFor reads a document of a request that names a partition key and maybe an id.
func readFor(c *container, body []byte, pk, id string) (incoming, outcome) {
	if err := document.Check(body); err != nil {
		return incoming{}, failure(http.StatusBadRequest, err.Error())
	}
	return readChecked(c, body, pk, id)
}

// readChecked is readFor for a document that was checked.
func readChecked(c *container, body []byte, pk, id string) (incoming, outcome) {
	in, err := readDocument(c, body)
	switch {
	case err != nil:
		return in, failure(http.StatusBadRequest, err.Error())
	case in.pk != pk:
		return in, failure(http.StatusBadRequest, fmt.Sprintf("the partition key of the document is %s and the request names %s", in.pk, pk)).withSub(subKeyMismatch)
	case id != "" && in.id != id:
		return in, failure(http.StatusBadRequest, fmt.Sprintf("the document's id is %q and the request names %q", in.id, id))
	}
	return in, outcome{status: http.StatusOK}
}

// readBody reads a request, up to a little more than the largest item: system
// properties that the caller sends back do not count.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	const limit = maxItem + 64<<10
	if r.ContentLength > limit {
		return nil, errors.New("the request is larger than 2 MB")
	}
	if r.ContentLength < 0 {
		return io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	}
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		panic(http.ErrAbortHandler) // the caller has gone
	}
	return body, nil
}

func (s *Server) serveRead(w http.ResponseWriter, r *http.Request, c *container, pk, id string) {
	s.stats.pointReads.Add(1)
	it, found, err := s.store.read(c, pk, id)
	switch {
	case err != nil:
		s.log.Error("read failed", "error", err)
		respondFailure(w, failure(http.StatusServiceUnavailable, "cannot read the item"))
		return
	case !found:
		s.stats.chargeRead(chargeFailed)
		respondFailure(w, notFound)
		return
	}
	o := outcome{status: http.StatusOK, item: it, charge: chargeRead(len(it.body))}
	s.stats.chargeRead(o.charge)
	if tag := r.Header.Get("If-None-Match"); tag != "" && it.matches(tag) {
		o.status = http.StatusNotModified
		respondItem(w, o, false)
		return
	}
	respondItem(w, o, true)
}

func (s *Server) serveWrite(w http.ResponseWriter, r *http.Request, wr write, body []byte) {
	s.stats.singleWrites.Add(1)
	switch wr.op {
	case Create:
		wr.ifMatch = "" // as in the service, a create is guarded by the id alone
	case Patch:
		var err error
		if wr.patch, err = parsePatch(wr.c, body); err != nil {
			respondFailure(w, failure(http.StatusBadRequest, err.Error()))
			return
		}
	}
	o := s.store.write(wr)
	s.stats.charge(o.charge, o.wrote)
	if !o.ok() {
		respondFailure(w, o)
		return
	}
	respondItem(w, o, !minimal(r))
}

// respondItem answers with an item's ETag and, when wanted, its content.
func respondItem(w http.ResponseWriter, o outcome, content bool) {
	header := w.Header()
	setCharge(w, o.charge)
	if o.item.version != 0 {
		header["Etag"] = []string{o.item.etag()}
		header["X-Ms-Session-Token"] = []string{sessionToken(o.item.version)}
	}
	if !content || o.item.version == 0 {
		if o.status != http.StatusNoContent && o.status != http.StatusNotModified {
			header["Content-Length"] = []string{"0"}
		}
		w.WriteHeader(o.status)
		return
	}
	body := o.item.append(make([]byte, 0, len(o.item.body)+256))
	header["Content-Length"] = []string{itoa(len(body))}
	w.WriteHeader(o.status)
	w.Write(body)
}

// sessionToken renders a version as the service renders a session: the
// partition key range, then its log sequence number.
func sessionToken(version int64) string { return "0:-1#" + strconv.FormatInt(version, 10) }
