package graph

import (
	"context"
	"strings"

	abstractions "github.com/microsoft/kiota-abstractions-go"
	"github.com/microsoftgraph/msgraph-sdk-go/models"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/password"
)

const defaultRedirect = "https://myapplications.microsoft.com"

func (c *Client) invite(ctx context.Context, p catalog.Params) (any, error) {
	id, email := p.String("UserId"), p.String("InvitedUserEmail")
	user, err := c.user(ctx, id, "id", "mail", "externalUserState", "onPremisesUserPrincipalName")
	if err != nil {
		return nil, err
	}
	switch same := strings.EqualFold(value(user.GetMail()), email); {
	case value(user.GetExternalUserState()) != "" && same:
		return true, nil
	case value(user.GetExternalUserState()) != "":
		return nil, conflict("the user is already invited with another address")
	case value(user.GetOnPremisesUserPrincipalName()) != "":
		return nil, conflict("the user is synchronised from on-premises and cannot be invited")
	case !same:
		err = c.do(ctx, c.paces.writes, func(ctx context.Context) error {
			change := models.NewUser()
			change.SetMail(&email)
			_, err := c.graph.Users().ByUserId(id).Patch(ctx, change, nil)
			return err
		})
	}
	if err == nil {
		err = c.do(ctx, c.paces.invitations, func(ctx context.Context) error {
			_, err := c.graph.Invitations().Post(ctx, invitation(id, email, p.String("InviteRedirectUrl")), nil)
			return err
		})
	}
	if failed(err, "already exists in the directory as object ID") {
		if !failed(err, id) {
			return nil, conflict("the address belongs to another user of the tenant")
		}
		// An answer was lost, or the read above was old: look until it shows.
		err = c.userUntil(ctx, id, []string{"externalUserState"}, func(user models.Userable) error {
			if value(user.GetExternalUserState()) == "" {
				return &staleError{"the user is not invited"}
			}
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	return true, nil
}

func invitation(id, email, redirect string) models.Invitationable {
	if redirect == "" {
		redirect = defaultRedirect
	}
	user := models.NewUser()
	user.SetId(&id)
	i := models.NewInvitation()
	i.SetInvitedUser(user)
	i.SetInvitedUserEmailAddress(&email)
	i.SetInviteRedirectUrl(&redirect)
	i.SetSendInvitationMessage(new(false))
	return i
}

// conversion is the body of a request that the SDK does not have, since it is in
// beta only.
type conversion struct {
	UserPrincipalName string           `json:"userPrincipalName,omitempty"`
	Mail              string           `json:"mail,omitempty"`
	PasswordProfile   *passwordProfile `json:"passwordProfile,omitempty"`
}

type passwordProfile struct {
	Password                      string `json:"password"`
	ForceChangePasswordNextSignIn bool   `json:"forceChangePasswordNextSignIn"`
}

func (c *Client) convert(ctx context.Context, p catalog.Params) (any, error) {
	id := p.String("UserId")
	body := conversion{UserPrincipalName: p.String("UserPrincipalName"), Mail: p.String("Mail")}
	first := p.String("Password")
	if first == "" && body.UserPrincipalName != "" {
		first = password.Strong()
	}
	if first != "" {
		body.PasswordProfile = &passwordProfile{first, true}
	}
	err := c.send(ctx, c.paces.writes, abstractions.POST, "/beta/users/"+id+"/convertExternalToInternalMemberUser", body)
	if failed(err, "already internal and is not eligible") {
		err = c.ensureConverted(ctx, id, body)
	}
	if err != nil {
		return nil, err
	}
	return true, nil
}

// ensureConverted confirms that an internal user has the properties that the
// conversion sets.
func (c *Client) ensureConverted(ctx context.Context, id string, wanted conversion) error {
	return c.userUntil(ctx, id, []string{"userPrincipalName", "mail"}, func(user models.Userable) error {
		switch {
		case wanted.UserPrincipalName != "" && !strings.EqualFold(wanted.UserPrincipalName, value(user.GetUserPrincipalName())):
			return &staleError{"the user is already internal, with the name " + value(user.GetUserPrincipalName())}
		case wanted.Mail != "" && !strings.EqualFold(wanted.Mail, value(user.GetMail())):
			return &staleError{"the user is already internal, with the address " + value(user.GetMail())}
		}
		return nil
	})
}

func conflict(message string) error {
	return &catalog.Failure{Type: catalog.FailureConflict, Message: message, Attempts: 1}
}
