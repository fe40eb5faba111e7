package cli_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/entra"
)

// TestCorrections corrects members as a person does: one by the key, several by a file, and retries
// the one who failed with the right value.
func TestCorrections(t *testing.T) {
	t.Parallel()
	s := newSystem(t, entra.DefaultAdminUPN)
	p := &transcript{person: s.signedIn()}
	p.type_(0, "runbook", "publish", p.file("moves.yaml", moves), "--force")
	p.type_(0, "batch", "create", "moves", p.file("members.csv", "UserId,Mail\nann,refuse@x\nbob,b@x\neve,e@x\n"))
	p.type_(0, "member", "set", "1", "ann", "Mail=ann@x", "--dry-run")
	p.type_(0, "member", "set", "1", "ann", "Mail=ann@x", "--reason", "a typo")
	p.type_(0, "member", "set", "1", "ann", "Mail=ann@x")
	p.type_(5, "member", "set", "1", "ann", "mail=ann@x")
	p.type_(5, "member", "set", "1", "ann", "UserId=anna")
	p.type_(4, "member", "set", "1", "zoe", "Mail=z@x")
	p.type_(2, "member", "set", "1", "ann", "Mail")
	p.type_(2, "member", "set", "1", "ann")
	p.type_(5, "member", "clear-override", "1", "ann", "Mail")
	p.type_(5, "batch", "update-members", "1", p.file("bad.csv", "UserId,Mail,Size\nbob,b2@x,1\nzoe,z@x,2\n"), "--dry-run")
	p.type_(5, "batch", "update-members", "1", p.file("worse.csv", "UserId,Size\nbob,1\n"), "--dry-run")
	good := p.file("good.csv", "UserId,Mail\nbob,b2@x\neve,e@x\n")
	p.type_(0, "batch", "update-members", "1", good, "--dry-run")
	p.type_(2, "batch", "update-members", "1", good)
	p.type_(0, "batch", "update-members", "1", good, "--yes", "--reason", "ticket 7")
	p.type_(0, "batch", "update-members", "1", good, "--yes")
	p.type_(0, "batch", "update-members", "1", good, "--dry-run")
	p.type_(0, "member", "get", "1", "bob")
	p.type_(0, "batch", "steps", "1", "--member", "bob")
	p.type_(0, "batch", "remove-member", "1", "eve", "--yes")
	p.type_(0, "batch", "audit", "1")
	golden(t, "correct", p.plain(strings.ReplaceAll(p.String(), p.dir, "")))
}
