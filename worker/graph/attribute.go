package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	abstractions "github.com/microsoft/kiota-abstractions-go"
	"github.com/microsoftgraph/msgraph-sdk-go/models/odataerrors"
	"github.com/microsoftgraph/msgraph-sdk-go/users"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// AttributeResult is the result of Test-EntraAttributeMatch.
type AttributeResult struct {
	Complete bool          `json:"complete"`
	Reason   string        `json:"reason,omitempty"` // why it is not complete
	Data     AttributeData `json:"data"`
}

// AttributeData tells of one attribute of one user. ActualValue is as the tenant
// has it.
type AttributeData struct {
	UserID        string   `json:"UserId"`
	AttributeName string   `json:"AttributeName"`
	Match         bool     `json:"Match"`
	ExpectedValue []string `json:"ExpectedValue"` // empty: the attribute is empty
	ActualValue   any      `json:"ActualValue"`
}

// graphErrors has the SDK read error bodies of requests that it has no call for.
var graphErrors = abstractions.ErrorMappings{"XXX": odataerrors.CreateODataErrorFromDiscriminatorValue}

func (c *Client) testAttribute(ctx context.Context, p catalog.Params) (any, error) {
	id, path := p.String("UserId"), strings.Split(p.String("AttributeName"), ".")
	var user map[string]any
	err := c.do(ctx, c.paces.reads, func(ctx context.Context) error {
		request, err := c.graph.Users().ByUserId(id).ToGetRequestInformation(ctx, &users.UserItemRequestBuilderGetRequestConfiguration{
			QueryParameters: &users.UserItemRequestBuilderGetQueryParameters{Select: []string{"id", path[0]}},
		})
		if err != nil {
			return err
		}
		// Read as plain JSON: the SDK's model has another method for each attribute.
		body, err := c.graph.SendPrimitive(ctx, request, "[]byte", graphErrors)
		if err != nil {
			return err
		}
		raw, ok := body.([]byte)
		if !ok {
			return fmt.Errorf("unexpected answer %T", body)
		}
		user = nil
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		return dec.Decode(&user)
	})
	if err != nil {
		return nil, err
	}
	var actual any = user
	for _, name := range path {
		object, _ := actual.(map[string]any)
		actual = object[name]
	}
	reason := catalog.Mismatch(p.String("AttributeName"), p.List("ExpectedValue"), actual)
	return AttributeResult{Complete: reason == "", Reason: reason, Data: AttributeData{
		UserID: id, AttributeName: p.String("AttributeName"), Match: reason == "", ExpectedValue: p.List("ExpectedValue"), ActualValue: actual,
	}}, nil
}
