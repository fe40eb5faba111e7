package adminhttp

import (
	"strings"

	"github.com/gin-gonic/gin"
)

// The headers of a request that may be sent again, as
// draft-ietf-httpapi-idempotency-key-header has the first of them.
const (
	headerKey      = "Idempotency-Key"
	headerReplayed = "Idempotency-Replayed" // true: it was asked for by this key before
)

const (
	keyRequest     = "request"
	keyHostRequest = "hostRequest"
	maxRequestKey  = 255
)

// headerInvocation has the host's id of a request that it forwards. The host replaces one
// that the caller sent. When the connection to the handler is lost before the answer, the
// host sends the request again with the same id.
const headerInvocation = "X-Ms-Invocation-Id"

// once reads the idempotency key of the request: the caller's, or else the host's id, so
// that a request that the host repeats is carried out once. The caller's key is used as it
// is: what the draft has in quotes is another key without them.
func once(c *gin.Context) {
	values := c.Request.Header.Values(headerKey)
	if len(values) == 0 {
		onceByHost(c)
		return
	}
	hidden := func(r rune) bool { return r < '!' || r > '~' }
	switch key := values[0]; {
	case len(values) > 1:
		invalid(c, "the request has the header %s %d times", headerKey, len(values))
	case key == "" || len(key) > maxRequestKey || strings.ContainsFunc(key, hidden):
		invalid(c, "the header %s has %d bytes; a key has 1 to %d visible ASCII characters without spaces", headerKey, len(key), maxRequestKey)
	default:
		c.Set(keyRequest, key)
	}
}

// onceByHost reads the host's id of the request as its idempotency key. The caller's key
// cannot equal it, because it has a space.
func onceByHost(c *gin.Context) {
	if id := c.GetHeader(headerInvocation); id != "" {
		c.Set(keyHostRequest, "host "+id)
	}
}

// replayed marks an answer that repeats an earlier one.
func replayed(c *gin.Context, was bool) {
	if was {
		c.Header(headerReplayed, "true")
	}
}
