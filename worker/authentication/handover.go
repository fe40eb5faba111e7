package authentication

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/password"
)

// Limits of a pass, in minutes.
const minLifetime, maxLifetime = 10, 43200

// recipient checks the person who gets a secret: one in a domain of the worker's settings, since a runbook could otherwise
// give any account to anybody, and not the user, who cannot open the mail. It returns the user.
func (s service) recipient(ctx context.Context, p catalog.Params) (user map[string]any, err error) {
	to := p.String("To")
	if err := s.graph.CheckMail(); err != nil {
		return nil, err
	}
	if err := s.graph.CheckRecipient(to); err != nil {
		return nil, err
	}
	user, err = s.graph.Read(ctx, "/v1.0/users/"+p.String("UserId")+"?$select=id,userPrincipalName,mail,proxyAddresses,userType,onPremisesSyncEnabled,lastPasswordChangeDateTime")
	if err != nil {
		return nil, err
	}
	addresses, _ := user["proxyAddresses"].([]any)
	for _, address := range append(addresses, user["userPrincipalName"], user["mail"]) {
		text, _ := address.(string)
		if strings.EqualFold(text, to) || strings.EqualFold(text, "smtp:"+to) {
			return nil, wrong("To is an address of the user: give that of the person who hands it over")
		}
	}
	return user, nil
}

// newPass creates a pass and mails it. Graph shows a pass once, in the answer that creates it: a repetition creates another
// one, which replaces it.
func (s service) newPass(ctx context.Context, p catalog.Params) (any, error) {
	body := map[string]any{"isUsableOnce": p.Bool("UsableOnce", true)}
	if p.Has("LifetimeInMinutes") {
		minutes, err := strconv.Atoi(p.String("LifetimeInMinutes"))
		if err != nil || minutes < minLifetime || minutes > maxLifetime {
			return nil, wrong(fmt.Sprintf("LifetimeInMinutes must be a whole number from %d to %d", minLifetime, maxLifetime))
		}
		body["lifetimeInMinutes"] = minutes
	}
	if p.Has("StartTime") {
		at, err := time.Parse(time.RFC3339, p.String("StartTime"))
		if err != nil {
			return nil, wrong("StartTime must be a time with a zone, such as 2026-03-01T18:00:00Z")
		}
		body["startDateTime"] = at.UTC().Format(time.RFC3339)
	}
	id := p.String("UserId")
	if _, err := s.recipient(ctx, p); err != nil {
		return nil, err
	}
	made, err := s.graph.Repeat(ctx, http.MethodPost, userPath(id)+"/temporaryAccessPassMethods", body)
	switch {
	case says(err, "external guest user"):
		return nil, withRemedy(err, "convert the user with Convert-EntraB2BToInternal first, or let the user sign in with the account of the other organisation")
	case says(err, "UserCredentialPolicy does not allow"):
		return nil, withRemedy(err, "enable Temporary Access Pass for the user in the authentication methods policy of the tenant, with this lifetime and use, and retry after some minutes")
	case err != nil:
		return nil, err
	}
	pass, _ := made["temporaryAccessPass"].(string)
	if pass == "" {
		return nil, conflict("Graph's answer has no pass")
	}
	created, _ := made["createdDateTime"].(string)
	text := fmt.Sprintf("The Temporary Access Pass of the user %s: %s\n\nCreated: %s\nValid from: %v\nMinutes: %v\nUsable once: %v\n\n"+
		"Hand it over to this user only, and delete this mail. Of several mails the one with the latest time of creation is valid.",
		id, pass, created, made["startDateTime"], made["lifetimeInMinutes"], made["isUsableOnce"])
	if err := s.graph.MailSecret(ctx, "Temporary Access Pass to hand over", text, p.String("To")); err != nil {
		return nil, withoutSecret(err, pass)
	}
	return true, nil
}

// resetPassword mails a password before it is set: a job that ends between the two has handed over a password that the next
// delivery's mail replaces, or has again, and no password is set that was not handed over.
func (s service) resetPassword(ctx context.Context, p catalog.Params) (any, error) {
	id, path := p.String("UserId"), "/v1.0/users/"+p.String("UserId")
	user, err := s.recipient(ctx, p)
	if err != nil {
		return nil, err
	}
	switch {
	case user["onPremisesSyncEnabled"] == true:
		return nil, conflict("the user is synchronised from on-premises: reset the password there")
	case user["userType"] == "Guest":
		return nil, conflict("the user is an external guest, who signs in with the account of another organisation: convert the user with Convert-EntraB2BToInternal first")
	}
	if job := catalog.JobOf(ctx); job.Redelivered && !job.Enqueued.IsZero() {
		text, _ := user["lastPasswordChangeDateTime"].(string)
		// Graph has whole seconds: a change in the second of the job may be one before it, and is not taken for its own.
		if changed, err := time.Parse(time.RFC3339, text); err == nil && changed.After(job.Enqueued) {
			return true, nil
		}
	}
	secret := s.password(ctx, id)
	text := fmt.Sprintf("The new password of the user %s: %s\n\nCreated: %s\nThe user changes it at the next sign-in.\n\n"+
		"Hand it over to this user only, and delete this mail. The password is valid once the step has succeeded; of several mails with different passwords one is valid: try the one with the latest time of creation first.",
		id, secret, time.Now().UTC().Format(time.RFC3339))
	if err := s.graph.MailSecret(ctx, "Password to hand over", text, p.String("To")); err != nil {
		return nil, withoutSecret(err, secret)
	}
	// Another delivery may have set its password meanwhile, whose mail would be void after this one.
	now, err := s.graph.Read(ctx, path+"?$select=lastPasswordChangeDateTime")
	switch {
	case err != nil:
		return nil, withoutSecret(err, secret)
	case now["lastPasswordChangeDateTime"] != user["lastPasswordChangeDateTime"]:
		return true, nil // as a later delivery, which leaves it
	}
	_, err = s.graph.Repeat(ctx, http.MethodPatch, path, map[string]any{
		"passwordProfile": map[string]any{"password": secret, "forceChangePasswordNextSignIn": true},
	})
	if err != nil {
		return nil, withoutSecret(err, secret)
	}
	return true, nil
}

// password is the one that a job sets. With a key it is the same on each delivery of the job: one that was mailed is not void
// because another delivery, at the same moment, has set its own. A retry of the step is another job.
func (s service) password(ctx context.Context, user string) string {
	job := catalog.JobOf(ctx)
	if s.passwordKey == nil || job.ID == "" {
		return password.Strong()
	}
	return password.Derived(s.passwordKey, job.ID, strings.ToLower(user))
}
