package bench

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/system"
)

// callers makes clients of the admin API, each of them a person of their own.
type callers struct {
	identity *system.System // which signs their tokens
	url      string
	web      *http.Client
}

// startIdentity starts the identity provider in this process, which signs in any number
// of callers.
func (b *bed) startIdentity(ctx context.Context, at system.Addresses) (err error) {
	b.identity, err = system.Start(ctx, system.Config{Parts: []system.Part{system.Identity}, Addresses: at, DataDir: b.file("data")})
	if err == nil {
		b.endpoints = b.identity.Endpoints()
	}
	return err
}

func (b *bed) callers(most int) callers {
	return callers{
		identity: b.identity, url: b.endpoints.CLI["MATOOLKIT_API_URL"],
		web: &http.Client{Transport: &http.Transport{MaxIdleConns: most, MaxIdleConnsPerHost: most}},
	}
}

// sign makes a client for a person with a role. It never tries anything again: each
// failure shows.
func (c callers) sign(name, role string) (*apiclient.Client, error) {
	token, err := c.identity.Entra.IssueUserToken(entra.DefaultAdminUPN, entra.DefaultAdminAPIScope)
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	body, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return nil, err
	}
	claims := map[string]any{}
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	if err := d.Decode(&claims); err != nil {
		return nil, err
	}
	id := uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name)).String()
	for claim, value := range map[string]any{
		"oid": id, "sub": id, "name": name, "preferred_username": name, "upn": name, "unique_name": name, "roles": []string{role},
	} {
		if _, has := claims[claim]; has {
			claims[claim] = value
		}
	}
	if token, err = c.identity.Entra.IssueToken(claims); err != nil {
		return nil, fmt.Errorf("get get get a token for %s: %w", name, err)
	}
	return apiclient.New(apiclient.Config{
		BaseURL: c.url, HTTP: c.web,
		Token: func(context.Context) (string, error) { return token, nil },
		Wait:  func(context.Context, time.Duration) error { return errors.New("the benchmark does not retry") },
	})
}
