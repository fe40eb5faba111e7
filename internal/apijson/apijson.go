// Package apijson writes the views of internal/api as JSON, for the admin API and for the
// command line, which prints the same documents. It must not know where they go.
package apijson

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// TimeLayout is how all times are written: RFC 3339 in UTC with milliseconds, so that texts
// sort as times do.
const TimeLayout = "2006-01-02T15:04:05.000Z"

var (
	compact = json.JoinOptions(jsonv1.DefaultOptionsV1(), json.WithMarshalers(json.MarshalFunc(func(t time.Time) ([]byte, error) {
		return t.UTC().AppendFormat(nil, `"`+TimeLayout+`"`), nil
	})))
	readable = json.JoinOptions(compact, jsontext.EscapeForHTML(false), jsontext.WithIndent("  "))
)

// Marshal writes a view in one line. Safe for concurrent use.
func Marshal(view any) ([]byte, error) { return json.Marshal(view, compact) }

// MarshalReadable writes a view in indented lines. Safe for concurrent use.
func MarshalReadable(view any) ([]byte, error) { return json.Marshal(view, readable) }
