package delegation

import (
	"context"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// trustees are the recipients that get permissions, by the folded addresses that a job names.
type trustees struct {
	found   map[string]session.Recipient
	missing []string // in order
}

// of is the recipient of an address of the job.
func (t trustees) of(address string) (session.Recipient, bool) {
	r, ok := t.found[strings.ToLower(address)]
	return r, ok
}

// mapped is an address in the domain of the job's tenant, if the job gives one.
func mapped(address, domain string) string {
	name, _, isAddress := strings.Cut(address, "@")
	if domain == "" || !isAddress {
		return address
	}
	return name + "@" + domain
}

// trustees finds all recipients that a job names. It waits for those that a replica may not show yet, for all together
// as long as for one. A trustee who is missing after that fails the job, unless skip is set.
func (c *functions) trustees(ctx context.Context, p catalog.Params, addresses []string, skip bool) (trustees, error) {
	t := trustees{found: map[string]session.Recipient{}}
	waiting := slices.Compact(slices.Sorted(slices.Values(addresses)))
	_, err := c.Policy().Do(ctx, session.Judge, func(ctx context.Context) error {
		var still []string
		for _, address := range waiting {
			r, found, err := c.Find(ctx, mapped(address, p.String("TrusteeDomain")))
			switch {
			case err != nil:
				return err
			case found:
				t.found[strings.ToLower(address)] = r
			default:
				still = append(still, address)
			}
		}
		if waiting = still; len(waiting) > 0 {
			return &session.StaleError{What: "recipients are missing"}
		}
		return nil
	})
	if _, stale := err.(*session.StaleError); err != nil && !stale {
		return t, err
	}
	t.missing = append([]string{}, waiting...)
	if len(t.missing) > 0 && !skip {
		return t, &catalog.Failure{
			Type: catalog.FailureConflict, Attempts: 1,
			Message: "the tenant does not have " + strings.Join(t.missing, ", ") + " as recipients: create them first, or set SkipMissing",
		}
	}
	return t, nil
}
