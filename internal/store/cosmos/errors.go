package cosmos

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/matoolkit/matoolkit/internal/store"
)

// classify turns an error of the SDK into an error of the store. Any other status of the
// service stays as it is.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if response.StatusCode == http.StatusForbidden && subStatus(response.RawResponse) == partitionFull {
		return fmt.Errorf("%w (HTTP %d, substatus %d)", store.ErrFull, response.StatusCode, partitionFull)
	}
	if kind := status(response.StatusCode); kind != nil {
		return fmt.Errorf("%w (HTTP %d)", kind, response.StatusCode)
	}
	if response.StatusCode == http.StatusBadRequest {
		return fmt.Errorf("%w (HTTP %d): %s", store.ErrRefused, response.StatusCode, explanation(response.RawResponse))
	}
	return err
}

// partitionFull is the service's substatus of a 403 for a logical partition without room.
const partitionFull = 1014

// explanation returns the reason that the service gives for a refusal.
func explanation(r *http.Response) string {
	var answer struct {
		Message string `json:"message"`
	}
	if r != nil {
		if body, err := runtime.Payload(r); err == nil {
			_ = json.Unmarshal(body, &answer) // an answer that is not JSON explains nothing
		}
	}
	return cmp.Or(answer.Message, "no reason given")
}

func subStatus(r *http.Response) int {
	if r == nil {
		return 0
	}
	n, _ := strconv.Atoi(r.Header.Get("x-ms-substatus"))
	return n
}

func status(code int) error {
	switch code {
	case http.StatusNotFound:
		return store.ErrNotFound
	case http.StatusConflict:
		return store.ErrExists
	case http.StatusPreconditionFailed, 449:
		return store.ErrChanged
	case http.StatusRequestEntityTooLarge:
		return store.ErrTooLarge
	case http.StatusUnauthorized, http.StatusForbidden: // a firewall, or a role that is not yet assigned: it passes
		return store.ErrUnavailable
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusGone,
		http.StatusServiceUnavailable, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return store.ErrUnavailable
	}
	return nil
}

// statusError is the error of one operation of a batch. Access is denied to a batch as a
// whole, so that a 403 of one operation is that of a full partition.
func statusError(code int) error {
	switch code {
	case http.StatusForbidden:
		return fmt.Errorf("%w (HTTP %d)", store.ErrFull, code)
	case http.StatusBadRequest:
		return fmt.Errorf("%w (HTTP %d)", store.ErrRefused, code)
	}
	if kind := status(code); kind != nil {
		return fmt.Errorf("%w (HTTP %d)", kind, code)
	}
	return errors.New("store: refused with HTTP " + strconv.Itoa(code))
}

// refused classifies the error of a query. A query that is well-formed can be bad only for its
// continuation.
func refused(err error, continuation string) error {
	var response *azcore.ResponseError
	if continuation != "" && errors.As(err, &response) && response.StatusCode == http.StatusBadRequest {
		return fmt.Errorf("%w (HTTP %d)", store.ErrContinuation, response.StatusCode)
	}
	return classify(err)
}
