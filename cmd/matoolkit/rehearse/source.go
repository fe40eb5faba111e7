package rehearse

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/graph"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/simulate"
)

// readSource reads the members from the data source of a runbook, once. People who come to the source or leave it during the
// migration are not seen.
func (r *rehearsal) readSource(ctx context.Context, ends map[string]*end) (*simulate.Rows, error) {
	reader, rb := r.Sources, r.rb
	if rb.DataSource.Type == runbook.SourceGraph {
		e := copyOf(rb.DataSource.Connection, ends)
		reader = &datasource.Reader{
			Sources:  map[string]datasource.Open{runbook.SourceGraph: graph.Local(e.url, e.token)},
			Settings: []string{rb.DataSource.Connection}, Getenv: func(string) string { return "the copy of " + e.name },
		}
	}
	r.tell("read the members from %s", sourceName(rb, ends))
	all := &simulate.Rows{}
	err := reader.Read(ctx, rb, func(columns []string) error {
		all.Columns = slices.Clone(columns)
		return nil
	}, func(values []json.RawMessage) error {
		row := make([]json.RawMessage, len(values))
		for i, v := range values {
			row[i] = slices.Clone(v)
		}
		all.Values = append(all.Values, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(all.Values) == 0 {
		return nil, fmt.Errorf("%s has no members for the runbook: correct its data_source, or give --members", sourceName(rb, ends))
	}
	return all, nil
}

// copyOf is the copy of the tenant in which the app registration of a connection reads: SOURCE_GRAPH is of the tenant source, as in
// matoolkit local up. For another name it is the source, or the only tenant.
func copyOf(connection string, ends map[string]*end) *end {
	name := strings.ReplaceAll(strings.ToLower(strings.TrimSuffix(strings.ToUpper(connection), "_GRAPH")), "_", "-")
	if e := cmp.Or(ends[name], ends["source"]); e != nil {
		return e
	}
	for _, e := range ends { // there is one
		return e
	}
	return nil
}

func sourceName(rb *runbook.Runbook, ends map[string]*end) string {
	if rb.DataSource.Type == runbook.SourceGraph {
		return "the copy of the tenant " + copyOf(rb.DataSource.Connection, ends).name
	}
	return "the data source " + rb.DataSource.Connection
}

// sourceNote says in a report where the members came from.
func (r *rehearsal) sourceNote() string {
	members := count(len(r.rows.Values), "member")
	if r.rb.DataSource.Type == runbook.SourceGraph {
		return fmt.Sprintf("the %s came from the copy of their tenant, read once at the beginning", members)
	}
	return fmt.Sprintf("the %s came from the query of %s, sent once at the beginning: that request left this machine", members, r.rb.DataSource.Connection)
}
