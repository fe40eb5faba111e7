package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/login"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// Execute runs a command made by NewRoot, prints its error and returns the exit status.
func Execute(ctx context.Context, root *cobra.Command) int {
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exit.OK
	}
	status, text, hint := describe(err)
	out := root.ErrOrStderr()
	var e *exit.Error
	if errors.As(err, &e) {
		for _, line := range e.Found {
			fmt.Fprintln(out, render.Printable(line))
		}
	}
	if text != "" {
		fmt.Fprintf(out, "matoolkit: %s\n", render.Printable(text))
	}
	if hint != "" {
		fmt.Fprintln(out, hint)
	}
	return status
}

// exclusive matches cobra's message for options that exclude each other. Cobra has no error
// type for it.
var exclusive = regexp.MustCompile(`^if any flags in the group .*; \[(.+)\] were all set$`)

// describe returns the exit status, the text and the hint of an error.
func describe(err error) (status int, text, hint string) {
	var e *exit.Error
	var failure *apiclient.Error
	switch {
	case errors.As(err, &e):
		return e.Status, e.Text, e.Hint
	case errors.Is(err, context.Canceled):
		return exit.Interrupted, "interrupted", ""
	case errors.As(err, &failure):
		return describeAPI(failure)
	case exclusive.MatchString(err.Error()):
		given := strings.Fields(exclusive.FindStringSubmatch(err.Error())[1])
		return exit.WrongUsage, "--" + strings.Join(given, " and --") + " cannot be given together", ""
	case strings.HasPrefix(err.Error(), "unknown command"): // cobra has no error type for this either
		what, more, _ := strings.Cut(err.Error(), "\n")
		_, suggested, _ := strings.Cut(more, "Did you mean this?")
		return exit.WrongUsage, what + command.Suggestion(strings.Fields(suggested), "matoolkit"), ""
	}
	return exit.Failed, err.Error(), ""
}

func describeAPI(e *apiclient.Error) (status int, text, hint string) {
	if e.TraceID != "" && e.Status >= http.StatusInternalServerError {
		hint = "trace id " + e.TraceID
	}
	switch {
	case e.Code == string(api.CodeSourceAway): // the API is reachable, but not the data source of the query
		return exit.Refused, e.Error(), hint
	case e.Code == apiclient.CodeNotTheAPI && !gatewayStatus(e.Status): // another server answered
		return exit.Failed, e.Error(), "Check the address of the admin API, api-url: matoolkit config show"
	}
	switch e.Status {
	case http.StatusUnauthorized:
		return exit.NotSignedIn, e.Error(), login.SignInHint
	case http.StatusForbidden:
		return exit.NotSignedIn, e.Error(), hint
	case http.StatusNotFound:
		return exit.NotFound, e.Error(), hint
	case http.StatusBadRequest, http.StatusConflict, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return exit.Refused, e.Error(), hint
	}
	if e.Temporary() {
		return exit.Unavailable, e.Error(), hint
	}
	return exit.Failed, e.Error(), hint
}

// gatewayStatus reports whether a status means the same from a gateway before the API, such as
// the authentication of the platform and its limit on bodies.
func gatewayStatus(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusRequestEntityTooLarge
}
