package cosmos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

// maxBatch is how many operations the service takes in one batch.
const maxBatch = 100

// hybridRow is the first byte of a batch in HybridRow, a binary format of some clients.
const hybridRow = 0x81

// batchOperation is an operation of a batch as a client sends it.
type batchOperation struct {
	OperationType Operation
	PartitionKey  *string // in a batch of a range
	ID            string
	IfMatch       string
	IfNoneMatch   string
	ResourceBody  []byte // valid JSON, or empty
	Minimal       bool   // the result has no content
}

func readBatch(body []byte) (operations []batchOperation, err error) {
	if len(body) > 0 && body[0] == hybridRow {
		return nil, errors.New("batches in HybridRow are not supported: the server reads batches in JSON only, use single operations with this client")
	}
	if !document.Valid(body) {
		var sink any
		return nil, fmt.Errorf("the batch is not valid: %w", json.Unmarshal(body, &sink))
	}
	if trimmed := bytes.TrimSpace(body); trimmed[0] != '[' {
		return nil, errors.New("the batch is not valid: it is not an array")
	}
	document.EachElement(body, func(value []byte) {
		o, wrong := readOperation(value)
		if wrong != nil && err == nil {
			err = fmt.Errorf("the batch is not valid: operation %d: %w", len(operations), wrong)
		}
		operations = append(operations, o)
	})
	if err != nil {
		return nil, err
	}
	if len(operations) == 0 || len(operations) > maxBatch {
		return nil, fmt.Errorf("a batch has 1 to %d operations, not %d", maxBatch, len(operations))
	}
	for i, o := range operations {
		switch o.OperationType {
		case Create, Upsert, Replace, Patch, Read, Delete:
		default:
			return nil, fmt.Errorf("batch operation %d: the type %q is not Create, Upsert, Replace, Patch, Delete or Read", i, o.OperationType)
		}
	}
	return operations, nil
}

// readOperation reads an operation, which is valid JSON. The body stays part of the request.
func readOperation(value []byte) (o batchOperation, err error) {
	if value[0] != '{' {
		return o, errors.New("it is not an object")
	}
	document.EachNamed(value, func(name, value []byte) bool {
		switch string(name) {
		case "operationType":
			err = json.Unmarshal(value, &o.OperationType)
		case "partitionKey":
			err = json.Unmarshal(value, &o.PartitionKey)
		case "id":
			err = json.Unmarshal(value, &o.ID)
		case "ifMatch":
			err = json.Unmarshal(value, &o.IfMatch)
		case "ifNoneMatch":
			err = json.Unmarshal(value, &o.IfNoneMatch)
		case "minimalReturnPreference":
			err = json.Unmarshal(value, &o.Minimal)
		case "resourceBody":
			o.ResourceBody = value
		}
		return err == nil
	})
	return o, err
}

// writeOf makes the write of a batch's operation, or the outcome of an invalid one.
func (o batchOperation) writeOf(c *container, pk string) (write, outcome) {
	w := write{op: o.OperationType, c: c, pk: pk, id: o.ID, ifMatch: o.IfMatch, minimal: o.Minimal}
	switch w.op {
	case Create, Upsert, Replace:
		if err := document.CheckValue(o.ResourceBody); err != nil {
			return w, failure(http.StatusBadRequest, err.Error())
		}
		in, refused := readChecked(c, bytes.Clone(o.ResourceBody), pk, o.ID) // the item may be kept longer than the request
		if !refused.ok() {
			return w, refused
		}
		if w.op == Create {
			w.ifMatch = ""
		}
		w.id, w.body = in.id, in.body
	case Patch:
		var err error
		if w.patch, err = parsePatch(c, o.ResourceBody); err != nil {
			return w, failure(http.StatusBadRequest, err.Error())
		}
	}
	switch {
	case w.id == "":
		return w, failure(http.StatusBadRequest, "id is missing")
	case o.IfNoneMatch != "":
		return w, failure(http.StatusBadRequest, "ifNoneMatch is not supported")
	}
	return w, outcome{status: http.StatusOK}
}

// parseBatch checks the operations of a transactional batch. An invalid
// operation gets its outcome before anything is written.
func parseBatch(c *container, pk string, operations []batchOperation) (writes []write, culprit int, refused outcome) {
	for i, o := range operations {
		w, refused := o.writeOf(c, pk)
		if !refused.ok() {
			refused.message = fmt.Sprintf("batch operation %d: %s", i, refused.message)
			return make([]write, len(operations)), i, refused
		}
		writes = append(writes, w)
	}
	return writes, -1, outcome{}
}

// bulk carries out the operations of a batch of a range, each by itself. Where the client
// does not want to continue after an error, the operations behind the first one have 424.
func (s *Server) bulk(c *container, operations []batchOperation, continueOnError bool) (writes []write, outcomes []outcome, success bool) {
	success = true
	for i, o := range operations {
		w := write{op: o.OperationType}
		var result outcome
		switch pk, err := o.key(c); {
		case !success && !continueOnError:
			result = failure(http.StatusFailedDependency, "another operation of the batch failed")
		case err != nil:
			result = failure(http.StatusBadRequest, err.Error()).withSub(subKeyMismatch)
		default:
			if w, result = o.writeOf(c, pk); result.ok() {
				result = s.store.write(w)
			}
		}
		if !result.ok() {
			success = false
			result.message = fmt.Sprintf("batch operation %d: %s", i, result.message)
		}
		writes, outcomes = append(writes, w), append(outcomes, result)
	}
	return writes, outcomes, success
}

// key returns the partition key of an operation of a batch of a range.
func (o batchOperation) key(c *container) (string, error) {
	if o.PartitionKey == nil {
		return "", errors.New("partitionKey is missing")
	}
	return c.parseKey(*o.PartitionKey)
}

func (s *Server) serveBatch(w http.ResponseWriter, r *http.Request, c *container, pk string, body []byte) {
	s.stats.batches.Add(1)
	if len(body) > maxItem {
		respondFailure(w, failure(http.StatusRequestEntityTooLarge, "the batch is larger than 2 MB"))
		return
	}
	operations, err := readBatch(body)
	atomic := isTrue(r, "X-Ms-Cosmos-Batch-Atomic")
	switch {
	case err != nil:
	case atomic && pk == "":
		err = errors.New("an atomic batch is for one partition: the header x-ms-documentdb-partitionkey is missing")
	case !atomic && pk != "":
		err = errors.New("a batch of one partition that is not atomic is not supported")
	}
	if err != nil {
		respondFailure(w, failure(http.StatusBadRequest, err.Error()))
		return
	}
	s.stats.batchOperations.Add(int64(len(operations)))
	if !atomic {
		writes, outcomes, success := s.bulk(c, operations, isTrue(r, "X-Ms-Cosmos-Batch-Continue-On-Error"))
		s.respondBatch(w, writes, outcomes, success, minimal(r))
		return
	}
	writes, culprit, refused := parseBatch(c, pk, operations)
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
			if !writes[i].minimal && (!minimal || writes[i].op == Read) {
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
