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

// Execute runs a command made by NewRoot with its arguments, prints what goes wrong
// and gives the exit status.
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

// exclusive finds the options in cobra's words for those that exclude each other: it has
// no error of its own for them.
var exclusive = regexp.MustCompile(`^if any flags in the group .*; \[(.+)\] were all set$`)

// describe words an error for people.
func describe(err error) (status int, text, hint string) {
	var e *exit.Error
	var failure *apiclient.Error
	switch {
	case errors.As(err, &e):
		return e.Status, e.Text, e.Hint
	case errors.Is(err, context.Canceled):
		return exit.Interrupted, "stopped", ""
	case errors.As(err, &failure):
		return describeAPI(failure)
	case exclusive.MatchString(err.Error()):
		given := strings.Fields(exclusive.FindStringSubmatch(err.Error())[1])
		return exit.WrongUsage, "--" + strings.Join(given, " and --") + " cannot be given together", ""
	case strings.HasPrefix(err.Error(), "unknown command"): // cobra has no error of its own for this either
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
	case e.Code == string(api.CodeSourceAway): // the API was reached: it is the query that cannot be made
		return exit.Refused, e.Error(), hint
	case e.Code == apiclient.CodeNotTheAPI && !gatewayStatus(e.Status): // its statuses tell nothing of what was asked for
		return exit.Failed, e.Error(), "Is this the address of the admin API? See api-url in: matoolkit config show"
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

// gatewayStatus tells of the statuses that also what stands before the API means as it
// does, such as the platform's own sign-in and its limit on bodies.
func gatewayStatus(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusRequestEntityTooLarge
}
