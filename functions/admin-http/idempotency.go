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
	keyRequest    = "request"
	maxRequestKey = 255
)

// once takes the key that the caller calls the request by, where there is one. It is
// taken as it stands: what the draft has in quotes is another key without them.
func once(c *gin.Context) {
	values := c.Request.Header.Values(headerKey)
	if len(values) == 0 {
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

// replayed marks an answer that repeats an earlier one.
func replayed(c *gin.Context, was bool) {
	if was {
		c.Header(headerReplayed, "true")
	}
}
