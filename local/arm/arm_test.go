package arm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	sdk "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerinstance/armcontainerinstance/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/servicebus/armservicebus"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/arm"
	"github.com/matoolkit/matoolkit/local/entra"
)

// as is the token of the handler's identity for a scope; empty is the one that the SDK asks for.
type as struct {
	directory *entra.Server
	scope     string
}

func (a as) GetToken(_ context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	scope := options.Scopes[0]
	if a.scope != "" {
		scope = a.scope
	}
	token, err := a.directory.IssueAppToken(entra.DefaultHandlerClientID, scope)
	return azcore.AccessToken{Token: token, ExpiresOn: time.Now().Add(time.Hour)}, err
}

type fixture struct {
	directory *entra.Server
	*arm.Server
	options *sdk.ClientOptions
	groups  *armcontainerinstance.ContainerGroupsClient
}

const subscription = "6b4a8f0e-0000-4000-8000-000000000001"

func start(t *testing.T, config arm.Config) fixture {
	t.Helper()
	e := entra.DefaultConfig()
	e.Addr = "127.0.0.1:0"
	directory := testenv.Started(entra.Start(t.Context(), e))(t)
	config.Certificate, config.VerifyToken = testenv.Must(directory.ServerCertificate())(t), directory.VerifyToken
	server := testenv.Must(arm.Start(t.Context(), config))(t)
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	f := fixture{directory: directory, Server: server, options: &sdk.ClientOptions{DisableRPRegistration: true}}
	f.options.Transport, f.options.Retry = directory.HTTPClient(), policy.RetryOptions{MaxRetries: -1}
	f.options.Cloud = cloud.Configuration{Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
		cloud.ResourceManager: {Endpoint: server.URL(), Audience: cloud.AzurePublic.Services[cloud.ResourceManager].Audience},
	}}
	f.groups = testenv.Must(armcontainerinstance.NewContainerGroupsClient(subscription, as{directory: directory}, f.options))(t)
	return f
}

// body is a valid group.
func body() armcontainerinstance.ContainerGroup {
	return armcontainerinstance.ContainerGroup{
		Location: to.Ptr("westeurope"), Tags: map[string]*string{"managed_by": to.Ptr("test")},
		Properties: &armcontainerinstance.ContainerGroupPropertiesProperties{
			OSType: to.Ptr(armcontainerinstance.OperatingSystemTypesLinux), RestartPolicy: to.Ptr(armcontainerinstance.ContainerGroupRestartPolicyNever),
			Containers: []*armcontainerinstance.Container{{Name: to.Ptr("main"), Properties: &armcontainerinstance.ContainerProperties{
				Image: to.Ptr("image:1"), EnvironmentVariables: []*armcontainerinstance.EnvironmentVariable{{Name: to.Ptr("PUBLIC"), Value: to.Ptr("p")}, {Name: to.Ptr("SECRET"), SecureValue: to.Ptr("s3cret")}},
				Resources: &armcontainerinstance.ResourceRequirements{Requests: &armcontainerinstance.ResourceRequests{CPU: to.Ptr(1.0), MemoryInGB: to.Ptr(1.5)}},
			}}},
		},
	}
}

func (f fixture) create(t *testing.T, name string, g armcontainerinstance.ContainerGroup) {
	t.Helper()
	poller := testenv.Must(f.groups.BeginCreateOrUpdate(t.Context(), "g", name, g, nil))(t)
	if _, err := poller.PollUntilDone(t.Context(), &runtime.PollUntilDoneOptions{Frequency: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
}

func (f fixture) state(t *testing.T, name string) string {
	t.Helper()
	got := testenv.Must(f.groups.Get(t.Context(), "g", name, nil))(t)
	if got.Properties.InstanceView == nil {
		return *got.Properties.ProvisioningState
	}
	return *got.Properties.ProvisioningState + " " + *got.Properties.InstanceView.State
}

func code(err error) string {
	var refused *azcore.ResponseError
	if errors.As(err, &refused) {
		return fmt.Sprint(refused.StatusCode, " ", refused.ErrorCode)
	}
	return fmt.Sprint(err)
}

func TestAGroupRunsEndsAndIsDeleted(t *testing.T) {
	t.Parallel()
	f := start(t, arm.Config{})
	f.create(t, "one", body())
	if got := f.state(t, "one"); got != "Succeeded Running" {
		t.Errorf("state %q", got)
	}
	if err := f.Exit("one", 3); err != nil {
		t.Fatal(err)
	}
	got := testenv.Must(f.groups.Get(t.Context(), "g", "one", nil))(t)
	view := got.Properties.Containers[0].Properties.InstanceView.CurrentState
	if *got.Properties.InstanceView.State != "Failed" || *got.Properties.ProvisioningState != "Succeeded" || *view.State != "Terminated" || *view.ExitCode != 3 || view.FinishTime.Before(*view.StartTime) {
		t.Errorf("state %s, container %+v", *got.Properties.InstanceView.State, view)
	}
	env := got.Properties.Containers[0].Properties.EnvironmentVariables
	if *env[0].Value != "p" || *env[1].Name != "SECRET" || env[1].SecureValue != nil || env[1].Value != nil {
		t.Errorf("variables %+v %+v", env[0], env[1])
	}
	poller := testenv.Must(f.groups.BeginDelete(t.Context(), "g", "one", nil))(t)
	if _, err := poller.PollUntilDone(t.Context(), &runtime.PollUntilDoneOptions{Frequency: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.groups.Get(t.Context(), "g", "one", nil); code(err) != "404 ResourceNotFound" {
		t.Errorf("after the deletion: %v", err)
	}
	if _, err := f.groups.BeginDelete(t.Context(), "g", "one", nil); err != nil {
		t.Errorf("a second deletion: %v", err)
	}
}

func TestAListHasTagsAndNoStatesOfContainersInPages(t *testing.T) {
	t.Parallel()
	f := start(t, arm.Config{PageSize: 2})
	for i := range 5 {
		f.create(t, fmt.Sprint("n", i), body())
	}
	var names []string
	pages := 0
	for pager := f.groups.NewListByResourceGroupPager("G", nil); pager.More(); pages++ {
		page := testenv.Must(pager.NextPage(t.Context()))(t)
		for _, g := range page.Value {
			names = append(names, *g.Name)
			if g.Properties.InstanceView != nil || g.Properties.Containers[0].Properties.InstanceView != nil || *g.Tags["managed_by"] != "test" || *g.Properties.ProvisioningState != "Succeeded" {
				t.Errorf("listed %+v", g.Properties)
			}
		}
	}
	if !slices.Equal(names, []string{"n0", "n1", "n2", "n3", "n4"}) || pages != 3 {
		t.Errorf("%d pages: %q", pages, names)
	}
}

func TestARequestForAnExistingGroup(t *testing.T) {
	t.Parallel()
	f := start(t, arm.Config{})
	put := func(change func(*armcontainerinstance.ContainerGroup)) string {
		g := body()
		if change != nil {
			change(&g)
		}
		_, err := f.groups.BeginCreateOrUpdate(t.Context(), "g", "one", g, nil)
		if err != nil {
			return code(err)
		}
		testenv.Eventually(t, "the group runs", func() bool { return f.state(t, "one") == "Succeeded Running" })
		return fmt.Sprint(f.Counters().Starts["one"])
	}
	for _, c := range []struct {
		what, want string
		before     func()
		change     func(*armcontainerinstance.ContainerGroup)
	}{
		{"a new group starts", "1", nil, nil},
		{"the same body changes nothing", "1", nil, nil},
		{"other memory is refused", "400 InvalidContainerGroupUpdate", nil, func(g *armcontainerinstance.ContainerGroup) {
			g.Properties.Containers[0].Properties.Resources.Requests.MemoryInGB = to.Ptr(2.0)
		}},
		{"another tag restarts the containers", "2", nil, func(g *armcontainerinstance.ContainerGroup) { g.Tags["managed_by"] = to.Ptr("other") }},
		{"a group that has ended runs again", "3", func() { _ = f.Exit("one", 0) }, func(g *armcontainerinstance.ContainerGroup) { g.Tags["managed_by"] = to.Ptr("other") }},
	} {
		if c.before != nil {
			c.before()
		}
		if got := put(c.change); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func TestInvalidGroupsAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t, arm.Config{})
	memory := func(gb float64) func(*armcontainerinstance.ContainerGroup) {
		return func(g *armcontainerinstance.ContainerGroup) {
			g.Properties.Containers[0].Properties.Resources.Requests.MemoryInGB = &gb
		}
	}
	for want, change := range map[string]func(*armcontainerinstance.ContainerGroup){
		"InvalidMemory":             memory(1.25),
		"ResourceRequestOutOfRange": memory(0.5),
		"LocationRequired":          func(g *armcontainerinstance.ContainerGroup) { g.Location = nil },
		"InvalidRequestContent": func(g *armcontainerinstance.ContainerGroup) {
			g.Properties.Volumes = []*armcontainerinstance.Volume{{Name: to.Ptr("v")}}
		},
		"InvalidEnvironmentVariable": func(g *armcontainerinstance.ContainerGroup) {
			g.Properties.Containers[0].Properties.EnvironmentVariables[0].Name = to.Ptr("a-b")
		},
		"InvalidImageRegistryCredential": func(g *armcontainerinstance.ContainerGroup) {
			g.Properties.ImageRegistryCredentials = []*armcontainerinstance.ImageRegistryCredential{{Server: to.Ptr("registry.example"), Identity: to.Ptr("/not/attached")}}
		},
		"InvalidTagValueLength": func(g *armcontainerinstance.ContainerGroup) { g.Tags["long"] = to.Ptr(strings.Repeat("a", 257)) },
	} {
		g := body()
		change(&g)
		if _, err := f.groups.BeginCreateOrUpdate(t.Context(), "g", "one", g, nil); code(err) != "400 "+want {
			t.Errorf("got %s, want %s", code(err), want)
		}
	}
	for _, name := range []string{"Upper", "a--b", "-a", strings.Repeat("a", 64)} {
		if _, err := f.groups.BeginCreateOrUpdate(t.Context(), "g", name, body(), nil); code(err) != "400 InvalidContainerGroupName" {
			t.Errorf("%s: %s", name, code(err))
		}
	}
	if len(f.Groups()) != 0 {
		t.Errorf("groups %+v", f.Groups())
	}
}

func TestTokensAndPermissions(t *testing.T) {
	t.Parallel()
	denied := ""
	f := start(t, arm.Config{Allowed: func(_, action, _ string) bool { return action != denied }})
	wrong := testenv.Must(armcontainerinstance.NewContainerGroupsClient(subscription, as{f.directory, entra.GraphAudience + "/.default"}, f.options))(t)
	if _, err := wrong.Get(t.Context(), "g", "one", nil); code(err) != "401 InvalidAuthenticationToken" {
		t.Errorf("a token for another resource: %s", code(err))
	}
	response := testenv.Must(f.directory.HTTPClient().Get(f.URL() + "/subscriptions"))(t)
	if response.Body.Close(); response.StatusCode != http.StatusUnauthorized || response.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("without a token: %s", response.Status)
	}
	denied = arm.ActionWriteGroup
	if _, err := f.groups.BeginCreateOrUpdate(t.Context(), "g", "one", body(), nil); code(err) != "403 AuthorizationFailed" {
		t.Errorf("without the permission: %s", code(err))
	}
	denied = arm.ActionAssignIdentity
	g := body()
	g.Identity = &armcontainerinstance.ContainerGroupIdentity{Type: to.Ptr(armcontainerinstance.ResourceIdentityTypeUserAssigned), UserAssignedIdentities: map[string]*armcontainerinstance.UserAssignedIdentities{"/id": {}}}
	if _, err := f.groups.BeginCreateOrUpdate(t.Context(), "g", "one", g, nil); code(err) != "403 LinkedAuthorizationFailed" {
		t.Errorf("without the permission on the identity: %s", code(err))
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	f := start(t, arm.Config{})
	f.Fail(arm.Fault{Method: http.MethodPut, Path: "/ONE", Skip: 1, Count: 1, Status: 429, Code: "TooManyRequests", RetryAfter: "10"})
	f.Fail(arm.Fault{Method: http.MethodPut, Path: "/lost", Count: 1, Lost: true})
	f.create(t, "one", body())
	_, err := f.groups.BeginCreateOrUpdate(t.Context(), "g", "one", body(), nil)
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) || refused.StatusCode != http.StatusTooManyRequests || refused.RawResponse.Header.Get("Retry-After") != "10" {
		t.Errorf("the second request: %v", err)
	}
	f.create(t, "one", body())
	if _, err := f.groups.BeginCreateOrUpdate(t.Context(), "g", "lost", body(), nil); err == nil {
		t.Error("the answer was not lost")
	}
	testenv.Eventually(t, "the group runs", func() bool { return f.state(t, "lost") == "Succeeded Running" })
	f.Fail(arm.Fault{Status: 500, Code: "InternalServerError"})
	if _, err := f.groups.Get(t.Context(), "g", "one", nil); code(err) != "500 InternalServerError" {
		t.Errorf("every request: %s", code(err))
	}
	f.Heal()
	f.state(t, "one")
}

func TestWhatIsNotServedIsRefused(t *testing.T) {
	t.Parallel()
	f := start(t, arm.Config{})
	token := testenv.Must(f.directory.IssueAppToken(entra.DefaultHandlerClientID, arm.Audience+"/.default"))(t)
	const groups = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerInstance/containerGroups"
	for request, status := range map[string]int{
		"GET " + groups: 400, "GET " + groups + "?api-version=2019-12-01": 400, "PATCH " + groups + "/a?api-version=2023-05-01": 405,
		"GET /subscriptions/s/resourceGroups/g?api-version=2021-04-01": 404, "POST " + groups + "/a/start?api-version=2023-05-01": 404,
		"GET /subscriptions/s/resourceGroups/g/providers/Microsoft.ServiceBus/namespaces/n/topics/t/subscriptions?api-version=2021-11-01": 404,
		"GET /subscriptions/s/providers/Microsoft.ContainerInstance/locations/westeurope/operations/none?api-version=2023-05-01":          404,
	} {
		method, path, _ := strings.Cut(request, " ")
		r := testenv.Must(http.NewRequestWithContext(t.Context(), method, f.URL()+path, nil))(t)
		r.Header.Set("Authorization", "Bearer "+token)
		response := testenv.Must(f.directory.HTTPClient().Do(r))(t)
		text, _ := io.ReadAll(response.Body)
		if response.Body.Close(); response.StatusCode != status || !strings.Contains(string(text), `"error"`) {
			t.Errorf("%s: %s %s", request, response.Status, text)
		}
	}
}

func TestSubscriptionsOfATopic(t *testing.T) {
	t.Parallel()
	f := start(t, arm.Config{Subscriptions: func(namespace, topic string) ([]arm.Subscription, bool) {
		return []arm.Subscription{{Name: "north", MaxDeliveries: 7, LockDuration: 90 * time.Second}, {Name: "south", MaxDeliveries: 1, LockDuration: time.Second, RequiresSession: true, Status: "Disabled"}},
			namespace == "contoso" && topic == "validations"
	}})
	client := testenv.Must(armservicebus.NewSubscriptionsClient(subscription, as{directory: f.directory}, f.options))(t)
	page := testenv.Must(client.NewListByTopicPager("g", "contoso", "validations", nil).NextPage(t.Context()))(t)
	if len(page.Value) != 2 {
		t.Fatalf("%d subscriptions", len(page.Value))
	}
	first, second := page.Value[0], page.Value[1]
	if *first.Name != "north" || *first.Properties.MaxDeliveryCount != 7 || *first.Properties.LockDuration != "PT90S" || *first.Properties.RequiresSession || *first.Properties.Status != armservicebus.EntityStatusActive {
		t.Errorf("the first %+v", first.Properties)
	}
	if *second.Name != "south" || !*second.Properties.RequiresSession || *second.Properties.Status != armservicebus.EntityStatusDisabled {
		t.Errorf("the second %+v", second.Properties)
	}
	if _, err := client.NewListByTopicPager("g", "contoso", "other", nil).NextPage(t.Context()); code(err) != "404 NotFound" {
		t.Errorf("another topic: %s", code(err))
	}
}

func TestAProgramRunsAsTheContainerOfItsImage(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "program.sh")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$PUBLIC $SECRET $EXTRA\"\nexit 4\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out testenv.Buffer
	f := start(t, arm.Config{Run: arm.Programs(map[string]string{"image:1": program}, map[string]string{"EXTRA": "e"}, &out)})
	f.create(t, "one", body())
	testenv.Eventually(t, "the program has ended", func() bool { return f.state(t, "one") == "Succeeded Failed" })
	got := testenv.Must(f.groups.Get(t.Context(), "g", "one", nil))(t)
	if exit := got.Properties.Containers[0].Properties.InstanceView.CurrentState.ExitCode; *exit != 4 || out.String() != "p s3cret e\n" {
		t.Errorf("exit code %d, output %q", *exit, out.String())
	}
	other := body()
	other.Properties.Containers[0].Properties.Image = to.Ptr("image:2")
	f.create(t, "two", other)
	testenv.Eventually(t, "the image is missing", func() bool { return f.state(t, "two") == "Failed Pending" })
	got = testenv.Must(f.groups.Get(t.Context(), "g", "two", nil))(t)
	if events := got.Properties.Containers[0].Properties.InstanceView.Events; len(events) != 1 || *events[0].Type != "Warning" || !strings.Contains(*events[0].Message, `Failed to pull image "image:2"`) {
		t.Errorf("events %+v", events)
	}
	if c := f.Counters(); c.Groups != 2 || c.Running != 0 || c.Peak < 1 || c.Starts["one"] != 1 {
		t.Errorf("counters %+v", c)
	}
}

func TestTheEndOfTheServerEndsItsContainers(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	f := start(t, arm.Config{Run: func(ctx context.Context, _ arm.Container) (int, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return 1, nil
	}})
	f.create(t, "one", body())
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
