// Package graph is the data source `graph`: people whom Microsoft 365 keeps. They are the members of groups, the users
// that a filter selects, the items of a SharePoint list, or the rows of an Excel file in a library.
//
// It reads Microsoft Graph v1.0 over HTTP with an app registration that may only read. A result is whole or an error:
// a group that does not exist is an error and not a group without members, and so is a page that ends early, since a
// person missing from the result would be removed from a batch.
//
// The contract is the reference of Microsoft Graph: group-list-members, user-list, listitem-list, driveitem-get-content
// and aad-advanced-queries.
package graph

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// tuning has the values that tests make smaller.
type tuning struct {
	page  int                 // objects that are requested at once
	retry policy.RetryOptions // of one request
}

// patient requests as many objects as Graph gives at once, and waits as long as Graph asks for: the query's time ends
// a wait that does not fit into it.
var patient = tuning{
	page: 999,
	retry: policy.RetryOptions{
		MaxRetries: 6, RetryDelay: time.Second, MaxRetryDelay: runbook.MaxQueryTimeout, TryTimeout: 2 * time.Minute,
	},
}

type source struct {
	client *client
	people *runbook.Graph
}

// Open makes a source of the people that spec.Graph names. The connection is
// "TenantId=…;ClientId=…;ClientSecret=…": the app registration that reads, in the tenant of the people. Without a
// secret, the app registration trusts this program's identity by a federated credential. Endpoint is the Graph of
// another cloud, such as https://graph.microsoft.us. It is a [datasource.Open].
func Open(spec datasource.Spec) (datasource.Source, error) { return open(spec, patient) }

// Local makes sources that read a Graph on this machine with a credential, whatever connection they are given: a rehearsal
// reads the people of a copy of the tenant.
func Local(endpoint string, credential azcore.TokenCredential) datasource.Open {
	return func(spec datasource.Spec) (datasource.Source, error) {
		if spec.Graph == nil {
			return nil, errors.New("the runbook names no people")
		}
		c, err := connection{}.at(endpoint)
		if err != nil {
			return nil, err
		}
		if !c.local {
			return nil, errors.New("the Graph is not on this machine")
		}
		return &source{client: newClient(c, credential, http.DefaultClient, patient), people: spec.Graph}, nil
	}
}

func open(spec datasource.Spec, t tuning) (datasource.Source, error) {
	if spec.Graph == nil {
		return nil, errors.New("the runbook names no people")
	}
	c, err := parseConnection(spec.Connection)
	if err != nil {
		return nil, err
	}
	if spec.HTTPClient == nil {
		spec.HTTPClient = http.DefaultClient
	}
	credential, err := c.credential(spec.Credential, spec.HTTPClient)
	if err != nil {
		return nil, err
	}
	return &source{client: newClient(c, credential, spec.HTTPClient, t), people: spec.Graph}, nil
}

// Query begins to read, up to the first page or the header.
func (s *source) Query(ctx context.Context) (datasource.Rows, error) {
	r := &rows{}
	r.ctx, r.stop = context.WithCancel(ctx)
	var err error
	switch people := s.people; {
	case people.Workbook != nil:
		err = s.queryWorkbook(r)
	case people.List != nil:
		err = s.queryList(r)
	case people.Users != "":
		err = s.queryUsers(r)
	default:
		err = s.queryGroups(r)
	}
	if err != nil {
		r.stop()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	return datasource.NewCursor(r.columns, r.read, r.stop, func(bool) {
		if r.close != nil {
			r.close()
		}
	}), nil
}

// names are the columns of a runbook's mapping.
func (s *source) names() []string {
	names := make([]string, len(s.people.Columns))
	for i, c := range s.people.Columns {
		names[i] = c.Name
	}
	return names
}

// rows is a result that is being read.
type rows struct {
	ctx     context.Context // of the query: the requests belong to it
	stop    context.CancelFunc
	columns []string
	next    func(context.Context) ([]json.RawMessage, error)
	close   func() // nil: nothing is to be closed
}

func (r *rows) read(ctx context.Context) ([]json.RawMessage, error) {
	values, err := r.next(r.ctx)
	// An end that was seen after the time was over is not the end of the result.
	if ended := errors.Join(ctx.Err(), r.ctx.Err()); ended != nil {
		return nil, ended
	}
	return values, err
}
