package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/pgconnect/pgtest"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// identity is a credential whose tokens name the scope that they are for.
type identity struct{}

func (identity) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "token for " + strings.Join(o.Scopes, " "), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// refusing is a credential that gives no token.
type refusing struct{}

func (refusing) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, errors.New("not today")
}

// openAt opens a source; the name of Azure leads to address.
func openAt(t *testing.T, address, connection, query string) *source {
	t.Helper()
	s := testenv.Must(open(datasource.Spec{Connection: connection, Query: query, Credential: identity{}}))(t)
	s.dial = func(ctx context.Context, network, to string) (net.Conn, error) {
		if to != address && to != pgtest.AzureHost+":5432" {
			return nil, fmt.Errorf("nobody was to connect to %s", to)
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	return s
}

// all reads a result to its end.
func all(t *testing.T, source datasource.Source) ([]string, [][]string, error) {
	t.Helper()
	rows, err := source.Query(t.Context())
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	var out [][]string
	for {
		values, err := rows.Next(t.Context())
		if err == io.EOF {
			return rows.Columns(), out, nil
		}
		if err != nil {
			if _, again := rows.Next(t.Context()); again == nil || again == io.EOF {
				t.Errorf("after %v: %v", err, again)
			}
			return rows.Columns(), out, err
		}
		var row []string
		for _, v := range values {
			if !json.Valid(v) {
				t.Errorf("no JSON: %q", v)
			}
			row = append(row, string(v))
		}
		out = append(out, row)
	}
}

func TestSourcesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, r := range []struct{ connection, query, want string }{
		{"postgres://reader@" + pgtest.AzureHost + "/people", "SELECT 1", "the handler has none"},
		{"postgres://reader:hunter2@pg.contoso.com/people?sslmode=disable", "SELECT 1", "the connection is always encrypted"},
		{"postgres://reader@localhost/people", "DELETE FROM people", "data_source.query: "},
	} {
		_, err := Open(datasource.Spec{Connection: r.connection, Query: r.query})
		if err == nil || !strings.Contains(err.Error(), r.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v; want %s", r.connection, err, r.want)
		}
	}
}
