package bundle_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	local "github.com/matoolkit/matoolkit/local/github"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// repositories is the answer of List-Repositories.
type repositories struct {
	Repositories []struct{ Repository, PushedAt string }
}

func TestRepositoriesOfAnOwnerAreListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, local.Config{})
	got, err := call[repositories](w, "List-Repositories", object{"Owner": "octo"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got.Repositories {
		names = append(names, r.Repository)
		if _, err := time.Parse(time.RFC3339, r.PushedAt); err != nil {
			t.Errorf("%s was pushed at %q", r.Repository, r.PushedAt)
		}
	}
	if list := strings.Join(names, " "); list != "bare docs empty odd plain" {
		t.Errorf("repositories %q", list)
	}
}

func TestRepositoriesAreListedInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, local.Config{})
	many := local.Owner{Login: "many"}
	for i := range 120 {
		many.Repos = append(many.Repos, local.Repo{Name: fmt.Sprintf("repo-%03d", i)})
	}
	many.Repos = append(many.Repos, local.Repo{Name: "hidden", Private: true})
	if err := w.server.Seed(local.Seed{Tokens: []local.Token{{Token: "s3cret", Login: "octo"}}, Owners: []local.Owner{many, {Login: "none"}}}); err != nil {
		t.Fatal(err)
	}
	for owner, want := range map[string]int{"many": 120, "none": 0} {
		got, err := call[repositories](w, "List-Repositories", object{"Owner": owner})
		if err != nil || len(got.Repositories) != want || got.Repositories == nil {
			t.Errorf("%s: %d repositories, want %d: %v", owner, len(got.Repositories), want, err)
		}
	}
}

func TestListFailsAsSyncDoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		owner string
		fault *local.Fault
		want  string // type and a part of the message
	}{
		"no such owner": {"nobody", nil, catalog.FailureParameters + " GitHub has no user or organization nobody"},
		"a bad name":    {"../octo", nil, catalog.FailureParameters + ` "../octo" is not the name`},
		"an outage":     {"octo", &local.Fault{Status: 503}, "HTTP 503 GitHub answered 503"},
		"a rate limit":  {"octo", &local.Fault{Status: 429, RetryAfter: "3600"}, catalog.FailureThrottled + " GitHub answered 429"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, local.Config{})
			if c.fault != nil {
				if err := w.server.SetFaults(*c.fault); err != nil {
					t.Fatal(err)
				}
			}
			_, err := call[repositories](w, "List-Repositories", object{"Owner": c.owner})
			failure := new(catalog.Failure)
			if !errors.As(err, &failure) || !strings.HasPrefix(failure.Type+" "+failure.Message, c.want) || failure.Throttled != (failure.Type == catalog.FailureThrottled) {
				t.Errorf("%+v, want %s", err, c.want)
			}
		})
	}
}
