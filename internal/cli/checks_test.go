package cli_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/entra"
)

const checkedMoves = `name: checked
data_source: {type: csv, primary_key: UserId}
checks:
  - {name: mail-is-free, worker_id: worker-01, function: Test-Mail, require: true, params: {Mail: "{{Mail}}"}}
  - {name: name-is-free, worker_id: worker-01, function: Test-Name, params: {Name: "{{UserId}}"}}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: move, worker_id: worker-01, function: Move-User, params: {Mail: "{{Mail}}"}}
`

// TestChecks finds a mistake in the data before the first phase, corrects it, and checks again.
func TestChecks(t *testing.T) {
	t.Parallel()
	s := newSystem(t, entra.DefaultAdminUPN)
	p := &transcript{person: s.signedIn()}
	p.type_(0, "runbook", "publish", p.file("checked.yaml", checkedMoves), "--force", "--quiet")
	p.type_(0, "batch", "create", "checked", p.file("members.csv", "UserId,Mail\nann,bad@x\nbob,b@x\neve,e@x\n"), "--quiet")
	p.type_(1, "batch", "check", "1", "--watch", "--reason", "before the cut-over")
	p.type_(1, "batch", "checks", "1")
	p.type_(0, "batch", "checks", "1", "--status", "passed", "--member", "bob")
	p.type_(1, "batch", "checks", "1", "--member", "ann", "--output", "csv", "--columns", "member,check,status,required,error")
	p.type_(2, "batch", "checks", "1", "--member", "")
	p.type_(0, "batch", "check", "1", "--dry-run")
	p.type_(0, "batch", "check", "1", "--member", "bob", "--dry-run")
	p.type_(2, "batch", "check", "1", "--member", "")
	p.type_(4, "batch", "check", "1", "--member", "zoe")
	p.type_(0, "batch", "get", "1")
	p.type_(0, "batch", "members", "1", "--status", "failed")
	p.type_(0, "member", "set", "1", "ann", "Mail=ann@x", "--quiet")
	p.type_(0, "batch", "check", "1", "--member", "ann", "--watch")
	p.type_(0, "batch", "members", "1")
	p.type_(0, "batch", "check", "1")
	p.type_(0, "batch", "check", "1", "--watch", "--output", "json")
	p.type_(0, "batch", "audit", "1")
	p.type_(0, "batch", "add-members", "1", p.file("late.csv", "UserId,Mail\nfred,f@x\n"))
	p.type_(0, "batch", "create", "checked", p.file("next.csv", "UserId,Mail\ngus,g@x\n"))
	p.type_(0, "runbook", "publish", p.file("moves.yaml", moves), "--force", "--quiet")
	p.type_(0, "batch", "create", "moves", p.file("others.csv", "UserId,Mail\nfay,f@x\n"), "--quiet")
	p.type_(5, "batch", "check", "3")
	p.type_(0, "batch", "checks", "3")
	golden(t, "checks", p.plain(strings.ReplaceAll(p.String(), p.dir, "")))
}
