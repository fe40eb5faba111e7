package runbooks

import (
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
)

// codeUnlistedSetting is the code of the errors that unlistedSettings finds.
const codeUnlistedSetting = "unlisted-setting"

// unlistedSettings finds the settings in the data source of a runbook, parsed from text
// without errors, that this deployment does not let runbooks name.
func (rs *Publisher) unlistedSettings(text []byte, rb *runbook.Runbook) runbook.Diagnostics {
	var found runbook.Diagnostics
	for _, s := range []struct{ field, name string }{
		{"connection", rb.DataSource.Connection}, {"warehouse_id", rb.DataSource.WarehouseID},
	} {
		if s.name == "" {
			continue
		}
		err := rs.sources.CheckSetting(s.name)
		if err == nil {
			continue
		}
		path := []any{"data_source", s.field}
		d := runbook.Diagnostic{Severity: runbook.SeverityError, Code: codeUnlistedSetting, Message: err.Error(), Path: runbook.PathText(path)}
		d.Line, d.Column = lint.Position(text, path)
		found = append(found, d)
	}
	return found
}
