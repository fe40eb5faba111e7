package postgres_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/store/postgres"
)

func TestConnectionsAreRefusedWithoutTheirPassword(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"hunter2": "use postgres://",
		"postgres://app:hunter2@pg.contoso.com/state?sslmode=disable":  "always encrypted",
		"postgres://app@pg.contoso.com/state":                          "authentication is missing",
		"postgres://app@contoso.postgres.database.azure.com/matoolkit": "no identity",
	} {
		if _, err := postgres.Open(postgres.Config{URL: url}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want %s", url, err, want)
		}
	}
}
