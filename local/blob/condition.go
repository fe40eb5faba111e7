package blob

import (
	"net/http"
	"strings"
	"time"
)

// conditions are the conditional headers of a request.
type conditions struct {
	match, noneMatch         string // an ETag without quotes, or "*"; empty: none
	modified, unmodifiedFrom time.Time
}

// readConditions reads the conditional headers. The service takes one ETag a header.
func readConditions(h http.Header) (c conditions, refused *refusal) {
	for name, into := range map[string]*string{"If-Match": &c.match, "If-None-Match": &c.noneMatch} {
		text := h.Get(name)
		if strings.Contains(text, ",") {
			return c, multipleConditions()
		}
		*into = strings.Trim(strings.TrimPrefix(text, "W/"), `"`)
	}
	for name, into := range map[string]*time.Time{"If-Modified-Since": &c.modified, "If-Unmodified-Since": &c.unmodifiedFrom} {
		text := h.Get(name)
		if text == "" {
			continue
		}
		at, err := http.ParseTime(text)
		if err != nil {
			return c, invalidHeader(name, text, "Use a time of RFC 1123.")
		}
		*into = at
	}
	return c, nil
}

func multipleConditions() *refusal {
	return &refusal{status: http.StatusBadRequest, code: "MultipleConditionHeadersNotSupported", message: "Multiple condition headers are not supported."}
}

// forWrite applies the rules of write operations. current is nil where there is no blob.
func (c conditions) forWrite(current *properties) *refusal {
	ifs, forNew := 0, 0
	for _, one := range []struct{ given, forNew bool }{
		{c.match != "", false}, {c.noneMatch != "", true}, {!c.modified.IsZero(), true}, {!c.unmodifiedFrom.IsZero(), false},
	} {
		if one.given {
			ifs++
			if one.forNew {
				forNew++
			}
		}
	}
	failed := conditionNotMet(http.StatusPreconditionFailed)
	switch {
	case ifs > 2 || ifs == 2 && forNew == 1:
		return multipleConditions()
	case c.noneMatch == "*" && current != nil:
		return &refusal{status: http.StatusConflict, code: "BlobAlreadyExists", message: "The specified blob already exists."}
	case c.noneMatch != "":
		if current != nil && c.noneMatch == current.ETag {
			return failed
		}
	case c.match != "":
		if current == nil || c.match != "*" && c.match != current.ETag {
			return failed
		}
	case current == nil:
	case !c.modified.IsZero() && !current.Modified.After(c.modified), !c.unmodifiedFrom.IsZero() && current.Modified.After(c.unmodifiedFrom):
		return failed
	}
	return nil
}

// forRead applies the rules of read operations. current is nil where there is no blob.
func (c conditions) forRead(current *properties) *refusal {
	unsatisfiable := &refusal{status: http.StatusBadRequest, code: "UnsatisfiableCondition", message: "The request includes an unsatisfiable condition for this operation."}
	switch {
	case c.noneMatch == "*":
		return unsatisfiable
	case current == nil && c.match != "":
		return conditionNotMet(http.StatusPreconditionFailed)
	case current == nil:
		return blobNotFound()
	case c.match != "" && c.match != "*" && c.match != current.ETag:
		return conditionNotMet(http.StatusPreconditionFailed)
	case !c.unmodifiedFrom.IsZero() && current.Modified.After(c.unmodifiedFrom):
		return conditionNotMet(http.StatusPreconditionFailed)
	}
	same := c.noneMatch != "" && c.noneMatch == current.ETag
	differs := c.noneMatch != "" && !same
	older := !c.modified.IsZero() && !current.Modified.After(c.modified)
	newer := !c.modified.IsZero() && !older
	if same && !newer || older && !differs {
		return conditionNotMet(http.StatusNotModified)
	}
	return nil
}
