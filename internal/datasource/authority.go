package datasource

import (
	"net/url"
	"os"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

// LocalAuthority reports whether this program's tokens are made on this machine, where there is no service that knows all
// authorities.
func LocalAuthority() bool {
	u, err := url.Parse(os.Getenv("AZURE_AUTHORITY_HOST"))
	return err == nil && u.Host != "" && loopback.Is(u.Hostname())
}
