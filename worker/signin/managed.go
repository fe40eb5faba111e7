package signin

import (
	"context"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// ManagedIdentity is the worker's identity in Azure, for Key Vault and Service Bus: the
// user-assigned one with this client id, or the system-assigned one for "". It is found
// by the variables that the platform sets (IDENTITY_ENDPOINT, IDENTITY_HEADER).
func ManagedIdentity(clientID string, web *http.Client) (azcore.TokenCredential, error) {
	options := &azidentity.ManagedIdentityCredentialOptions{}
	if web != nil {
		options.Transport = web
	}
	if clientID != "" {
		options.ID = azidentity.ClientID(clientID)
	}
	return azidentity.NewManagedIdentityCredential(options)
}

// identified marks the errors of an identity, to distinguish them from errors of the
// resource.
type identified struct{ azcore.TokenCredential }

type identityError struct{ err error }

func (e *identityError) Error() string { return e.err.Error() }
func (e *identityError) Unwrap() error { return e.err }

// NonRetriable keeps the SDK from asking again: the credential did.
func (e *identityError) NonRetriable() {}

func (i identified) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := i.TokenCredential.GetToken(ctx, options)
	if err != nil {
		return token, &identityError{err}
	}
	return token, nil
}
