package graph

import (
	"context"
	"fmt"
	"strings"

	abstractions "github.com/microsoft/kiota-abstractions-go"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// maxExtensionAttribute is how many characters Graph takes in one of the extension attributes.
const maxExtensionAttribute = 1024

// setAttributes writes without reading first, like setUPN.
func (c *Client) setAttributes(ctx context.Context, p catalog.Params) (any, error) {
	change, err := attributesFrom(p)
	if err != nil {
		return nil, err
	}
	if err := c.send(ctx, c.paces.writes, abstractions.PATCH, "/v1.0/users/"+p.String("UserId"), change); err != nil {
		return nil, err
	}
	return true, nil
}

// attributesFrom is the body of a change. Graph clears attributes that are null in it.
func attributesFrom(p catalog.Params) (map[string]any, error) {
	change, extensions := map[string]any{}, map[string]any{}
	put := func(a catalog.UserAttribute, value any) {
		if name, ok := strings.CutPrefix(a.Graph, "."); ok {
			extensions[name] = value
			return
		}
		change[a.Graph] = value
	}
	for _, a := range catalog.UserAttributes() {
		if !p.Has(a.Param) {
			continue
		}
		if strings.HasPrefix(a.Graph, ".") && len([]rune(p.String(a.Param))) > maxExtensionAttribute {
			return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: fmt.Sprintf("%s has more than %d characters", a.Param, maxExtensionAttribute)}
		}
		put(a, p[a.Param])
	}
	for _, name := range p.List("ClearAttributes") {
		a, known := catalog.FindUserAttribute(name)
		switch {
		case !known:
			return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: fmt.Sprintf("ClearAttributes names %q, which is not the parameter of an attribute", name)}
		case p.Has(a.Param):
			return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "ClearAttributes names " + a.Param + ", which is also given"}
		case a.Graph == "displayName":
			return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "ClearAttributes names DisplayName, which Graph does not let be empty"}
		case a.Type == catalog.StringList:
			put(a, []string{})
		default:
			put(a, nil)
		}
	}
	if len(extensions) > 0 {
		change["onPremisesExtensionAttributes"] = extensions
	}
	if len(change) == 0 {
		return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: "no attribute is given: give at least one"}
	}
	return change, nil
}

// setManager writes without reading first, like setUPN.
func (c *Client) setManager(ctx context.Context, p catalog.Params) (any, error) {
	body := map[string]string{"@odata.id": c.url + "/v1.0/users/" + p.String("ManagerId")}
	if err := c.send(ctx, c.paces.writes, abstractions.PUT, "/v1.0/users/"+p.String("UserId")+"/manager/$ref", body); err != nil {
		return nil, err
	}
	return true, nil
}

func (c *Client) revokeSessions(ctx context.Context, p catalog.Params) (any, error) {
	if err := c.send(ctx, c.paces.writes, abstractions.POST, "/v1.0/users/"+p.String("UserId")+"/revokeSignInSessions", nil); err != nil {
		return nil, err
	}
	return true, nil
}
