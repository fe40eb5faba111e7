package entra

import (
	"crypto/x509"
	"fmt"
	"strings"
	"sync"
)

// credentials replace the configured credentials of applications.
type credentials struct {
	mu       sync.Mutex
	replaced map[string]Application // by tenant ID and client ID
}

// SetCredentials replaces all secrets and certificates of an application, as an
// administrator does who adds and removes them at its app registration. Tokens that
// were issued stay valid.
func (s *Server) SetCredentials(tenantID, clientID string, secrets []string, certificates []*x509.Certificate) error {
	tenant, ok := s.config.tenant(tenantID)
	if !ok {
		return fmt.Errorf("no tenant %q", tenantID)
	}
	client, ok := tenant.application(clientID)
	if !ok || client.Public {
		return fmt.Errorf("tenant %q has no confidential application %q", tenantID, clientID)
	}
	client.Secrets, client.Certificates = secrets, certificates
	s.credentials.mu.Lock()
	defer s.credentials.mu.Unlock()
	if s.credentials.replaced == nil {
		s.credentials.replaced = map[string]Application{}
	}
	s.credentials.replaced[credentialsKey(tenant, client)] = client
	return nil
}

// current is the client with the credentials that it has now.
func (c *credentials) current(tenant Tenant, client Application) Application {
	c.mu.Lock()
	defer c.mu.Unlock()
	if replaced, ok := c.replaced[credentialsKey(tenant, client)]; ok {
		return replaced
	}
	return client
}

func credentialsKey(tenant Tenant, client Application) string {
	return strings.ToLower(tenant.ID + " " + client.ClientID)
}
