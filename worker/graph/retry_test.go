package graph_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	abstractions "github.com/microsoft/kiota-abstractions-go"
	"github.com/microsoft/kiota-abstractions-go/serialization"
	jsonserialization "github.com/microsoft/kiota-serialization-json-go"
	core "github.com/microsoftgraph/msgraph-sdk-go-core"
	"github.com/microsoftgraph/msgraph-sdk-go-core/authentication"
	"github.com/microsoftgraph/msgraph-sdk-go/models"
	"github.com/microsoftgraph/msgraph-sdk-go/users"
	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// processes is how many are asked: in three of four the SDK's middleware is in an
// order that loses bodies.
const processes = 12

// envAlone makes the test binary ask for one user by the SDK's own means, and no more.
const envAlone = "MATOOLKIT_TEST_OWN_RETRY"

func TestMain(m *testing.M) {
	if os.Getenv(envAlone) == "" {
		os.Exit(m.Run())
	}
	if err := withOwnRetry(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// inProcesses runs the test binary in many processes, a few at a time, and returns
// what those said that failed.
func inProcesses(t *testing.T, environment string, arguments ...string) (failed []string) {
	t.Helper()
	self := testenv.Must(os.Executable())(t)
	var group errgroup.Group
	group.SetLimit(4)
	var mu sync.Mutex
	for range processes {
		group.Go(func() error {
			command := exec.CommandContext(t.Context(), self, arguments...)
			command.Env = append(os.Environ(), environment)
			out, err := command.CombinedOutput()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, string(out))
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return failed
}

// The order is drawn once in a process, so one process shows nothing.
func TestThrottledPostKeepsItsBodyInEveryProcess(t *testing.T) {
	t.Parallel()
	failed := inProcesses(t, envAlone+"=", "-test.count=1", "-test.run=^TestThrottledPostKeepsItsBody$")
	if len(failed) > 0 {
		t.Errorf("in %d of %d processes it failed, as here:\n%s", len(failed), processes, failed[0])
	}
}

// Why the client lists its middleware.
func TestTheSDKsOwnRetryLosesBodies(t *testing.T) {
	t.Parallel()
	failed := inProcesses(t, envAlone+"=1")
	if len(failed) == 0 {
		t.Errorf("in none of %d processes: the SDK has been mended, and httpClient may not need its own list of middleware any longer", processes)
	}
	for _, said := range failed {
		if !strings.Contains(said, errBodyLost.Error()) {
			t.Errorf("a process failed otherwise:\n%s", said)
		}
	}
}

var errBodyLost = errors.New("the repeated request came without its whole body")

// withOwnRetry makes a user with the middleware that the SDK takes by itself, where the
// first request is throttled.
func withOwnRetry(ctx context.Context) error {
	server, err := tenant.Start(ctx, tenant.Config{})
	if err != nil {
		return err
	}
	defer server.Close()
	if err := server.SetFaults(tenant.Faults{Rules: []tenant.Fault{{Op: "POST", Count: 1, Status: 429, RetryAfter: "1"}}}); err != nil {
		return err
	}
	auth, err := authentication.NewAzureIdentityAuthenticationProviderWithScopesAndValidHosts(
		&credential{}, []string{"https://graph.microsoft.com/.default"}, []string{"127.0.0.1"})
	if err != nil {
		return err
	}
	abstractions.RegisterDefaultSerializer(func() serialization.SerializationWriterFactory {
		return jsonserialization.NewJsonSerializationWriterFactory()
	})
	abstractions.RegisterDefaultDeserializer(func() serialization.ParseNodeFactory { return jsonserialization.NewJsonParseNodeFactory() })
	options := core.GraphClientOptions{}
	adapter, err := core.NewGraphRequestAdapterBaseWithParseNodeFactoryAndSerializationWriterFactoryAndHttpClient(
		auth, options, nil, nil, core.GetDefaultClient(&options))
	if err != nil {
		return err
	}
	adapter.SetBaseUrl(server.GraphURL())
	profile := models.NewPasswordProfile()
	profile.SetPassword(new("A password of 1 user"))
	user := models.NewUser()
	user.SetDisplayName(new("Grace Hopper"))
	user.SetUserPrincipalName(new("grace@contoso.example"))
	user.SetMailNickname(new("grace"))
	user.SetAccountEnabled(new(true))
	user.SetPasswordProfile(profile)
	_, err = users.NewUsersRequestBuilderInternal(map[string]string{}, adapter).Post(ctx, user, nil)
	made := server.State().Users
	if err == nil && len(made) == 1 && made[0].Text("displayName") == "Grace Hopper" {
		return nil
	}
	if answered := server.Requests()["graph POST /users"]; answered[429] == 1 && len(made) == 0 {
		return fmt.Errorf("%w: %v, %w", errBodyLost, answered, err)
	}
	return err
}
