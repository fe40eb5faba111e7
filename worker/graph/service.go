package graph

import (
	"net/http"
	"runtime/debug"
	"slices"
	"sync"

	abstractions "github.com/microsoft/kiota-abstractions-go"
	"github.com/microsoft/kiota-abstractions-go/authentication"
	"github.com/microsoft/kiota-abstractions-go/serialization"
	"github.com/microsoft/kiota-abstractions-go/store"
	jsonserialization "github.com/microsoft/kiota-serialization-json-go"
	textserialization "github.com/microsoft/kiota-serialization-text-go"
	core "github.com/microsoftgraph/msgraph-sdk-go-core"
	"github.com/microsoftgraph/msgraph-sdk-go/directory"
	"github.com/microsoftgraph/msgraph-sdk-go/domains"
	"github.com/microsoftgraph/msgraph-sdk-go/groups"
	"github.com/microsoftgraph/msgraph-sdk-go/invitations"
	"github.com/microsoftgraph/msgraph-sdk-go/subscribedskus"
	"github.com/microsoftgraph/msgraph-sdk-go/users"
)

// service has the request builders that the functions use. The client of the SDK's root package has
// those of all of Graph: with it, the SDK takes almost twice as long to compile.
type service struct{ abstractions.RequestAdapter }

// making serializes newService: the SDK writes to global variables while a client is made.
var making sync.Mutex

// newService makes a service at a base URL, which ends with the version of the API.
func newService(auth authentication.AuthenticationProvider, client *http.Client, base string) (*service, error) {
	making.Lock()
	defer making.Unlock()
	abstractions.RegisterDefaultSerializer(func() serialization.SerializationWriterFactory {
		return jsonserialization.NewJsonSerializationWriterFactory()
	})
	abstractions.RegisterDefaultDeserializer(func() serialization.ParseNodeFactory { return jsonserialization.NewJsonParseNodeFactory() })
	abstractions.RegisterDefaultDeserializer(func() serialization.ParseNodeFactory { return textserialization.NewTextParseNodeFactory() })
	adapter, err := core.NewGraphRequestAdapterBaseWithParseNodeFactoryAndSerializationWriterFactoryAndHttpClient(auth, clientOptions(), nil, nil, client)
	if err != nil {
		return nil, err
	}
	adapter.SetBaseUrl(base)
	adapter.EnableBackingStore(store.BackingStoreFactoryInstance) // a PATCH sends what was set, and nothing else
	return &service{adapter}, nil
}

func (s *service) Users() *users.UsersRequestBuilder {
	return users.NewUsersRequestBuilderInternal(map[string]string{}, s)
}

func (s *service) Groups() *groups.GroupsRequestBuilder {
	return groups.NewGroupsRequestBuilderInternal(map[string]string{}, s)
}

func (s *service) Invitations() *invitations.InvitationsRequestBuilder {
	return invitations.NewInvitationsRequestBuilderInternal(map[string]string{}, s)
}

func (s *service) Directory() *directory.DirectoryRequestBuilder {
	return directory.NewDirectoryRequestBuilderInternal(map[string]string{}, s)
}

func (s *service) Domains() *domains.DomainsRequestBuilder {
	return domains.NewDomainsRequestBuilderInternal(map[string]string{}, s)
}

func (s *service) SubscribedSkus() *subscribedskus.SubscribedSkusRequestBuilder {
	return subscribedskus.NewSubscribedSkusRequestBuilderInternal(map[string]string{}, s)
}

// clientOptions identify the SDK to Graph: its version.
func clientOptions() core.GraphClientOptions {
	var options core.GraphClientOptions
	if info, ok := debug.ReadBuildInfo(); ok {
		i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == "github.com/microsoftgraph/msgraph-sdk-go" })
		if i >= 0 {
			options.GraphServiceLibraryVersion = info.Deps[i].Version[1:]
		}
	}
	return options
}
