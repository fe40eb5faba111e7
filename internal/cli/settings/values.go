package settings

// The ways to sign in. Only the first asks a person and keeps what comes of it; the
// others are for pipelines, where nobody is asked and nothing is kept.
const (
	DeviceCode        = "device-code"
	AzureCLI          = "azure-cli"
	ManagedIdentity   = "managed-identity"
	ClientCertificate = "client-certificate"
)

// AuthMethods are all ways to sign in.
var AuthMethods = []string{DeviceCode, AzureCLI, ManagedIdentity, ClientCertificate}

// Where a sign-in is kept. The system's key store (Keychain, DPAPI, the kernel's
// keyring) is the place for it; on a machine without one, as in most containers, a
// file that only its owner reads stands in, or every command would have to ask for
// a sign-in of its own.
const (
	StoreAuto   = "auto"
	StoreSystem = "system"
	StoreFile   = "file"
)

// LocalHint is for whoever opened another terminal and forgot the environment.
const LocalHint = `For the system on this machine: eval "$(matoolkit local env)"`
