package databricks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// longestMessage is how many characters of a message of the service are passed on.
const longestMessage = 600

// unreachableError is the error of a request that got no answer. It names neither the
// workspace nor a link: what net/http adds of the address is left out.
func (c *client) unreachableError(ctx context.Context, server string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var sign *signInError
	if errors.As(err, &sign) {
		return datasource.Away(errors.New(c.clean(sign.Error())))
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return datasource.Away(fmt.Errorf("%s does not answer: %s", server, c.clean(err.Error())))
}

// clean returns a text of the service without secrets, shortened for display.
func (c *client) clean(text string) string {
	text = strings.Join(strings.Fields(c.hide.Replace(text)), " ")
	if r := []rune(text); len(r) > longestMessage {
		return string(r[:longestMessage]) + "…"
	}
	return text
}

// serviceError is an error of the workspace's APIs and of a statement's status. The
// code is a name, or a number for some unauthenticated requests.
type serviceError struct {
	Code    any    `json:"error_code"`
	Message string `json:"message"`
}

// refusalError is the error of an answer that is not 200.
func (c *client) refusalError(resp *http.Response, body []byte) error {
	var said serviceError
	text := ""
	if json.Unmarshal(body, &said) == nil {
		text = c.explain(said)
	}
	err := fmt.Errorf("the workspace answered %d%s%s", resp.StatusCode, text, advice[resp.StatusCode])
	if busy(resp.StatusCode) {
		return datasource.AwayAs(resp, err)
	}
	return err
}

// busy tells whether a status says that the same request may be answered later.
func busy(status int) bool { return status == http.StatusTooManyRequests || status >= 500 }

// explain is ": CODE: message", or nothing.
func (c *client) explain(e serviceError) (text string) {
	if e.Code != nil && e.Code != "" {
		text += fmt.Sprintf(": %v", e.Code)
	}
	if e.Message != "" {
		text += ": " + c.clean(e.Message)
	}
	return text
}

// advice says what to do about a status.
var advice = map[int]string{
	http.StatusMovedPermanently: ". The address is not the API of a workspace: something in front of it redirects",
	http.StatusFound:            ". The address is not the API of a workspace: something in front of it redirects, to a sign-in perhaps",
	http.StatusUnauthorized:     ". The workspace does not know this identity: add it to the workspace as a service principal, and check that both belong to one tenant",
	http.StatusForbidden:        ". This identity lacks a right: it needs Databricks SQL access in the workspace and CAN USE on the SQL warehouse, and the workspace's IP access list must allow its address",
	http.StatusNotFound:         ". The address of the workspace or the ID of the SQL warehouse is wrong",
	http.StatusTooManyRequests:  ". The workspace gets too many requests; the next run tries again",
}

// failureError is the error of a statement that ended without a result.
func (c *client) failureError(st status) error {
	text := c.explain(st.Error)
	switch st.State {
	case "FAILED":
		if st.SQLState != "" {
			text += " (SQLSTATE " + c.clean(st.SQLState) + ")"
		}
		// SQLSTATE 42501: the privilege is missing.
		if st.SQLState == "42501" || strings.Contains(st.Error.Message, "INSUFFICIENT_PERMISSIONS") {
			text += ". This identity needs SELECT on the tables of the query, and USE CATALOG and USE SCHEMA on their catalog and schema"
		}
		return fmt.Errorf("the statement failed%s", text)
	case "CANCELED":
		return fmt.Errorf("the statement was cancelled in the workspace%s", text)
	case "CLOSED":
		return fmt.Errorf("the result of the statement is gone: the workspace closed it%s", text)
	default:
		return fmt.Errorf("the statement has the unknown state %q%s", c.clean(st.State), text)
	}
}
