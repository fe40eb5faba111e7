package runbook

import (
	"strings"
	"testing"
	"time"
)

func TestQueriedSources(t *testing.T) {
	t.Parallel()
	with := func(source string) string {
		return strings.Replace(smallest, "{type: csv, primary_key: Mail}", "{primary_key: Mail, "+source+"}", 1)
	}
	const column = "batch_time_column: Start"
	for source, want := range map[string]DataSource{
		"type: csv":                                                 {},
		"type: csv, connection: C, " + column:                       {Timeout: DefaultQueryTimeout, RemovalGuard: DefaultRemovalGuard},
		"type: csv, connection: C, batch_time: immediate":           {Timeout: DefaultQueryTimeout, RemovalGuard: DefaultRemovalGuard},
		"type: sql, connection: C, query: q, " + column:             {Timeout: DefaultQueryTimeout, RemovalGuard: DefaultRemovalGuard},
		"type: sql, connection: C, query: q, timeout: 1s," + column: {Timeout: time.Second, RemovalGuard: DefaultRemovalGuard},
		"type: dataverse, connection: C, query: q, timeout: 8m, removal_guard: 100%, " + column: {
			Timeout: MaxQueryTimeout, RemovalGuard: 100,
		},
		"type: databricks, connection: C, warehouse_id: W, query: q, timeout: 480s, removal_guard: 0.5%, batch_time_column: Start": {
			Timeout: MaxQueryTimeout, RemovalGuard: 0.5,
		},
	} {
		rb, found := Parse([]byte(with(source)))
		if len(found) > 0 {
			t.Errorf("%s: %v", source, found)
			continue
		}
		got := rb.DataSource
		if got.Timeout != want.Timeout || got.RemovalGuard != want.RemovalGuard || got.Queried() != (want.Timeout > 0) {
			t.Errorf("%s: queried %v, within %v, guard %v", source, got.Queried(), got.Timeout, got.RemovalGuard)
		}
	}
}

// A csv that is fetched needs what every source that is queried needs, but a query.
func TestFetchedCSV(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"connection: PEOPLE_CSV": `"batch_time_column" or "batch_time" is missing`,
		"connection: PEOPLE_CSV, batch_time: immediate, warehouse_id: W":   "is only for databricks",
		"connection: people.csv, batch_time: immediate":                    "must be the name of an environment variable",
		"connection: https://x/y.csv, batch_time: immediate":               "looks like a connection string",
		"connection: PEOPLE_CSV, batch_time: immediate, time_zone: UTC":    "is only for the times of a batch_time_column",
		"connection: PEOPLE_CSV, batch_time: immediate, query: people.csv": "is not asked for",
	} {
		_, found := Parse([]byte(strings.Replace(smallest, "type: csv,", "type: csv, "+source+",", 1)))
		if len(found) != 1 || !strings.Contains(found[0].Message, want) {
			t.Errorf("%s: %v", source, found)
		}
	}
}
