package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// list is the data source of a system: people, and when they start.
type list []listed

type listed struct {
	key   string
	start time.Time
}

// startingAt is a list of people who all start at one moment.
func startingAt(start time.Time, people []string) (l list) {
	for _, key := range people {
		l = append(l, listed{key, start})
	}
	return l
}

// sources are the data sources of a process; nil where the system has none.
func (w *world) sources() *datasource.Reader {
	if w.list == nil && w.system.prepare == nil {
		return nil
	}
	return &datasource.Reader{
		Sources:  map[string]datasource.Open{"csv": func(datasource.Spec) (datasource.Source, error) { return w, nil }},
		Settings: []string{"LIST"},
		Getenv:   func(string) string { return "the list" },
	}
}

// Query implements datasource.Source: the list as it is now.
func (w *world) Query(context.Context) (datasource.Rows, error) {
	return &rows{left: w.list}, nil
}

// rows is a list that is being read.
type rows struct{ left list }

func (*rows) Columns() []string { return []string{"Upn", "Start"} }

func (r *rows) Next(context.Context) ([]json.RawMessage, error) {
	if len(r.left) == 0 {
		return nil, io.EOF
	}
	next := r.left[0]
	r.left = r.left[1:]
	return []json.RawMessage{text(next.key), text(next.start.Format(time.RFC3339))}, nil
}

func (*rows) Close() error { return nil }

func text(s string) json.RawMessage { return json.RawMessage(fmt.Sprintf("%q", s)) }
