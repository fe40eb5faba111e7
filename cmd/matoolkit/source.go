package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/csvfile"
	"github.com/matoolkit/matoolkit/internal/datasource/database"
	"github.com/matoolkit/matoolkit/internal/datasource/databricks"
	"github.com/matoolkit/matoolkit/internal/datasource/postgres"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// sources reads the data source of a runbook as the handler does. It is nil where no request leaves this machine: without
// --from-source, and for people in a copy of a tenant. Without --allow-query it refuses any other data source.
func (f *rehearseFlags) sources(text []byte) (*datasource.Reader, error) {
	rb, found := runbook.Parse(text)
	switch {
	case !f.fromSource && f.allowQuery:
		return nil, exit.Usage(errors.New("--allow-query is for --from-source"))
	case !f.fromSource || found.HasErrors(): // of which the rehearsal tells
		return nil, nil
	case !rb.DataSource.Queried():
		return nil, exit.Usage(fmt.Errorf("--from-source: the members of %s are uploaded, not read from a data source: give --members", rb.Name))
	case rb.DataSource.Type == runbook.SourceGraph:
		return nil, nil
	case !f.allowQuery:
		return nil, exit.Usage(fmt.Errorf("--from-source: the query of %s would be sent to the data source %s (%s), and a rehearsal sends nothing from this machine: allow it with --allow-query, or give its result with --members",
			rb.Name, rb.DataSource.Connection, rb.DataSource.Type))
	}
	identity, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, fmt.Errorf("the identity for the data source: %w", err)
	}
	settings := slices.DeleteFunc([]string{rb.DataSource.Connection, rb.DataSource.WarehouseID}, func(name string) bool { return name == "" })
	return &datasource.Reader{
		Sources: map[string]datasource.Open{
			runbook.SourceDataverse:  database.OpenDataverse,
			runbook.SourceDatabricks: databricks.Open,
			runbook.SourceSQL:        database.OpenSQL,
			runbook.SourcePostgres:   postgres.Open,
			runbook.SourceCSV:        csvfile.Open,
		},
		Settings: settings, Credential: identity,
	}, nil
}
