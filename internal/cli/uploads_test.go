package cli_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/local/entra"
)

const badgedByColumn = `name: badged
data_source: {type: csv, primary_key: UserId}
phases:
  - name: badge
    offset: T-0
    steps:
      - {name: new, worker_id: worker-01, function: New-Badge, params: {UserId: "{{UserId}}", Kind: "{{Kind}}"}}
`

// An administrator checks a file of German Excel, repairs it and uploads it.
func TestUploads(t *testing.T) {
	t.Parallel()
	system := newSystem(t, entra.DefaultAdminUPN)
	s := &transcript{person: system.signedIn()}
	s.type_(0, "runbook", "publish", s.file("moves.yaml", moves), "--quiet", "--force")
	s.type_(0, "batch", "create", "moves", s.file("members.csv", "\xef\xbb\xbfUserId;Mail\r\nu1;a@contoso.com\r\n"), "--dry-run")
	s.type_(0, "batch", "list")
	s.type_(5, "batch", "create", "moves", s.file("both.csv", "UserId;Note,Mail\nu1;x,a@contoso.com\n"), "--dry-run")
	s.type_(2, "batch", "create", "moves", s.file("both.csv", "UserId;Note,Mail\nu1;x,a@contoso.com\n"), "--delimiter", "space")
	s.type_(0, "batch", "create", "moves", s.file("members.csv", "UserId\tMail\nu1\ta@contoso.com\n"), "--delimiter", "tab")
	s.type_(0, "batch", "add-members", "1", s.file("more.csv", "UserId;Mail\nu1;a@contoso.com\nu2;b@contoso.com\n"), "--dry-run")
	s.type_(0, "batch", "add-members", "1", s.file("more.csv", "UserId;Mail\nu1;a@contoso.com\nu2;b@contoso.com\n"), "--dry-run", "--output", "json")
	s.type_(0, "runbook", "publish", s.file("badged.yaml", badgedByColumn), "--quiet", "--force")
	system.announce("worker-01")
	s.type_(5, "batch", "create", "badged", s.file("badges.csv", "UserId;Kind\n00000000-0000-4000-8000-000000000001;green\nu2;red\n"))
	golden(t, "uploads", s.String())
}
