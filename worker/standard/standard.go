// Package standard puts the functions together that the worker ships with. It knows which packages have
// functions, and not what these do.
package standard

import (
	"slices"

	"github.com/matoolkit/matoolkit/worker/access"
	"github.com/matoolkit/matoolkit/worker/authentication"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/groups"
	"github.com/matoolkit/matoolkit/worker/migration"
	"github.com/matoolkit/matoolkit/worker/notify"
	"github.com/matoolkit/matoolkit/worker/sharepoint"
	"github.com/matoolkit/matoolkit/worker/teams"
)

// Functions is the catalogue of a worker: all standard functions over its clients, and its own extra ones. passwordKey is that of
// authentication.Config, noOp adds No-Op, which does nothing.
func Functions(people notify.Config, passwordKey []byte, x *exchange.Client, noOp bool, extra ...catalog.Function) (*catalog.Catalog, error) {
	g := people.Graph
	functions := slices.Concat(
		g.Functions(), x.Functions(), sharepoint.Functions(g), migration.Functions(g), authentication.Functions(authentication.Config{Graph: g, PasswordKey: passwordKey}), teams.Functions(g), groups.Functions(g), access.Functions(g), notify.Functions(people), extra,
	)
	if noOp {
		functions = append(functions, catalog.NoOp)
	}
	return catalog.New(functions...)
}
