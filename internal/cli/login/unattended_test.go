package login

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

// lasting gives tokens that are good for as long as it says, and counts them.
type lasting struct {
	left  time.Duration
	given int
}

func (l *lasting) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	l.given++
	return azcore.AccessToken{Token: "t", ExpiresOn: time.Now().Add(l.left)}, nil
}

func TestATokenIsUsedAgainWhileItIsGood(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]int{time.Hour: 1, renewBefore - time.Second: 20, 0: 20} {
		l := &lasting{left: left}
		u := &Unattended{method: settings.AzureCLI, scope: "api://x/.default", credential: l}
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				if token, _, err := u.token(t.Context()); token != "t" || err != nil {
					t.Errorf("%q, %v", token, err)
				}
			})
		}
		group.Wait()
		if l.given != want {
			t.Errorf("tokens good for %s: %d were asked for, want %d", left, l.given, want)
		}
	}
}
