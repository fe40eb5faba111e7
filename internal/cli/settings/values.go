package settings

// The authentication methods. Only the first asks a person and keeps the sign-in; the others are
// for pipelines.
const (
	DeviceCode        = "device-code"
	AzureCLI          = "azure-cli"
	ManagedIdentity   = "managed-identity"
	ClientCertificate = "client-certificate"
)

// AuthMethods are all authentication methods.
var AuthMethods = []string{DeviceCode, AzureCLI, ManagedIdentity, ClientCertificate}

// The stores of a sign-in: the key store of the system (Keychain, DPAPI, the kernel's keyring), or
// a file that only its owner can read on a machine without one, such as a container.
const (
	StoreAuto   = "auto"
	StoreSystem = "system"
	StoreFile   = "file"
)

// LocalHint is the hint for a terminal without the environment of the local system.
const LocalHint = `For the system on this machine: eval "$(matoolkit local env)"`
