package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// The application permissions of the kinds of people.
const (
	needsGroups = "GroupMember.Read.All and User.Read.All"
	needsUsers  = "User.Read.All"
	needsSite   = "Sites.Selected, with a grant of the role read on this site, or Sites.Read.All"
)

// longestMessage is how many characters of a message of Graph are passed on.
const longestMessage = 600

// unreachable is the error of a request that got no answer. It quotes no address: that of a file has a signature.
func (c *client) unreachable(ctx context.Context, r request, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var sign *signInError
	if errors.As(err, &sign) {
		return signInRefused(sign.err)
	}
	if errors.Is(err, errTooLarge) {
		return fmt.Errorf("%s: %w", r.what, err)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return datasource.Away(fmt.Errorf("%s: Graph does not answer: %w", r.what, err))
}

// signInRefused is the error of a sign-in. A refusal of Entra ID stays until an administrator changes the app
// registration or the connection; an Entra ID that does not answer is away.
func signInRefused(err error) error {
	const what = "the app registration of the connection gets no token"
	var refused *azidentity.AuthenticationFailedError
	if errors.As(err, &refused) && refused.RawResponse != nil && refused.RawResponse.StatusCode < 500 && refused.RawResponse.StatusCode != http.StatusTooManyRequests {
		return fmt.Errorf("%s; check TenantId, ClientId, and ClientSecret or the federated credential: %s", what, clip(firstLines(err.Error())))
	}
	return datasource.Away(fmt.Errorf("%s: %s", what, clip(firstLines(err.Error()))))
}

// firstLines are the lines with the reason, without the rules that azidentity draws and without its advice.
func firstLines(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "To troubleshoot") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, " ")
}

// fault is the error in an answer of Graph.
type fault struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// refusal is the error of an answer that is not 200.
func (c *client) refusal(r request, resp *http.Response, body []byte) error {
	var f fault
	_ = json.Unmarshal(body, &f) // what is not JSON has no code
	text := fmt.Sprintf("%s: Graph answered %d", r.what, resp.StatusCode)
	if f.Error.Code != "" {
		text += " " + clip(f.Error.Code)
	}
	if f.Error.Message != "" {
		text += ": " + clip(f.Error.Message)
	}
	if advice := c.advice(r, resp, f.Error.Code); advice != "" {
		text = strings.TrimSuffix(text, ".") + ". " + advice
	}
	err := errors.New(text)
	status := resp.StatusCode
	if status == http.StatusTooManyRequests || status >= 500 || r.further && lapsed(status, f.Error.Code) {
		return datasource.AwayAs(resp, err)
	}
	return err
}

// lapsed tells whether a token or a link has expired while pages were read. The pages before cannot be taken back, so
// the next query begins with the first.
func lapsed(status int, code string) bool {
	return status == http.StatusUnauthorized || status == http.StatusGone || code == "Directory_ExpiredPageToken" || code == "resyncRequired"
}

// advice says what to do about an answer; it may be empty.
func (c *client) advice(r request, resp *http.Response, code string) string {
	switch status := resp.StatusCode; {
	case r.further && lapsed(status, code):
		return "The token or the list has expired between two pages; the next query begins again"
	case status == http.StatusForbidden:
		return "The app registration of the connection needs the application permission " + r.needs + ", with admin consent in this tenant"
	case status == http.StatusUnauthorized:
		return "Graph does not accept the token of the app registration: check that TenantId is the tenant of the people and that Endpoint is its cloud"
	case status == http.StatusNotFound:
		return "It does not exist in this tenant, or was created minutes ago"
	case code == "Request_UnsupportedQuery" || code == "BadRequest" || code == "invalidRequest":
		return "Check data_source of the runbook: its filter and its columns"
	case status == http.StatusTooManyRequests:
		return "Graph has too many requests; the next query tries again"
	case status >= 300 && status < 400:
		return "Graph redirects the request, which is not expected"
	}
	return ""
}

// clip is a text of a service in one line, shortened for display.
func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > longestMessage {
		return string(r[:longestMessage]) + "…"
	}
	return text
}
