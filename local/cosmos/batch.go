package cosmos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

// maxBatch is how many operations the service takes in one batch.
const maxBatch = 100

// parseBatch checks the operations of a transactional batch. An invalid
// operation gets its outcome before anything is written; a body that is no
// batch is an error.
func parseBatch(c *container, pk string, body []byte) (writes []write, culprit int, refused outcome, err error) {
	var wire []struct {
		OperationType string          `json:"operationType"`
		ID            string          `json:"id"`
		IfMatch       string          `json:"ifMatch"`
		IfNoneMatch   string          `json:"ifNoneMatch"`
		ResourceBody  json.RawMessage `json:"resourceBody"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return nil, 0, outcome{}, fmt.Errorf("the batch is not valid: %w", err)
	}
	if len(wire) == 0 || len(wire) > maxBatch {
		return nil, 0, outcome{}, fmt.Errorf("a batch has 1 to %d operations, not %d", maxBatch, len(wire))
	}
	for i, o := range wire {
		w := write{op: Operation(o.OperationType), c: c, pk: pk, id: o.ID, ifMatch: o.IfMatch}
		var err error
		switch w.op {
		case Create, Upsert, Replace:
			var in incoming
			if in, err = readDocument(c, o.ResourceBody); err == nil {
				err = in.belongs(pk, o.ID)
			}
			if w.op == Create {
				w.ifMatch = ""
			}
			w.id, w.body = in.id, in.body
		case Patch:
			w.patch, err = parsePatch(c, o.ResourceBody)
		case Read, Delete:
		default:
			return nil, 0, outcome{}, fmt.Errorf("batch operation %d: the type %q is not Create, Upsert, Replace, Patch, Delete or Read", i, o.OperationType)
		}
		if err == nil && w.id == "" {
			err = fmt.Errorf("id is missing")
		}
		if err == nil && o.IfNoneMatch != "" {
			err = fmt.Errorf("ifNoneMatch is not supported")
		}
		if err != nil {
			refused = failure(http.StatusBadRequest, fmt.Sprintf("batch operation %d: %v", i, err))
			return make([]write, len(wire)), i, refused, nil
		}
		writes = append(writes, w)
	}
	return writes, -1, outcome{}, nil
}

func (s *Server) serveBatch(w http.ResponseWriter, r *http.Request, c *container, pk string, body []byte) {
	s.stats.batches.Add(1)
	if len(body) > maxItem {
		respondFailure(w, failure(http.StatusRequestEntityTooLarge, "the batch is larger than 2 MB"))
		return
	}
	if !isTrue(r, "X-Ms-Cosmos-Batch-Atomic") {
		respondFailure(w, failure(http.StatusBadRequest, "only atomic batches are supported"))
		return
	}
	writes, culprit, refused, err := parseBatch(c, pk, body)
	if err != nil {
		respondFailure(w, failure(http.StatusBadRequest, err.Error()))
		return
	}
	s.stats.batchOperations.Add(int64(len(writes)))
	var outcomes []outcome
	var success bool
	if culprit >= 0 {
		outcomes = failedBatch(len(writes), culprit, refused)
	} else {
		outcomes, success = s.store.batch(writes)
	}
	s.respondBatch(w, writes, outcomes, success, minimal(r))
}

// failedBatch is the outcome of a batch of which one operation failed.
func failedBatch(n, culprit int, o outcome) []outcome {
	outcomes := make([]outcome, n)
	for i := range outcomes {
		outcomes[i] = outcome{status: http.StatusFailedDependency, message: "another operation of the batch failed"}
	}
	outcomes[culprit] = o
	return outcomes
}

func (s *Server) respondBatch(w http.ResponseWriter, writes []write, outcomes []outcome, success, minimal bool) {
	status := http.StatusOK
	if !success {
		status = http.StatusMultiStatus
	}
	var charge float64
	var wrote int
	var version int64
	dst := append(make([]byte, 0, 128*len(outcomes)), '[')
	for i, o := range outcomes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"statusCode":`...)
		dst = strconv.AppendInt(dst, int64(o.status), 10)
		dst = append(dst, `,"requestCharge":`...)
		dst = strconv.AppendFloat(dst, o.charge, 'f', 2, 64)
		if o.sub != 0 {
			dst = append(dst, `,"subStatusCode":`...)
			dst = strconv.AppendInt(dst, int64(o.sub), 10)
		}
		if o.item.version != 0 {
			dst = append(dst, `,"eTag":"`...)
			dst = append(appendETag(dst, `\"`, o.item.version), '"')
			if !minimal || writes[i].op == Read {
				dst = append(dst, `,"resourceBody":`...)
				dst = o.item.append(dst)
			}
			version = max(version, o.item.version)
		}
		if o.message != "" {
			dst = append(dst, `,"message":`...)
			dst = document.AppendString(dst, o.message)
		}
		dst = append(dst, '}')
		charge += o.charge
		wrote += o.wrote
	}
	dst = append(dst, ']')
	s.stats.charge(charge, wrote)
	setCharge(w, charge)
	if version != 0 {
		w.Header()["X-Ms-Session-Token"] = []string{sessionToken(version)}
	}
	w.Header()["Content-Length"] = []string{itoa(len(dst))}
	w.WriteHeader(status)
	w.Write(dst)
}
