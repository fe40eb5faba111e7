package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Listed is a repository in the list of an owner.
type Listed struct {
	Name     string    `json:"name"`
	PushedAt time.Time `json:"pushed_at"`
}

const (
	pageSize = 50 // whose answer is far below MaxFile
	maxPages = 40
)

// Repositories lists the repositories of an owner that the token may see as public, by their names. The error is a
// *catalog.Failure: catalog.FailureParameters if there is no such owner.
func (c *Client) Repositories(ctx context.Context, owner string) ([]Listed, error) {
	if err := CheckOwner(owner); err != nil {
		return nil, err
	}
	var all []Listed
	seen := map[string]bool{} // a page shifts if a repository is made meanwhile
	for page := 1; page <= maxPages; page++ {
		address := fmt.Sprintf("%s/users/%s/repos?type=owner&sort=full_name&per_page=%d&page=%d", c.config.URL, url.PathEscape(owner), pageSize, page)
		a, err := c.get(ctx, address, "application/vnd.github+json", "")
		switch {
		case statusOf(err) == http.StatusNotFound:
			return nil, &catalog.Failure{
				Type: catalog.FailureParameters, NotFound: true, Attempts: 1,
				Message: fmt.Sprintf("GitHub has no user or organization %s: check the name", owner),
			}
		case err != nil:
			return nil, c.fail(err)
		}
		var found []Listed
		if a.cut || json.Unmarshal(a.body, &found) != nil {
			return nil, &catalog.Failure{Type: catalog.FailureUnreachable, Message: "the answer of GitHub with the repositories is not JSON", Attempts: 1}
		}
		for _, r := range found {
			if !seen[r.Name] {
				seen[r.Name] = true
				all = append(all, r)
			}
		}
		if len(found) < pageSize {
			return all, nil
		}
	}
	return nil, invalid("%s has more than %d repositories: send their names with the request", owner, pageSize*maxPages)
}
