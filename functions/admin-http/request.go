package adminhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/humanize"
)

const keyQuery = "query"

// query lets a request pass only if it has no query parameter but those named, each
// once, in UTF-8 and of reasonable length, and no idempotency key that once has not read
// before: a caller with a key relies on it.
func query(names ...string) gin.HandlerFunc {
	return func(c *gin.Context) {
		if len(c.Request.Header.Values(headerKey)) > 0 && c.GetString(keyRequest) == "" {
			invalid(c, "this route takes no %s; send the request without the header", headerKey)
			return
		}
		values, err := url.ParseQuery(c.Request.URL.RawQuery)
		if err != nil {
			invalid(c, "the query string is malformed")
			return
		}
		for name, v := range values {
			switch {
			case !slices.Contains(names, name) && len(names) == 0:
				invalid(c, "unknown query parameter %q; this route has none", clip(name))
				return
			case !slices.Contains(names, name):
				invalid(c, "unknown query parameter %q; this route has %s", clip(name), strings.Join(names, ", "))
				return
			case len(v) > 1:
				invalid(c, "the request has the query parameter %s %d times; give it once, with commas between its values if it has several", name, len(v))
				return
			case len(v[0]) > maxParameter || !utf8.ValidString(v[0]):
				invalid(c, "the query parameter %s is longer than %d bytes or not UTF-8", name, maxParameter)
				return
			case v[0] == "":
				invalid(c, "the query parameter %s is empty", name)
				return
			}
		}
		c.Set(keyQuery, values)
	}
}

// listed names what there is to choose from.
func listed[S ~string](all []S) string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = string(one)
	}
	return strings.Join(names, ", ")
}

// options reads the query into what the lists take; statuses are those that the
// list's items can have. It answers and returns false when a value is wrong.
func options[S ~string](c *gin.Context, statuses []S) (api.ListOptions, bool) {
	values := c.MustGet(keyQuery).(url.Values)
	o := api.ListOptions{
		Continuation: values.Get("continuationToken"),
		Runbook:      values.Get("runbook"), Name: values.Get("name"), Owner: values.Get("owner"), Phase: values.Get("phase"), Sort: values.Get("sort"), Search: values.Get("search"),
		Topic: lower(values.Get("topic")),
	}
	var ok bool
	if o.Statuses, ok = several(c, "status", statuses); !ok {
		return o, false
	}
	const maxLimit = 1000
	if text := values.Get("limit"); text != "" {
		if o.Limit, ok = number(text, maxLimit); !ok {
			invalid(c, "invalid query parameter limit %q: use a number from 1 to %d", clip(text), maxLimit)
			return o, false
		}
	}
	return o, true
}

// several reads a query parameter with one or more words between commas, of those that the route has. It
// answers and returns false when it has another.
func several[S ~string](c *gin.Context, name string, all []S) (words []string, ok bool) {
	text := c.MustGet(keyQuery).(url.Values).Get(name)
	if text == "" {
		return nil, true
	}
	for word := range strings.SplitSeq(text, ",") {
		if word = lower(word); !slices.Contains(all, S(word)) {
			invalid(c, "invalid query parameter %s %q: use one or more of %s", name, clip(text), listed(all))
			return nil, false
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words, true
}

// lower lets words be written in any case. A letter outside of ASCII stays as it is: some,
// such as the dotted capital I, have one of the words' letters for their small one.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// number reads a positive decimal number as people write it: no sign, no zero in
// front.
func number(s string, limit int) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 1 && n <= limit && strconv.Itoa(n) == s
}

// batchID reads the batch's number from the address.
func batchID(c *gin.Context) (int, bool) {
	id, ok := number(c.Param("id"), 1<<31-1)
	if !ok {
		refuse(c, http.StatusNotFound, api.CodeNotFound, "there is no batch %q; use the batch's number", clip(c.Param("id")))
	}
	return id, ok
}

// runbookName reads the runbook's name from the address.
func runbookName(c *gin.Context) (string, bool) {
	name := c.Param("name")
	if len(name) > maxName || !utf8.ValidString(name) {
		refuse(c, http.StatusNotFound, api.CodeNotFound, "there is no runbook %q; names have at most %d bytes", clip(name), maxName)
		return "", false
	}
	return name, true
}

// mediaType is the media type of the body without its parameters, which have to be
// well-formed; a charset other than UTF-8 is none that we read.
func mediaType(c *gin.Context) (string, map[string]string) {
	media, params, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	if err != nil {
		return "", nil
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return "", nil
	}
	return media, params
}

// body reads the whole body. It answers and returns false when it is longer than
// limit or cannot be read.
func body(c *gin.Context, limit int64) ([]byte, bool) {
	data, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	if err != nil {
		unreadable(c, err, limit)
		return nil, false
	}
	return data, true
}

func unreadable(c *gin.Context, err error, limit int64) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		if n := c.Request.ContentLength; n > limit {
			refuse(c, http.StatusRequestEntityTooLarge, api.CodeTooLarge, "the request has %d bytes; at most %d are allowed", n, limit)
			return
		}
		refuse(c, http.StatusRequestEntityTooLarge, api.CodeTooLarge, "the request has more than the %d bytes allowed", limit)
		return
	}
	_ = c.Error(err)
	invalid(c, "the request ended before it was complete or is malformed")
}

// decodeJSON reads exactly one JSON object without unknown fields.
func decodeJSON(c *gin.Context, data []byte, into any) bool {
	if !utf8.Valid(data) {
		invalid(c, "the request is not in UTF-8")
		return false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		invalid(c, "the request body is not valid: %s", reason(err))
		return false
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		invalid(c, "the request body has data after its JSON object")
		return false
	}
	return true
}

// reason words what encoding/json reports for the caller, without Go's types.
func reason(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return "syntax error at byte " + strconv.FormatInt(syntax.Offset, 10)
	case errors.As(err, &kind) && kind.Field == "":
		return "a " + kind.Value + " where an object belongs"
	case errors.As(err, &kind):
		return kind.Field + " is a " + kind.Value
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	}
	return strings.TrimPrefix(err.Error(), "json: ") // unknown field "x"
}

func invalid(c *gin.Context, format string, args ...any) {
	refuse(c, http.StatusBadRequest, api.CodeInvalid, format, args...)
}

// clip shortens what a caller sent for a message.
func clip(s string) string { return humanize.Clip(strings.ToValidUTF8(s, "\uFFFD"), 100) }
