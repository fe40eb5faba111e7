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
	90002:   "there is no such tenant: check TARGET_TENANT_ID",
	900023:  "there is no such tenant: check TARGET_TENANT_ID",
	900021:  "there is no such tenant: check TARGET_TENANT_ID",
	700016:  "the tenant does not know the app: check that APP_ID and TARGET_TENANT_ID belong together, and that the app was consented to there",
	7000215: "the client secret is wrong: it has to be the secret's value, not its id",
	7000222: "the client secret has expired: make a new one at the app registration and put it where the worker reads it",
	700027:  "the certificate is not registered with the app registration, or not valid: upload its public part there",
	700030:  "the certificate is not valid for the app registration: upload its public part there",
	1000502: "the certificate is not within its time: put a new version into Key Vault and register it with the app registration",
	700024:  "the clock of the worker is wrong",
	7000112: "the app is disabled in the tenant: enable its enterprise application",
	7000229: "the app has no service principal in the tenant: have an administrator consent to it",
	500011:  "the tenant has no such service: check the URLs of the cloud, and that the tenant has the service",
	53003:   "a conditional access policy for workload identities keeps the app out",
	65001:   "the app was not consented to: have an administrator of the tenant consent to its permissions",
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
		help = "see the code"
	}
	refused.Message = fmt.Sprintf("Entra ID refuses the app %s in tenant %s: %s (%s)", c.config.AppID, c.config.TenantID, help, strings.TrimSpace(said))
	return refused
}
