package authentication

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// userPath is of the authentication of a user, whose id is a GUID.
func userPath(id string) string { return "/v1.0/users/" + id + "/authentication" }

// method is an authentication method of a user.
type method struct {
	Type            string `json:"@odata.type"`
	ID              string
	PhoneType       string
	CreatedDateTime string
}

const passwordKind = "password"

// kind is the type of a method without what all types have.
func (m method) kind() string {
	kind, _ := strings.CutSuffix(strings.TrimPrefix(m.Type, "#microsoft.graph."), "AuthenticationMethod")
	return kind
}

// deletable are the kinds with a path in v1.0 to delete a method.
var deletable = []string{"email", "fido2", "microsoftAuthenticator", "phone", "platformCredential", "softwareOath", "temporaryAccessPass", "windowsHelloForBusiness"}

// noSecondFactor are the kinds that do not show that the user has registered: an administrator creates a pass, and an
// address of mail is for resets of the password only.
var noSecondFactor = []string{"email", "temporaryAccessPass"}

// registeredSince tells whether the method was registered at a time or later; Graph does not say it of all kinds.
func (m method) registeredSince(at time.Time) bool {
	created, err := time.Parse(time.RFC3339, m.CreatedDateTime)
	return err == nil && !at.IsZero() && !created.Before(at.Truncate(time.Second))
}

// readMethods are the methods beside the password.
func readMethods(object map[string]any) (methods []method, err error) {
	var list struct {
		Value []method
		Next  string `json:"@odata.nextLink"`
	}
	raw, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil || object["value"] == nil || list.Next != "" {
		return nil, conflict("Graph's answer is not a complete list of authentication methods")
	}
	return slices.DeleteFunc(list.Value, func(m method) bool { return m.kind() == passwordKind }), nil
}

func kinds(methods []method) []string {
	names := make([]string, 0, len(methods))
	for _, m := range methods {
		names = append(names, m.kind())
	}
	slices.Sort(names)
	return names
}

// MethodsResult is the result of Test-EntraUserAuthenticationMethods.
type MethodsResult struct {
	Complete bool        `json:"complete"`
	Reason   string      `json:"reason,omitempty"` // why it is not complete
	Data     MethodsData `json:"data"`
}

// MethodsData tells of the methods of a user.
type MethodsData struct {
	UserID          string `json:"UserId"`
	ExpectedMethods bool
	Methods         []string
}

func (s service) testMethods(ctx context.Context, p catalog.Params) (any, error) {
	data := MethodsData{UserID: p.String("UserId"), ExpectedMethods: p.Bool("ExpectedMethods", false)}
	object, err := s.graph.Read(ctx, userPath(data.UserID)+"/methods")
	if err != nil {
		return nil, err
	}
	methods, err := readMethods(object)
	if err != nil {
		return nil, err
	}
	data.Methods = kinds(methods)
	counted := data.Methods
	if data.ExpectedMethods {
		counted = slices.DeleteFunc(slices.Clone(counted), func(kind string) bool { return slices.Contains(noSecondFactor, kind) })
	}
	switch has := len(counted) > 0; {
	case has == data.ExpectedMethods:
		return MethodsResult{Complete: true, Data: data}, nil
	case has:
		return MethodsResult{Reason: "the user has " + strings.Join(data.Methods, ", ") + ", expected none", Data: data}, nil
	}
	reason := "the user has no method beside the password, expected some"
	if len(methods) > 0 {
		reason = "the user has only " + strings.Join(data.Methods, ", ") + ", which is no registration, expected some other method"
	}
	return MethodsResult{Reason: reason, Data: data}, nil
}

// removeMethods deletes what a read shows until it shows none. A late delivery leaves what the user has registered since.
func (s service) removeMethods(ctx context.Context, p catalog.Params) (any, error) {
	path, job := userPath(p.String("UserId")), catalog.JobOf(ctx)
	var left []method
	look := graph.Look{Path: path + "/methods", Shows: func(object map[string]any) (catalog.Shown, bool, error) {
		methods, err := readMethods(object)
		if err != nil {
			return catalog.Shown{}, false, err
		}
		left = slices.DeleteFunc(methods, func(m method) bool { return job.Redelivered && m.registeredSince(job.Enqueued) })
		for _, m := range left {
			if !slices.Contains(deletable, m.kind()) {
				return catalog.Shown{}, false, conflict(fmt.Sprintf("the user has a method of the kind %q, which the function cannot delete: delete it in the Entra admin center, and retry", m.kind()))
			}
		}
		return catalog.Shown{Answer: true, Met: len(left) == 0, Reason: "the user has " + strings.Join(kinds(left), ", ")}, len(left) == 0, nil
	}}
	return catalog.Unless(ctx, func(wait catalog.Waiting) (catalog.Shown, error) { return s.graph.Look(ctx, look, wait) }, func() (bool, error) {
		return false, s.deleteMethods(ctx, path, left)
	}, "the methods were deleted, but Graph still shows some")
}

// deleteMethods deletes methods, those last that others depend on: the default one, and a mobile phone beside an alternate
// one.
func (s service) deleteMethods(ctx context.Context, path string, methods []method) error {
	for {
		var later []method
		var refusal error
		for _, m := range methods {
			_, err := s.graph.Repeat(ctx, http.MethodDelete, path+"/"+m.kind()+"Methods/"+url.PathEscape(m.ID), nil)
			var f *catalog.Failure
			switch {
			case err == nil, errors.As(err, &f) && f.NotFound:
			case says(err, "default method"), m.PhoneType == "mobile" && says(err, "alternate"):
				later, refusal = append(later, m), err
			default:
				return err
			}
		}
		if len(later) == 0 {
			return nil
		}
		if len(later) == len(methods) {
			return withRemedy(refusal, "change the default method of the user in the Entra admin center, and retry")
		}
		methods = later
	}
}
