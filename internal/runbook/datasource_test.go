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

func TestAdditionGuard(t *testing.T) {
	t.Parallel()
	for guard, want := range map[string]AdditionGuard{
		"":                            {20, 100},
		"addition_guard: {share: 5%}": {5, 100},
		"addition_guard: {number: 1}": {20, 1},
		"addition_guard: {share: 0.5%, number: 1000000}": {0.5, 1_000_000},
	} {
		rb, found := Parse([]byte(strings.Replace(smallest, "type: csv,", "type: csv, connection: C, batch_time: immediate, "+guard+",", 1)))
		if guard == "" {
			rb, found = Parse([]byte(strings.Replace(smallest, "type: csv,", "type: csv, connection: C, batch_time: immediate,", 1)))
		}
		if len(found) > 0 || rb.DataSource.AdditionGuard != want {
			t.Errorf("%s: %v %v", guard, rb.DataSource.AdditionGuard, found)
		}
	}
	for guard, want := range map[string]string{
		"20%":               "data_source.addition_guard: must be a mapping",
		"{}":                `data_source.addition_guard: "share" or "number" is missing`,
		"{share: 0%}":       "data_source.addition_guard.share: \"0%\" is invalid",
		"{share: 20}":       "data_source.addition_guard.share: must be a percentage",
		"{number: 0}":       "data_source.addition_guard.number: must be a whole number from 1 to 1000000",
		"{number: 1000001}": "data_source.addition_guard.number: must be a whole number from 1 to 1000000",
		"{count: 5}":        "data_source.addition_guard.count: unknown field",
	} {
		_, found := Parse([]byte(strings.Replace(smallest, "type: csv,", "type: csv, connection: C, batch_time: immediate, addition_guard: "+guard+",", 1)))
		if len(found) == 0 || !strings.Contains(found[0].String(), want) {
			t.Errorf("%s: %v", guard, found)
		}
	}
	_, found := Parse([]byte(strings.Replace(smallest, "type: csv,", "type: csv, addition_guard: {number: 5},", 1)))
	if len(found) != 1 || !strings.Contains(found[0].Message, "is only for a source that is queried") {
		t.Errorf("uploaded: %v", found)
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
		"connection: PEOPLE_CSV, batch_time: immediate, query: people.csv": "has no effect",
	} {
		_, found := Parse([]byte(strings.Replace(smallest, "type: csv,", "type: csv, "+source+",", 1)))
		if len(found) != 1 || !strings.Contains(found[0].Message, want) {
			t.Errorf("%s: %v", source, found)
		}
	}
}
