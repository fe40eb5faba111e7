package cosmos

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/matoolkit/matoolkit/internal/store"
)

// serviceOnly is the policy that refuses an answer that is not the service's: of a proxy, or of another
// server that has the address by now. Without it a page in place of an item is an item without content, and
// its 404 says that there is none. The service's answers have an activity id, but for the one about the account,
// which says nothing about items.
type serviceOnly struct{}

// Do implements policy.Policy.
func (serviceOnly) Do(request *policy.Request) (*http.Response, error) {
	response, err := request.Next()
	if err != nil || !decides(response.StatusCode) || response.Header.Get("x-ms-activity-id") != "" {
		return response, err
	}
	if account := strings.Trim(request.Raw().URL.Path, "/") == ""; account && response.StatusCode < http.StatusBadRequest {
		return response, nil
	}
	runtime.Drain(response)
	return nil, notTheService{host: request.Raw().URL.Host, status: response.StatusCode}
}

// notTheService is the error of an answer of another server. The SDK does not send the request again: the other
// server may have answered before it has read the body, which the connection reads still.
type notTheService struct {
	host   string
	status int
}

func (e notTheService) Error() string {
	return fmt.Sprintf("%v: %s was answered with HTTP %d, and not by Cosmos DB", store.ErrUnavailable, e.host, e.status)
}

func (notTheService) Unwrap() error { return store.ErrUnavailable }

// NonRetriable marks the error for azcore's retry policy.
func (notTheService) NonRetriable() {}

// decides reports whether a status says something about the stored items. Any other means that the
// service cannot be reached.
func decides(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, 449:
		return true
	}
	return status < http.StatusBadRequest
}
