package cosmos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"

	"github.com/matoolkit/matoolkit/internal/store"
)

// batch is a transactional batch on its way through the SDK. The SDK checks and copies each document
// several times, and reads each result by way of a map, which took a sixth of the handler's CPU time. It
// also asks for the documents of all writes of a batch that reads one. So it gets a batch with one
// operation, and batchCodec puts the request of this one in its place, and takes the results.
type batch struct {
	request []byte
	results []batchResult
}

// batchResult is the result of one operation of a batch.
type batchResult struct {
	Status   int             `json:"statusCode"`
	ETag     string          `json:"eTag"`
	Document json.RawMessage `json:"resourceBody"` // of a read
}

// execute carries out a batch. A batch of which an operation failed is no error; success tells it.
func (s *Store) execute(ctx context.Context, writes store.Writes) (results []batchResult, success bool, err error) {
	b := &batch{}
	if b.request, err = encodeBatch(writes); err != nil {
		return nil, false, err
	}
	stand := s.container.NewTransactionalBatch(partition(writes[0].Key.PK))
	if slices.ContainsFunc(writes, func(w store.Write) bool { return w.Op == store.OpGet }) {
		stand.ReadItem("", nil) // the SDK asks for the content of results
	} else {
		stand.DeleteItem("", nil)
	}
	response, err := s.container.ExecuteTransactionalBatch(context.WithValue(ctx, batchKey{}, b), stand, nil)
	if err != nil {
		return nil, false, classify(err)
	}
	return b.results, response.Success, nil
}

// batchKey is the key of a batch in the context of its request.
type batchKey struct{}

// batchCodec is the policy that encodes and decodes batches.
type batchCodec struct{}

// Do implements policy.Policy. The SDK sends other requests in the context of a batch, too.
func (batchCodec) Do(request *policy.Request) (*http.Response, error) {
	b, ok := request.Raw().Context().Value(batchKey{}).(*batch)
	if !ok || request.Raw().Header.Get("x-ms-cosmos-is-batch-request") == "" {
		return request.Next()
	}
	if err := request.SetBody(streaming.NopCloser(bytes.NewReader(b.request)), "application/json"); err != nil {
		return nil, err
	}
	response, err := request.Next()
	if err != nil || response.StatusCode != http.StatusOK && response.StatusCode != http.StatusMultiStatus {
		return response, err
	}
	body, err := runtime.Payload(response)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, &b.results); err != nil {
		return nil, fmt.Errorf("the results of a transactional batch cannot be read: %w", err)
	}
	response.Body = http.NoBody
	return response, nil
}

// encodeBatch encodes the writes of a batch, whose documents are encoded.
func encodeBatch(writes store.Writes) ([]byte, error) {
	size := 2
	for _, w := range writes {
		body, _ := w.Doc.(encodedBody)
		size += overhead + len(w.Key.ID) + len(body)
	}
	dst := append(make([]byte, 0, size), '[')
	for i, w := range writes {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendOperation(dst, w); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendOperation(dst []byte, w store.Write) ([]byte, error) {
	body, _ := w.Doc.(encodedBody)
	dst = append(append(append(dst, `{"operationType":"`...), operations[w.Op]...), '"')
	if w.Op != store.OpCreate && w.Op != store.OpUpsert { // these have the id in the document
		dst = appendJSONString(append(dst, `,"id":`...), w.Key.ID)
		if w.Version.ETag != "" {
			dst = appendJSONString(append(dst, `,"ifMatch":`...), w.Version.ETag)
		}
	}
	if w.Op != store.OpGet {
		dst = append(dst, `,"minimalReturnPreference":true`...)
	}
	switch w.Op {
	case store.OpCreate, store.OpReplace, store.OpUpsert:
		dst = append(append(dst, `,"resourceBody":`...), body...)
	case store.OpPatch, store.OpReplaceUnlessNewer:
		patch, err := json.Marshal(patchOf(w))
		if err != nil {
			return nil, fmt.Errorf("store: the patch of %s cannot be written as JSON: %w", w.Key, err)
		}
		dst = append(append(dst, `,"resourceBody":`...), patch...)
	}
	return append(dst, '}'), nil
}

// operations are the kinds of operations as a batch names them.
var operations = map[store.Op]string{
	store.OpCreate: "Create", store.OpReplace: "Replace", store.OpUpsert: "Upsert", store.OpReplaceUnlessNewer: "Patch",
	store.OpPatch: "Patch", store.OpDelete: "Delete", store.OpGet: "Read",
}

// appendJSONString appends a text, an id or an ETag, as JSON.
func appendJSONString(dst []byte, text string) []byte {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always has JSON
	}
	return append(dst, encoded...)
}
