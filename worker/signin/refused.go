package signin

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// RefusedError tells that Entra ID gave no token, and what to do about it. It wraps the
// *azidentity.AuthenticationFailedError, whose text is long.
type RefusedError struct {
	Code    int    // of AADSTS; 0 when there was none in the answer
	Message string // what to do, and what Entra ID said
	err     error
}

func (e *RefusedError) Error() string { return e.Message }
func (e *RefusedError) Unwrap() error { return e.err }

// NonRetriable keeps the SDKs from asking again.
func (e *RefusedError) NonRetriable() {}

// advice says what to do about the codes of
// https://learn.microsoft.com/entra/identity-platform/reference-error-codes that have to
// do with an application's own sign-in.
var advice = map[int]string{
	90002:   "unknown tenant: check TARGET_TENANT_ID",
	900023:  "unknown tenant: check TARGET_TENANT_ID",
	900021:  "unknown tenant: check TARGET_TENANT_ID",
	700016:  "unknown app: check that APP_ID and TARGET_TENANT_ID belong together, and that an administrator consented to the app there",
	7000215: "wrong client secret: use the secret's value, not its id",
	7000222: "the client secret has expired: create a new one at the app registration and store it where the worker reads it",
	700027:  "the certificate is unknown or not valid: upload its public part to the app registration",
	700030:  "the certificate is not valid for the app registration: upload its public part",
	1000502: "the certificate is not within its validity period: add a new version to Key Vault and to the app registration",
	700024:  "the worker's clock is wrong: set it",
	7000112: "the app is disabled in the tenant: enable its enterprise application",
	7000229: "the app has no service principal in the tenant: ask an administrator to consent to the app",
	500011:  "the tenant does not have this service: check the URLs of the cloud, and that the tenant has the service",
	53003:   "a conditional access policy for workload identities blocks the app",
	65001:   "consent is missing: ask an administrator of the tenant to consent to the app's permissions",
}

// secretRefused tells whether another secret may help.
func secretRefused(err error) bool {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Code {
	case 7000215, 7000222, 700027, 700030, 1000502:
		return true
	}
	return false
}

// explain makes a short error of an SDK's. Where no answer came, it is as it was.
func (c *Credential) explain(err error) error {
	var failed *azidentity.AuthenticationFailedError
	if !errors.As(err, &failed) || failed.RawResponse == nil {
		return err
	}
	var answer struct {
		Error       string `json:"error"`
		Codes       []int  `json:"error_codes"`
		Description string `json:"error_description"`
	}
	if body, bodyErr := runtime.Payload(failed.RawResponse); bodyErr == nil {
		_ = json.Unmarshal(body, &answer) // else the status has to do
	}
	refused := &RefusedError{err: err}
	if len(answer.Codes) > 0 {
		refused.Code = answer.Codes[0]
	}
	said, _, _ := strings.Cut(answer.Description, "\n")
	said, _, _ = strings.Cut(said, " Trace ID:")
	if said == "" {
		said = strings.TrimSpace(failed.RawResponse.Status + " " + answer.Error)
	}
	help := advice[refused.Code]
	if help == "" {
		help = "look up the code"
	}
	refused.Message = fmt.Sprintf("Entra ID refuses the app %s in tenant %s: %s (%s)", c.config.AppID, c.config.TenantID, help, strings.TrimSpace(said))
	return refused
}
