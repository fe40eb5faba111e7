//go:build postgres

package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/pgconnect/pgtest"
)

// fromPostgreSQL is a runbook whose people are in PostgreSQL, in columns of several types.
const fromPostgreSQL = `
name: from-postgresql
data_source:
  type: postgres
  connection: PEOPLE
  query: SELECT mail, starts_at, addresses, seat, details FROM people WHERE NOT done
  primary_key: mail
  batch_time_column: starts_at
  removal_guard: 40%
  multi_valued_columns:
    - {name: addresses, format: json_array}
phases:
  - name: look
    offset: T-0
    steps:
      - {name: look, worker_id: worker-01, function: Test-EntraAddressAvailable, params: {Address: "{{mail}}"}}
on_member_removed:
  - {name: farewell, worker_id: worker-01, function: Test-EntraAddressAvailable, params: {Address: "{{mail}}"}}
`

// TestPeopleOfPostgreSQL has a batch appear from a table, over TLS and with a password. A row goes and its person leaves;
// many go and are held; the server refuses connections and nothing changes. Then the handler is killed, and the batch completes.
func TestPeopleOfPostgreSQL(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	server := pgtest.Start(t, "hostssl people reader 127.0.0.1/32 scram-sha-256\n")
	server.Exec(t, "postgres", "CREATE ROLE reader LOGIN PASSWORD '"+password+"'")
	server.Exec(t, "postgres", "CREATE DATABASE people ENCODING 'UTF8' TEMPLATE template0")
	server.Exec(t, "people", `CREATE TABLE people (mail text PRIMARY KEY, starts_at timestamptz, addresses jsonb, seat bigint, details text, done boolean NOT NULL DEFAULT false);
		GRANT SELECT ON people TO reader;
		INSERT INTO people SELECT name || '@contoso.example', '2035-03-01 18:00+01', jsonb_build_array('smtp:' || name || '@fabrikam.example'), row_number() OVER (), NULL
		FROM unnest(ARRAY['ann', 'bob', 'cy', 'dora', 'emil', 'øyvind']) AS name`)
	host, port, _ := strings.Cut(server.Address, ":")
	m := newMachineWith(t, []byte("{}"), environment{handler: map[string]string{
		"PEOPLE": fmt.Sprintf("host=%s port=%s dbname=people user=reader password=%s sslmode=verify-full sslrootcert=%s", host, port, password, server.CA),
	}}, everything)
	s := &saga{machine: m, admin: signIn(m), t: t, runbook: "from-postgresql"}
	s.moveTo(time.Date(2035, time.February, 1, 9, 1, 0, 0, time.UTC))
	s.write("people.yaml", []byte(fromPostgreSQL))
	s.must("runbook", "publish", s.path("people.yaml"), "--force")
	s.must("automation", "enable", s.runbook)
	change := func(statement string) { server.Exec(t, "people", statement) }

	s.tick()
	const others = "bob@contoso.example active, cy@contoso.example active, dora@contoso.example active, emil@contoso.example active, øyvind@contoso.example active"
	wantKeys(s, 1, "ann@contoso.example active, "+others)
	if b := s.get(1); !b.BatchStartTime.Equal(time.Date(2035, time.March, 1, 17, 0, 0, 0, time.UTC)) {
		t.Errorf("the batch starts at %s", b.BatchStartTime)
	}
	data := s.members(1)[1].Data
	if got := strings.Join(strings.Fields(fmt.Sprintf("%s %s", data["addresses"], data["seat"])), ""); got != `["smtp:bob@fabrikam.example"]2` {
		t.Errorf("bob has %s", got)
	}

	change("UPDATE people SET done = true WHERE mail LIKE 'ann@%'")
	s.tick()
	wantKeys(s, 1, "ann@contoso.example removed, "+others)

	change("UPDATE people SET done = true WHERE mail < 'e'") // by a mistake
	s.tick()
	held := s.removals(1)
	if held.Members != 3 || held.Of != 5 || !strings.Contains(held.Reason, "40%") {
		t.Errorf("held is %+v", held)
	}
	change("UPDATE people SET done = false WHERE mail < 'e' AND mail NOT LIKE 'ann@%'")
	s.tick()
	if b := s.get(1); b.Held != nil {
		t.Errorf("after the repair: %+v is held", b.Held)
	}

	change("ALTER ROLE reader CONNECTION LIMIT 0")
	s.tick()
	if v := s.automation(); !strings.Contains(v.LastError, "too many connections") {
		t.Errorf("while the server refuses connections: %q", v.LastError)
	}
	wantKeys(s, 1, "ann@contoso.example removed, "+others)
	change("ALTER ROLE reader CONNECTION LIMIT -1")

	s.moveTo(time.Date(2035, time.March, 1, 16, 58, 0, 0, time.UTC))
	s.tick()
	s.moveTo(time.Date(2035, time.March, 1, 17, 0, 1, 0, time.UTC))
	if err := m.kill("handler", 0); err != nil {
		t.Fatal(err)
	}
	s.awaitBatch(1, "completed")
	if p := s.phaseOf(1, "look"); p.Succeeded != 5 || p.Members != 5 {
		t.Errorf("look: %+v", p)
	}
	log, err := os.ReadFile(m.path(everything + ".log"))
	if err != nil || strings.Contains(string(log), password) {
		t.Errorf("the log has the password, or cannot be read: %v", err)
	}
}
