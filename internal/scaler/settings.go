package scaler

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/internal/env"
)

// Environment variables of the container scaler, which is off if none of ACI_* and SB_* is set.
const (
	envSubscriptionID  = "AZURE_SUBSCRIPTION_ID"          // id of the Azure subscription of the container groups
	envResourceGroup   = "AZURE_RESOURCE_GROUP"           // resource group of the container groups
	envImage           = "ACI_IMAGE"                      // image of the containers, such as name.azurecr.io/validator:1.4
	envPrefix          = "ACI_NAME_PREFIX"                // beginning of the names of container groups, and the value of their tag managed_by: at most 36 lower-case letters, digits and single hyphens
	envLocation        = "ACI_LOCATION"                   // Azure region of the container groups, such as westeurope
	envMaxInstances    = "ACI_MAX_INSTANCES"              // number of container groups that may be active at once, 0 to 1000. 0 creates none
	envCPU             = "ACI_DEFAULT_CPU"                // cores of a container, 1 to 31 in steps of 0.1. Default: 1
	envMultiplier      = "ACI_MEMORY_MULTIPLIER"          // GB of memory for each GB of the file that a message names. Default: 1
	envMinMemory       = "ACI_MIN_MEMORY_GB"              // least memory of a container in GB, from 1. Default: 1
	envMaxMemory       = "ACI_MAX_MEMORY_GB"              // most memory of a container in GB, up to 240. Default: 16
	envIdentity        = "ACI_IDENTITY_ID"                // resource id of the user-assigned identity that containers get; it also pulls the image, unless ACR_USERNAME is set
	envSubnet          = "ACI_SUBNET_ID"                  // resource id of a subnet for the containers, delegated to Microsoft.ContainerInstance/containerGroups
	envRegistry        = "ACR_SERVER"                     // registry of the image, such as name.azurecr.io; without it the image is public
	envRegistryUser    = "ACR_USERNAME"                   // user of the registry, instead of ACI_IDENTITY_ID
	envRegistrySecret  = "ACR_PASSWORD"                   // password of ACR_USERNAME
	envBusString       = "SB_CONNECTION_STR"              // connection string of the Service Bus namespace, instead of the managed identity
	envBusNamespace    = "SB_NAMESPACE"                   // Service Bus namespace, such as name or name.servicebus.windows.net. Required, unless SB_CONNECTION_STR names it
	envBusGroup        = "SB_RESOURCE_GROUP"              // resource group of the namespace. Default: AZURE_RESOURCE_GROUP
	envTopic           = "SB_TOPIC_NAME"                  // topic whose subscriptions are scaled
	envSubscriptionEnv = "INSTANCE_SUBSCRIPTION_ENV_NAME" // name of the variable by which a container learns its subscription
	envMessageEnv      = "INSTANCE_MESSAGE_ENV_NAME"      // name of the variable by which a container learns the id of its message; empty: it does not
)

// instancePrefix begins the names of variables that containers get, without it.
const instancePrefix = "INSTANCE_"

// Settings configure the scaler.
type Settings struct {
	SubscriptionID, ResourceGroup string

	Image, Prefix, Location string
	MaxInstances            int
	CPU                     int // in tenths of a core
	Memory                  Memory
	Registry                Registry
	Identity, Subnet        string

	Env                         []Variable // by name
	SubscriptionEnv, MessageEnv string

	Topic            string
	Namespace        string // of Service Bus, without a domain
	NamespaceHost    string // fully qualified; empty with a connection string
	NamespaceGroup   string
	ConnectionString string
}

// Memory sizes containers. Min and Max are in tenths of a GB.
type Memory struct {
	Multiplier *big.Rat
	Min, Max   int
}

// Registry is where the image comes from. Server is empty for a public image; User is empty if the attached
// identity pulls it.
type Registry struct{ Server, User, Password string }

// Limits returns the limits of a tick.
func (s *Settings) Limits() Limits { return Limits{MaxInstances: s.MaxInstances, PerTick: PerTick} }

// Bounds of the service for one group.
const (
	maxInstances = 1000
	minCPU       = 10   // tenths
	maxCPU       = 310  // tenths
	minMemory    = 10   // tenths
	maxMemory    = 2400 // tenths
)

// ReadSettings reads the settings from variables. names has the names of all that are set, of which those
// of containers are some. It returns nil if none of the scaler's own is set: then it is off.
func ReadSettings(lookup func(string) string, names []string) (*Settings, error) {
	if !slices.ContainsFunc([]string{envImage, envPrefix, envLocation, envMaxInstances, envTopic, envBusNamespace, envBusString}, func(name string) bool { return lookup(name) != "" }) {
		return nil, nil
	}
	r := reader{env.New(lookup)}
	s := &Settings{
		SubscriptionID: r.form(envSubscriptionID, "the id of the Azure subscription of the container groups", guidForm, "use the GUID of a subscription"),
		ResourceGroup:  r.form(envResourceGroup, "the resource group of the container groups", groupForm, "use the name of a resource group"),
		Image:          r.form(envImage, "the image of the containers, such as name.azurecr.io/validator:1.4", imageForm, "use an image with a tag or a digest, such as name.azurecr.io/validator:1.4"),
		Prefix:         r.prefix(),
		Location:       r.form(envLocation, "the Azure region of the container groups, such as westeurope", locationForm, "use the name of a region without blanks, such as westeurope"),
		CPU:            r.tenths(envCPU, minCPU, minCPU, maxCPU),
		Memory: Memory{
			Multiplier: r.multiplier(),
			Min:        r.tenths(envMinMemory, minMemory, minMemory, maxMemory), Max: r.tenths(envMaxMemory, 160, minMemory, maxMemory),
		},
		Registry: Registry{Server: r.Text(envRegistry), User: r.Text(envRegistryUser), Password: r.Text(envRegistrySecret)},
		Identity: r.optional(envIdentity, identityForm, "use the resource id of a user-assigned identity: /subscriptions/…/resourceGroups/…/providers/Microsoft.ManagedIdentity/userAssignedIdentities/name"),
		Subnet:   r.optional(envSubnet, subnetForm, "use the resource id of a subnet: /subscriptions/…/resourceGroups/…/providers/Microsoft.Network/virtualNetworks/name/subnets/name"),
		Topic:    r.form(envTopic, "the topic whose subscriptions are scaled", topicForm, "use the name of a topic"),
	}
	r.Required(envMaxInstances, "the number of container groups that may be active at once, such as 10")
	s.MaxInstances = r.Number(envMaxInstances, 0, 0, maxInstances)
	if s.Memory.Min > s.Memory.Max {
		r.Problem("%s is more than %s: raise %[2]s", envMinMemory, envMaxMemory)
	}
	r.checkRegistry(s)
	r.readNamespace(s)
	s.NamespaceGroup = r.optional(envBusGroup, groupForm, "use the name of a resource group")
	if s.NamespaceGroup == "" {
		s.NamespaceGroup = s.ResourceGroup
	}
	r.readInstance(s, names)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

var (
	guidForm         = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	groupForm        = regexp.MustCompile(`^[\p{L}\p{N}._()-]{0,89}[\p{L}\p{N}_()-]$`)
	imageForm        = regexp.MustCompile(`^[^\s/:@][^\s:@]*(:\d+/[^\s:@]+)?(:[^\s:@/]+|@sha256:[0-9a-f]{64})$`)
	prefixForm       = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	locationForm     = regexp.MustCompile(`^[a-z0-9]+$`)
	topicForm        = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._/-]{0,258}[A-Za-z0-9])?$`)
	identityForm     = regexp.MustCompile(`(?i)^/subscriptions/[^/\s]+/resourceGroups/[^/\s]+/providers/Microsoft\.ManagedIdentity/userAssignedIdentities/[^/\s]+$`)
	subnetForm       = regexp.MustCompile(`(?i)^/subscriptions/[^/\s]+/resourceGroups/[^/\s]+/providers/Microsoft\.Network/virtualNetworks/[^/\s]+/subnets/[^/\s]+$`)
	registryForm     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\d{1,5})?$`)
	namespaceForm    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*(\.[A-Za-z0-9.-]+)?$`)
	variableForm     = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_]{0,61}[A-Za-z0-9])?$`)
	decimalForm      = regexp.MustCompile(`^\d{1,6}(\.\d{1,6})?$`)
	endpointForm     = regexp.MustCompile(`(?i)(?:^|;)\s*Endpoint\s*=\s*sb://([^/;:\s]+)`)
	entityPathForm   = regexp.MustCompile(`(?i)(?:^|;)\s*EntityPath\s*=`)
	defaultNamespace = ".servicebus.windows.net"
)

// reader reads the forms of settings that only the scaler has.
type reader struct{ *env.Reader }

// form reads a variable that has to be set.
func (r reader) form(name, what string, form *regexp.Regexp, do string) string {
	r.Required(name, what)
	return r.optional(name, form, do)
}

// optional reads a variable of a form. Its values are not secret.
func (r reader) optional(name string, form *regexp.Regexp, do string) string {
	value := r.Text(name)
	if value != "" && !form.MatchString(value) {
		r.Wrong(name, "invalid value %q: %s", value, do)
	}
	return value
}

func (r reader) prefix() string {
	value := r.form(envPrefix, "the beginning of the names of container groups, such as validator", prefixForm, "use lower-case letters and digits, with single hyphens between them")
	if len(value) > maxPrefix {
		r.Wrong(envPrefix, "%q has %d characters: use at most %d, because names of container groups have at most %d", value, len(value), maxPrefix, maxName)
	}
	return value
}

// tenths reads a decimal number and returns it in tenths.
func (r reader) tenths(name string, otherwise, least, most int) int {
	value := r.Text(name)
	if value == "" {
		return otherwise
	}
	if decimalForm.MatchString(value) {
		whole, fraction, _ := strings.Cut(value, ".")
		fraction = strings.TrimRight(fraction, "0")
		if n, err := strconv.Atoi(whole + (fraction + "0")[:1]); err == nil && len(fraction) <= 1 && n >= least && n <= most {
			return n
		}
	}
	r.Wrong(name, "%q is not a number from %s to %s in steps of 0.1", value, Tenths(least), Tenths(most))
	return otherwise
}

// Tenths formats a number of tenths, such as 15 as 1.5.
func Tenths(n int) string {
	if n%10 == 0 {
		return strconv.Itoa(n / 10)
	}
	return strconv.Itoa(n/10) + "." + strconv.Itoa(n%10)
}

func (r reader) multiplier() *big.Rat {
	value := r.Or(envMultiplier, "1")
	factor, ok := new(big.Rat).SetString(value)
	if !decimalForm.MatchString(value) || !ok || factor.Sign() <= 0 {
		r.Wrong(envMultiplier, "%q is not a positive number, such as 2.5", value)
		return big.NewRat(1, 1)
	}
	return factor
}

// checkRegistry checks the registry against the image. No problem quotes its server, which may be a password in
// the wrong place.
func (r reader) checkRegistry(s *Settings) {
	registry := s.Registry
	switch {
	case registry.Server == "" && registry.User+registry.Password != "":
		r.Problem("%s is not set, but %s or %s is: set it to the registry of the image", envRegistry, envRegistryUser, envRegistrySecret)
	case registry.Server == "":
	case !registryForm.MatchString(registry.Server):
		r.Wrong(envRegistry, "use the host name of a registry, such as name.azurecr.io")
	case (registry.User == "") != (registry.Password == ""):
		r.Problem("set both %s and %s, or neither", envRegistryUser, envRegistrySecret)
	case registry.User == "" && s.Identity == "":
		r.Problem("nothing can pull from the registry of %s: set %s to an identity with the role AcrPull, or %s and %s", envRegistry, envIdentity, envRegistryUser, envRegistrySecret)
	case s.Image != "" && !strings.HasPrefix(s.Image, registry.Server+"/"):
		r.Problem("%s %q is not of the registry of %s: begin it with the name of that registry and /, or remove %[3]s", envImage, s.Image, envRegistry)
	}
}

// readNamespace reads how to reach Service Bus. No problem quotes the connection string, nor the namespace, which
// may be one in the wrong place.
func (r reader) readNamespace(s *Settings) {
	s.ConnectionString = r.Text(envBusString)
	named := r.Text(envBusNamespace)
	if named != "" && !namespaceForm.MatchString(named) {
		r.Wrong(envBusNamespace, "it is not a namespace: use a name, or a host name such as name.servicebus.windows.net")
		return
	}
	if s.ConnectionString != "" {
		host := endpointForm.FindStringSubmatch(s.ConnectionString)
		switch {
		case host == nil:
			r.Wrong(envBusString, "it is not a connection string of Service Bus: use one such as Endpoint=sb://name.servicebus.windows.net/;SharedAccessKeyName=…;SharedAccessKey=…")
		case entityPathForm.MatchString(s.ConnectionString):
			r.Wrong(envBusString, "it has an EntityPath: use a connection string of the namespace")
		case named == "":
			named = host[1]
		}
	}
	if named == "" {
		if s.ConnectionString == "" {
			r.Problem("set %s, to read with the managed identity, or %s", envBusNamespace, envBusString)
		}
		return
	}
	name, domain, _ := strings.Cut(named, ".")
	s.Namespace = name
	if s.ConnectionString == "" {
		if s.NamespaceHost = named; domain == "" {
			s.NamespaceHost = named + defaultNamespace
		}
	}
}

// readInstance reads the variables of the containers. All are secure values: nothing tells for certain which are secrets.
func (r reader) readInstance(s *Settings, names []string) {
	s.SubscriptionEnv, s.MessageEnv = r.variable(envSubscriptionEnv), r.variable(envMessageEnv)
	if s.SubscriptionEnv != "" && s.SubscriptionEnv == s.MessageEnv {
		r.Problem("%s and %s are both %s: give each its own name", envSubscriptionEnv, envMessageEnv, s.MessageEnv)
	}
	for _, variable := range names {
		name, ok := strings.CutPrefix(variable, instancePrefix)
		value := r.Text(variable)
		if !ok || value == "" || variable == envSubscriptionEnv || variable == envMessageEnv {
			continue
		}
		s.Env = append(s.Env, Variable{Name: name, Value: value, Secure: true})
	}
	slices.SortFunc(s.Env, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	for _, v := range s.Env {
		switch {
		case !variableForm.MatchString(v.Name):
			r.Wrong(instancePrefix+v.Name, "%q cannot be the name of a variable of a container: use 1 to 63 letters, digits and underscores, with a letter or digit at both ends", v.Name)
		case v.Name == s.SubscriptionEnv:
			r.Problem("%s%s and %s both set %[2]s of the containers: remove one", instancePrefix, v.Name, envSubscriptionEnv)
		case v.Name == s.MessageEnv:
			r.Problem("%s%s and %s both set %[2]s of the containers: remove one", instancePrefix, v.Name, envMessageEnv)
		}
	}
}

// variable reads the name of a container's variable.
func (r reader) variable(name string) string {
	return r.optional(name, variableForm, "use 1 to 63 letters, digits and underscores, with a letter or digit at both ends")
}
