package graph

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/microsoftgraph/msgraph-sdk-go/models"
	"github.com/microsoftgraph/msgraph-sdk-go/users"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/password"
)

// NewUserResult is the result of New-EntraUser.
type NewUserResult struct {
	UserID            string `json:"UserId"`
	ID                string `json:"Id"`
	UserPrincipalName string `json:"UserPrincipalName"`
}

func (c *Client) newUser(ctx context.Context, p catalog.Params) (any, error) {
	wanted := userFrom(p)
	first := p.String("Password")
	if first == "" {
		first = password.Strong()
	}
	profile := models.NewPasswordProfile()
	profile.SetPassword(&first)
	profile.SetForceChangePasswordNextSignIn(new(true))

	if err := c.renamedSince(ctx, wanted); err != nil {
		return nil, err
	}
	var made models.Userable
	err := c.do(ctx, c.paces.writes, func(ctx context.Context) (err error) {
		body := userFrom(p) // the SDK keeps track of what it sent: each attempt gets its own
		body.SetPasswordProfile(profile)
		made, err = c.graph.Users().Post(ctx, body, nil)
		return err
	})
	if failed(err, "another object with the same value for property") {
		// Of several properties that are taken Graph names one.
		refused := err
		if made, err = c.findCreated(ctx, wanted); absent(err) {
			err = refused
		}
	}
	if err != nil {
		return nil, err
	}
	id := value(made.GetId())
	return NewUserResult{UserID: id, ID: id, UserPrincipalName: value(made.GetUserPrincipalName())}, nil
}

// renamedSince refuses a redelivered job if an earlier delivery may have created the
// user and a later job renamed it: to create a second user would be wrong, and to use
// a namesake's would be worse. In that case the earlier delivery has answered;
// otherwise a retry is a new job.
func (c *Client) renamedSince(ctx context.Context, wanted models.Userable) error {
	job := catalog.JobOf(ctx)
	if !job.Redelivered || job.Enqueued.IsZero() {
		return nil
	}
	filter := "mailNickname eq '" + strings.ReplaceAll(value(wanted.GetMailNickname()), "'", "''") + "'"
	var found []models.Userable
	err := c.do(ctx, c.paces.reads, func(ctx context.Context) error {
		answer, err := c.graph.Users().Get(ctx, &users.UsersRequestBuilderGetRequestConfiguration{
			QueryParameters: &users.UsersRequestBuilderGetQueryParameters{
				Filter: &filter, Select: []string{"id", "userPrincipalName", "createdDateTime"},
			},
		})
		if err == nil {
			found = answer.GetValue()
		}
		return err
	})
	if err != nil {
		return err
	}
	var other string
	for _, user := range found {
		if strings.EqualFold(value(user.GetUserPrincipalName()), value(wanted.GetUserPrincipalName())) {
			return nil
		}
		if made := user.GetCreatedDateTime(); made != nil && !made.Before(job.Enqueued.Truncate(time.Second)) {
			other = value(user.GetUserPrincipalName())
		}
	}
	if other == "" {
		return nil
	}
	return conflict("the job was redelivered, and " + other + ", with the same mailNickname, was created since the job was sent: " +
		"an earlier delivery may have created that user")
}

// findCreated returns the user that has the wanted one's name, when an earlier
// delivery of the same job may have made it: when it has all that was asked for.
func (c *Client) findCreated(ctx context.Context, wanted models.Userable) (models.Userable, error) {
	fields := []string{"id", "userPrincipalName"}
	for _, property := range userProperties {
		fields = append(fields, property.name)
	}
	found, err := c.user(ctx, value(wanted.GetUserPrincipalName()), fields...)
	if err != nil {
		return nil, err
	}
	var differ []string
	for _, property := range userProperties {
		if !property.same(wanted, found) {
			differ = append(differ, property.name)
		}
	}
	if len(differ) > 0 {
		return nil, &catalog.Failure{
			Type: catalog.FailureConflict,
			Message: "a user with this userPrincipalName exists and differs in: " +
				strings.Join(differ, ", "),
			Attempts: 1,
		}
	}
	return found, nil
}

func (c *Client) user(ctx context.Context, id string, fields ...string) (found models.Userable, err error) {
	err = c.do(ctx, c.paces.reads, func(ctx context.Context) (err error) {
		found, err = c.graph.Users().ByUserId(id).Get(ctx, &users.UserItemRequestBuilderGetRequestConfiguration{
			QueryParameters: &users.UserItemRequestBuilderGetQueryParameters{Select: fields},
		})
		return err
	})
	return found, err
}

// userUntil reads a user until is returns nil, at the policy's pace for stale reads.
func (c *Client) userUntil(ctx context.Context, id string, fields []string, is func(models.Userable) error) error {
	return c.do(ctx, c.paces.reads, func(ctx context.Context) error {
		user, err := c.graph.Users().ByUserId(id).Get(ctx, &users.UserItemRequestBuilderGetRequestConfiguration{
			QueryParameters: &users.UserItemRequestBuilderGetQueryParameters{Select: fields},
		})
		if err != nil {
			return err
		}
		return is(user)
	})
}

// setUPN writes without reading first: what a read shows may be older than another
// job's change, and the change that would then be left out is wanted. Graph takes
// the name that a user has already as no change.
func (c *Client) setUPN(ctx context.Context, p catalog.Params) (any, error) {
	name := p.String("NewUserPrincipalName")
	return c.patch(ctx, p.String("UserId"), func(user models.Userable) { user.SetUserPrincipalName(&name) })
}

// setEnabled writes without reading first, like setUPN.
func (c *Client) setEnabled(ctx context.Context, p catalog.Params) (any, error) {
	enabled := p.Bool("Enabled", false)
	return c.patch(ctx, p.String("UserId"), func(user models.Userable) { user.SetAccountEnabled(&enabled) })
}

func (c *Client) patch(ctx context.Context, id string, set func(models.Userable)) (any, error) {
	err := c.do(ctx, c.paces.writes, func(ctx context.Context) error {
		change := models.NewUser()
		set(change)
		_, err := c.graph.Users().ByUserId(id).Patch(ctx, change, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	return true, nil
}

// userFrom makes the user that the parameters ask for, without a password.
func userFrom(p catalog.Params) models.Userable {
	user := models.NewUser()
	name := p.String("UserPrincipalName")
	nickname, _, _ := strings.Cut(name, "@")
	if p.Has("MailNickname") {
		nickname = p.String("MailNickname")
	}
	enabled := p.Bool("AccountEnabled", true)
	user.SetUserPrincipalName(&name)
	user.SetMailNickname(&nickname)
	user.SetAccountEnabled(&enabled)
	for _, text := range []struct {
		param string
		set   func(*string)
	}{
		{"DisplayName", user.SetDisplayName},
		{"Mail", user.SetMail},
		{"UsageLocation", user.SetUsageLocation},
		{"Department", user.SetDepartment},
		{"JobTitle", user.SetJobTitle},
		{"GivenName", user.SetGivenName},
		{"Surname", user.SetSurname},
		{"EmployeeId", user.SetEmployeeId},
	} {
		if p.Has(text.param) {
			text.set(new(p.String(text.param)))
		}
	}
	if p.Has("OtherMails") {
		user.SetOtherMails(p.List("OtherMails"))
	}
	return user
}

// userProperties are those by which madeBefore recognises a user. Properties
// that were not requested may have any value.
var userProperties = []struct {
	name string
	same func(wanted, found models.Userable) bool
}{
	{"displayName", sameText(models.Userable.GetDisplayName)},
	{"mailNickname", sameText(models.Userable.GetMailNickname)},
	{"mail", sameText(models.Userable.GetMail)},
	{"usageLocation", sameText(models.Userable.GetUsageLocation)},
	{"department", sameText(models.Userable.GetDepartment)},
	{"jobTitle", sameText(models.Userable.GetJobTitle)},
	{"givenName", sameText(models.Userable.GetGivenName)},
	{"surname", sameText(models.Userable.GetSurname)},
	{"employeeId", sameText(models.Userable.GetEmployeeId)},
	{"accountEnabled", func(wanted, found models.Userable) bool {
		w, f := wanted.GetAccountEnabled(), found.GetAccountEnabled()
		return w == nil || f != nil && *w == *f
	}},
	{"otherMails", func(wanted, found models.Userable) bool {
		w, f := slices.Clone(wanted.GetOtherMails()), slices.Clone(found.GetOtherMails())
		slices.Sort(w)
		slices.Sort(f)
		return len(w) == 0 || slices.Equal(w, f)
	}},
}

func sameText(get func(models.Userable) *string) func(wanted, found models.Userable) bool {
	return func(wanted, found models.Userable) bool {
		w := get(wanted)
		return w == nil || strings.EqualFold(*w, value(get(found)))
	}
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
