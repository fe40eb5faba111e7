package statement_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/datasource/statement"
)

func TestStatements(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"SELECT 1":                   "SELECT 1",
		" \n select 1 ;\n -- done\n": "select 1",
		";WITH a AS (SELECT 1 AS b) SELECT b FROM a;;":                             "WITH a AS (SELECT 1 AS b) SELECT b FROM a",
		"-- people\n/* of /* all */ kinds */ SELECT id FROM people":                "SELECT id FROM people",
		"(SELECT 1) UNION ALL (SELECT 2)":                                          "(SELECT 1) UNION ALL (SELECT 2)",
		"SELECT 'a;b', N'it''s; DELETE', \"up\"\"date;\", [drop];":                 "SELECT 'a;b', N'it''s; DELETE', \"up\"\"date;\", [drop]",
		"SELECT [a]]; DELETE FROM b] FROM c":                                       "SELECT [a]]; DELETE FROM b] FROM c",
		"SELECT updated, deleted_at, @set, into_x, Ünset FROM t -- DELETE":         "SELECT updated, deleted_at, @set, into_x, Ünset FROM t",
		"SELECT a FROM b INNER MERGE JOIN c ON b.d = c.d OPTION (MERGE UNION)":     "SELECT a FROM b INNER MERGE JOIN c ON b.d = c.d OPTION (MERGE UNION)",
		"SELECT a FROM b OPTION (USE HINT('FORCE_LEGACY_CARDINALITY_ESTIMATION'))": "SELECT a FROM b OPTION (USE HINT('FORCE_LEGACY_CARDINALITY_ESTIMATION'))",
		"SELECT a - -1, b/2 FROM c WHERE d --;\n = 1":                              "SELECT a - -1, b/2 FROM c WHERE d --;\n = 1",
	} {
		got, err := statement.TransactSQL.Check(query)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v", query, got, err)
		}
	}
	for query, want := range map[string]string{
		"":                            "empty",
		" ; -- SELECT 1":              "empty",
		"SELECT 1; SELECT 2":          "more than one",
		"SELECT 1;;SELECT 2":          "more than one",
		"DELETE FROM people":          "begins with SELECT or WITH",
		"people":                      "begins with SELECT or WITH",
		"EXEC people":                 "begins with SELECT or WITH",
		"DECLARE @a int = 1 SELECT":   "begins with SELECT or WITH",
		"((":                          "begins with SELECT or WITH",
		"VALUES (1)":                  "begins with SELECT or WITH",
		"SELECT 1 DELETE FROM people": "DELETE",
		"SELECT 1 drop table people":  "DROP",
		"WITH a AS (SELECT 1 AS b) UPDATE people SET c = 1":          "UPDATE",
		"SELECT * INTO #a FROM people":                               "INTO",
		"SELECT 1 COMMIT":                                            "COMMIT",
		"SELECT 1 EXEC('x')":                                         "EXEC",
		"SELECT/**/1/**/MERGE/**/people":                             "MERGE",
		"SELECT 1 USE master":                                        "USE",
		"SELECT * FROM OPENQUERY(other, 'DELETE FROM a')":            "OPENQUERY",
		"SELECT 1 /* /* */ DELETE FROM a":                            "comment is not closed",
		"SELECT 'a":                                                  "is not closed",
		"SELECT [a":                                                  "is not closed",
		"SELECT 1 /* one */ /* two /* three */ */ TRUNCATE TABLE a":  "TRUNCATE",
		"SELECT 'a' 'DELETE' [b]] DELETE] \"c\"\" DELETE\" SHUTDOWN": "SHUTDOWN",
	} {
		if got, err := statement.TransactSQL.Check(query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v", query, got, err)
		}
	}
	for query, good := range map[string]bool{
		"VALUES (1, 2)": true,
		"SELECT 1 \xff": true, // the server says what is wrong
		"SELECT replace(a, 'b', 'c') FROM `d;e` /* /* */": true,
		"SELECT 1; SELECT 2":                              false,
		"PRAGMA query_only(0)":                            false,
		"ATTACH 'a' AS b":                                 false,
		"DELETE FROM a":                                   false,
		"SELECT 1; PRAGMA user_version":                   false,
	} {
		if got, err := statement.SQLite.Check(query); (err == nil) != good {
			t.Errorf("%q: %q, %v", query, got, err)
		}
	}
	for query, good := range map[string]bool{
		"SELECT 'it\\'s; DELETE', \"a\\\";b\", `up``date;` FROM c": true,
		"WITH a AS (SELECT 1 AS b) SELECT b FROM a;":               true,
		"SELECT r'\\\\' /* /* */ ; */ FROM c":                      true,
		"WITH a AS (SELECT 1) INSERT INTO b SELECT * FROM a":       false,
		"MERGE INTO a USING b ON a.c = b.c":                        false,
		"DROP TABLE people":                                        false,
		"SELECT 1; DROP TABLE people":                              false,
		"SELECT 'it\\'; DROP TABLE people":                         false,
		"FROM a INSERT INTO b SELECT *":                            false,
	} {
		if got, err := statement.Databricks.Check(query); (err == nil) != good {
			t.Errorf("%q: %q, %v", query, got, err)
		}
	}
	for query, good := range map[string]bool{
		"SELECT 'it\\' || E'it\\'s; ' || e'', $$it's; $$ || $a_1$ $$; $ ' $a_1$ FROM c;": true,
		"SELECT \"update\", delete, a[1:2], b->>'c', 1::text /* /* ; */ */ FROM t -- ;":  true,
		"WITH a AS (SELECT 1 AS b) SELECT b FROM a":                                      true,
		"VALUES (1), (2)":                        true,
		"SELECT a$b$, c$b$ FROM d":               true, // names
		"SELECT '; ' WHERE $1 = $2":              true,
		"SELECT 1; SELECT 2":                     false,
		"SELECT E'\\'; DROP TABLE people --'":    true,
		"SELECT nameE'\\'; DROP TABLE people --": false,
		"SELECT '\\'; DROP TABLE people --'":     false,
		"SELECT $a$ $b$; DROP TABLE people $b$":  false,
		"SELECT $$a":                             false,
		"SELECT E'a":                             false,
		"SELECT * INTO b FROM a":                 false,
		"DELETE FROM a":                          false,
		"SET a TO 1":                             false,
		"COPY a TO PROGRAM 'b'":                  false,
		"CALL a()":                               false,
		"EXPLAIN SELECT 1":                       false,
	} {
		if got, err := statement.Postgres.Check(query); (err == nil) != good {
			t.Errorf("%q: %q, %v", query, got, err)
		}
	}
}
