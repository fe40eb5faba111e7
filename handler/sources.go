package main

import (
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/csvfile"
	"github.com/matoolkit/matoolkit/internal/datasource/database"
	"github.com/matoolkit/matoolkit/internal/datasource/databricks"
	"github.com/matoolkit/matoolkit/internal/datasource/graph"
	"github.com/matoolkit/matoolkit/internal/datasource/postgres"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// maxSourceRow bounds a row of a data source, in bytes. Below it, a row that is too long for a member is
// that row's fault alone.
const maxSourceRow = 1 << 20

// sources reads every kind of data source that a runbook can have. The connections
// are app settings, whose names the runbooks give: settings are those that they may name.
func sources(settings []string, identity azcore.TokenCredential, client *http.Client) *datasource.Reader {
	return &datasource.Reader{
		Sources: map[string]datasource.Open{
			runbook.SourceDataverse:  database.OpenDataverse,
			runbook.SourceDatabricks: databricks.Open,
			runbook.SourceSQL:        database.OpenSQL,
			runbook.SourcePostgres:   postgres.Open,
			runbook.SourceCSV:        csvfile.Open,
			runbook.SourceGraph:      graph.Open,
		},
		Settings:   settings,
		Credential: identity,
		HTTPClient: client,
		Limits:     datasource.Limits{RowBytes: maxSourceRow},
	}
}
