package graph

import (
	"context"
	"errors"
	"strings"

	"github.com/microsoftgraph/msgraph-sdk-go/models"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// setPassword sets a password once for a job: a delivery that comes late must not undo the change that the user
// made at the first sign-in.
func (c *Client) setPassword(ctx context.Context, p catalog.Params) (any, error) {
	id, secret := p.String("UserId"), p.String("Password")
	if job := catalog.JobOf(ctx); job.Redelivered && !job.Enqueued.IsZero() {
		user, err := c.user(ctx, id, "lastPasswordChangeDateTime")
		if err != nil {
			return nil, err
		}
		// Graph has whole seconds: a change in the second of the job may be one before it. If it is the job's own, it is written
		// again, which no user has changed within that second.
		if changed := user.GetLastPasswordChangeDateTime(); changed != nil && changed.After(job.Enqueued) {
			return true, nil
		}
	}
	force := p.Bool("ForceChange", true)
	answer, err := c.patch(ctx, id, func(user models.Userable) {
		profile := models.NewPasswordProfile() // the SDK keeps track of what it sent: each attempt gets its own
		profile.SetPassword(&secret)
		profile.SetForceChangePasswordNextSignIn(&force)
		user.SetPasswordProfile(profile)
	})
	var f *catalog.Failure
	if errors.As(err, &f) {
		f.Message = strings.ReplaceAll(f.Message, secret, "(password)")
	}
	return answer, err
}
