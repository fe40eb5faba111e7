package scaler_test

import (
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/scaler"
)

// required are settings that suffice.
var required = map[string]string{
	"AZURE_SUBSCRIPTION_ID": "6b4a8f0e-0000-4000-8000-000000000001", "AZURE_RESOURCE_GROUP": "validators", "ACI_IMAGE": "registry.example/validator:1.4",
	"ACI_NAME_PREFIX": "validator", "ACI_LOCATION": "westeurope", "ACI_MAX_INSTANCES": "3", "SB_NAMESPACE": "contoso", "SB_TOPIC_NAME": "validations",
}

// with is required with other values; an empty one removes a setting.
func with(others map[string]string) (lookup func(string) string, names []string) {
	values := maps.Clone(required)
	maps.Copy(values, others)
	return func(name string) string { return values[name] }, slices.Collect(maps.Keys(values))
}

func settings(t interface {
	Helper()
	Fatal(args ...any)
}, others map[string]string,
) *scaler.Settings {
	t.Helper()
	s, err := scaler.ReadSettings(with(others))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheScalerIsOffWithoutSettings(t *testing.T) {
	t.Parallel()
	values := map[string]string{"AZURE_SUBSCRIPTION_ID": "x", "INSTANCE_A": "b", "PATH": "/bin", "ACI_IMAGE": ""}
	if s, err := scaler.ReadSettings(func(name string) string { return values[name] }, slices.Collect(maps.Keys(values))); s != nil || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestEveryRequiredSettingIsNamedIfItIsMissing(t *testing.T) {
	t.Parallel()
	for name := range required {
		_, err := scaler.ReadSettings(with(map[string]string{name: ""}))
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), ";") {
			t.Errorf("without %s: %v", name, err)
		}
	}
	_, err := scaler.ReadSettings(func(name string) string { return map[string]string{"SB_TOPIC_NAME": "validations"}[name] }, nil)
	for name := range required {
		if name != "SB_TOPIC_NAME" && (err == nil || !strings.Contains(err.Error(), name)) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}

func TestDefaultsAndNamespaces(t *testing.T) {
	t.Parallel()
	s := settings(t, nil)
	if s.CPU != 10 || s.Memory.Min != 10 || s.Memory.Max != 160 || s.Memory.Multiplier.Cmp(big.NewRat(1, 1)) != 0 || s.MaxInstances != 3 ||
		s.Namespace != "contoso" || s.NamespaceHost != "contoso.servicebus.windows.net" || s.NamespaceGroup != "validators" || s.ConnectionString != "" {
		t.Errorf("defaults %+v", s)
	}
	s = settings(t, map[string]string{"SB_NAMESPACE": "contoso.servicebus.chinacloudapi.cn", "SB_RESOURCE_GROUP": "bus"})
	if s.Namespace != "contoso" || s.NamespaceHost != "contoso.servicebus.chinacloudapi.cn" || s.NamespaceGroup != "bus" {
		t.Errorf("namespace %+v", s)
	}
	const connection = "Endpoint=sb://fabrikam.servicebus.windows.net/;SharedAccessKeyName=listen;SharedAccessKey=s3cret"
	s = settings(t, map[string]string{"SB_NAMESPACE": "", "SB_CONNECTION_STR": connection})
	if s.Namespace != "fabrikam" || s.NamespaceHost != "" || s.ConnectionString != connection {
		t.Errorf("namespace of the connection string %+v", s)
	}
	s = settings(t, map[string]string{"SB_NAMESPACE": "named", "SB_CONNECTION_STR": connection})
	if s.Namespace != "named" || s.NamespaceHost != "" || s.ConnectionString != connection {
		t.Errorf("namespace beside a connection string %+v", s)
	}
	s = settings(t, map[string]string{"ACI_DEFAULT_CPU": "2.50", "ACI_MIN_MEMORY_GB": "1.5", "ACI_MAX_MEMORY_GB": "240", "ACI_MAX_INSTANCES": "0"})
	if s.CPU != 25 || s.Memory.Min != 15 || s.Memory.Max != 2400 || s.MaxInstances != 0 {
		t.Errorf("sizes %+v", s)
	}
	const identity = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/pull"
	s = settings(t, map[string]string{"ACR_SERVER": "registry.example", "ACI_IDENTITY_ID": identity})
	if s.Identity != identity || s.Registry != (scaler.Registry{Server: "registry.example"}) {
		t.Errorf("registry %+v", s)
	}
}

func TestInvalidSettingsAreRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, want string }{
		{"AZURE_SUBSCRIPTION_ID", "production", `AZURE_SUBSCRIPTION_ID: invalid value "production": use the GUID of a subscription`},
		{"AZURE_RESOURCE_GROUP", "a/b", "use the name of a resource group"},
		{"ACI_IMAGE", "validator", "use an image with a tag or a digest"},
		{"ACI_IMAGE", "https://name.azurecr.io/validator:1", "use an image with a tag or a digest"},
		{"ACI_NAME_PREFIX", "Validator", "use lower-case letters and digits, with single hyphens between them"},
		{"ACI_NAME_PREFIX", "-a", "ACI_NAME_PREFIX"},
		{"ACI_NAME_PREFIX", "a--b", "ACI_NAME_PREFIX"},
		{"ACI_NAME_PREFIX", "a-", "ACI_NAME_PREFIX"},
		{"ACI_NAME_PREFIX", strings.Repeat("a", 37), "has 37 characters: use at most 36"},
		{"ACI_LOCATION", "West Europe", "such as westeurope"},
		{"ACI_MAX_INSTANCES", "-1", `"-1" is not a whole number from 0 to 1000`},
		{"ACI_MAX_INSTANCES", "many", `"many" is not a whole number`},
		{"ACI_DEFAULT_CPU", "0.5", `"0.5" is not a number from 1 to 31 in steps of 0.1`},
		{"ACI_DEFAULT_CPU", "1.25", "in steps of 0.1"},
		{"ACI_DEFAULT_CPU", "1,5", "in steps of 0.1"},
		{"ACI_MEMORY_MULTIPLIER", "0", `"0" is not a positive number`},
		{"ACI_MEMORY_MULTIPLIER", "-2", "is not a positive number"},
		{"ACI_MEMORY_MULTIPLIER", "1e999999999", "is not a positive number"},
		{"ACI_MIN_MEMORY_GB", "0.5", `"0.5" is not a number from 1 to 240`},
		{"ACI_MIN_MEMORY_GB", "17", "ACI_MIN_MEMORY_GB is more than ACI_MAX_MEMORY_GB: raise ACI_MAX_MEMORY_GB"},
		{"ACI_MAX_MEMORY_GB", "241", `"241" is not a number from 1 to 240`},
		{"ACI_IDENTITY_ID", "pull", "use the resource id of a user-assigned identity"},
		{"ACI_SUBNET_ID", "/subscriptions/s", "use the resource id of a subnet"},
		{"ACR_SERVER", "registry.example", "nothing can pull from the registry of ACR_SERVER: set ACI_IDENTITY_ID to an identity with the role AcrPull, or ACR_USERNAME and ACR_PASSWORD"},
		{"ACR_SERVER", "https://registry.example", "use the host name of a registry"},
		{"ACR_SERVER", "DefaultEndpointsProtocol=https;AccountKey=s3cret", "ACR_SERVER: use the host name of a registry"},
		{"ACR_USERNAME", "u", "ACR_SERVER is not set, but ACR_USERNAME or ACR_PASSWORD is"},
		{"SB_TOPIC_NAME", "a b", "use the name of a topic"},
		{"SB_NAMESPACE", "sb://contoso", "SB_NAMESPACE: it is not a namespace: use a name, or a host name"},
		{"SB_NAMESPACE", "Endpoint=sb://contoso.servicebus.windows.net/;SharedAccessKeyName=listen;SharedAccessKey=s3cret", "SB_NAMESPACE: it is not a namespace"},
		{"SB_CONNECTION_STR", "s3cret", "SB_CONNECTION_STR: it is not a connection string of Service Bus"},
		{"SB_CONNECTION_STR", "Endpoint=sb://a.example/;SharedAccessKey=s3cret;EntityPath=t", "use a connection string of the namespace"},
		{"SB_RESOURCE_GROUP", "a/b", "SB_RESOURCE_GROUP"},
		{"INSTANCE_SUBSCRIPTION_ENV_NAME", "a-b", "use 1 to 63 letters, digits and underscores"},
		{"INSTANCE_A-B", "x", `INSTANCE_A-B: "A-B" cannot be the name of a variable of a container`},
		{"INSTANCE_", "x", `INSTANCE_: "" cannot be the name`},
		{"INSTANCE_A_", "x", `"A_" cannot be the name`},
	} {
		_, err := scaler.ReadSettings(with(map[string]string{c.name: c.value}))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s=%s: %v, want %s", c.name, c.value, err, c.want)
		}
	}
	for want, others := range map[string]map[string]string{
		"set both ACR_USERNAME and ACR_PASSWORD, or neither":                                                             {"ACR_SERVER": "registry.example", "ACR_PASSWORD": "s3cret"},
		`"registry.example/validator:1.4" is not of the registry of ACR_SERVER: begin it with the name of that registry`: {"ACR_SERVER": "other.example", "ACR_USERNAME": "u", "ACR_PASSWORD": "s3cret"},
		"INSTANCE_NAME and INSTANCE_SUBSCRIPTION_ENV_NAME both set NAME of the containers: remove one":                   {"INSTANCE_NAME": "x", "INSTANCE_SUBSCRIPTION_ENV_NAME": "NAME"},
		"INSTANCE_NAME and INSTANCE_MESSAGE_ENV_NAME both set NAME of the containers: remove one":                        {"INSTANCE_NAME": "x", "INSTANCE_MESSAGE_ENV_NAME": "NAME"},
		"INSTANCE_SUBSCRIPTION_ENV_NAME and INSTANCE_MESSAGE_ENV_NAME are both NAME: give each its own name":             {"INSTANCE_MESSAGE_ENV_NAME": "NAME", "INSTANCE_SUBSCRIPTION_ENV_NAME": "NAME"},
	} {
		_, err := scaler.ReadSettings(with(others))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v: %v, want %s", slices.Sorted(maps.Keys(others)), err, want)
		}
	}
}
