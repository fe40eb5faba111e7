package graph_test

import (
	"strings"
	"testing"

	"github.com/microsoft/kiota-abstractions-go/serialization"
	"github.com/microsoftgraph/msgraph-sdk-go/models"
	"github.com/microsoftgraph/msgraph-sdk-go/users"

	"github.com/matoolkit/matoolkit/worker/calls"
)

// resources are the SDK's models of request bodies, by request or by property name. The
// SDK is generated from Graph's published metadata, so a property unknown to it does
// not exist in Graph.
var resources = map[string]serialization.Parsable{
	"POST /v1.0/users":                        models.NewUser(),
	"PATCH /v1.0/users/{id}":                  models.NewUser(),
	"POST /v1.0/invitations":                  models.NewInvitation(),
	"POST /v1.0/groups/{id}/members/$ref":     models.NewReferenceCreate(),
	"POST /v1.0/users/{id}/sendMail":          users.NewItemSendMailPostRequestBody(),
	"POST /v1.0/users/{id}/checkMemberGroups": users.NewItemCheckMemberGroupsPostRequestBody(),
	"PUT /v1.0/users/{id}/manager/$ref":       models.NewReferenceUpdate(),
	"POST /v1.0/users/{id}/assignLicense":     users.NewItemAssignLicensePostRequestBody(),
	"addLicenses":                             models.NewAssignedLicense(),
	"passwordProfile":                         models.NewPasswordProfile(),
	"onPremisesExtensionAttributes":           models.NewOnPremisesExtensionAttributes(),
	"invitedUser":                             models.NewUser(),
	"Message":                                 models.NewMessage(),
	"body":                                    models.NewItemBody(),
	"toRecipients":                            models.NewRecipient(),
	"emailAddress":                            models.NewEmailAddress(),
	"internetMessageHeaders":                  models.NewInternetMessageHeader(),
	"GET /v1.0/users":                         models.NewUser(),
	"GET /v1.0/groups/{id}/members":           models.NewUser(),
	"POST /v1.0/groups":                       models.NewGroup(),
	"GET /v1.0/groups/{id}/owners":            models.NewUser(),
	"POST /v1.0/groups/{id}/owners/$ref":      models.NewReferenceCreate(),
	"GET /v1.0/groups":                        models.NewGroup(),
	"GET /v1.0/domains/{id}":                  models.NewDomain(),
	"GET /v1.0/subscribedSkus":                models.NewSubscribedSku(),
	"POST /v1.0/users/{id}/authentication/temporaryAccessPassMethods": models.NewTemporaryAccessPassAuthenticationMethod(),
	"GET /v1.0/users/{id}/drive":                                      models.NewDrive(),
	"POST /v1.0/teams/{id}/members":                                   models.NewAadUserConversationMember(),
	"PATCH /v1.0/teams/{id}/members/{id}":                             models.NewAadUserConversationMember(),
	"GET /v1.0/identity/conditionalAccess/policies":                   models.NewConditionalAccessPolicy(),
}

func TestWhatIsDescribedIsInGraphsMetadata(t *testing.T) {
	t.Parallel()
	for _, g := range calls.Described() {
		if strings.Contains(g.Request, "/beta/") {
			continue // not in the SDK
		}
		if strings.Contains(g.Request, "/solutions/migrations/") {
			continue // newer than the SDK
		}
		if g.Body != nil {
			holds(t, g.Request, g.Request, g.Body)
		}
		selected, _ := g.Query["$select"].([]any)
		for _, name := range selected {
			if _, known := resources[g.Request].GetFieldDeserializers()[name.(string)]; !known {
				t.Errorf("%s: there is no property %s", g.Request, name)
			}
		}
	}
}

// holds compares the properties of an object, and of those inside of it, with the model
// of that name.
func holds(t *testing.T, at, resource string, described map[string]any) {
	t.Helper()
	model, known := resources[resource]
	if !known {
		t.Errorf("%s: there is no model for %s", at, resource)
		return
	}
	for key, value := range described {
		name := strings.TrimSuffix(strings.TrimSuffix(key, "!"), "@odata.bind") // binds an object to the property
		if _, known := model.GetFieldDeserializers()[name]; !known {
			t.Errorf("%s: there is no property %s", at, name)
		}
		if list, ok := value.([]any); ok {
			value = list[0]
		}
		if object, ok := value.(map[string]any); ok {
			holds(t, at+"."+name, name, object)
		}
	}
}
