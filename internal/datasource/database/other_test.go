package database

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

func init() { Register("lite", "sqlite") }

// A driver that a build put in: here the one of SQLite once more, to which the connection
// is the name of a file in the directory that it runs in. It gives times as Go has them.
func TestOtherDrivers(t *testing.T) {
	t.Chdir(t.TempDir())
	db := testenv.Must(sql.Open("sqlite", "lite:people.db?_pragma=busy_timeout(5000)"))(t)
	defer db.Close()
	for declared, values := range map[string][2]string{ // value, JSON
		"INTEGER":       {"7", "7"},
		"REAL":          {"0.5", "0.5"},
		"TEXT":          {"'x'", `"x"`},
		"VARCHAR(20)":   {"'x'", `"x"`},
		"UUID":          {"'x'", `"x"`},
		"BLOB":          {"x'00'", `"AA=="`},
		"DECIMAL":       {"cast(x'312e3530' AS TEXT) || ''", "1.5"},
		"DATE":          {"'2026-03-01'", `"2026-03-01"`},
		"DATETIME":      {"'2026-03-01 18:00:00'", `"2026-03-01T18:00:00"`},
		"TIMESTAMP":     {"'2026-03-01T18:00:00.5'", `"2026-03-01T18:00:00.5"`},
		"GEOGRAPHY":     {"'x'", ""},
		"JSON":          {"x'00'", ""},
		"DECIMAL(10,2)": {"NULL", "null"},
	} {
		write(t, db, "DROP TABLE IF EXISTS a")
		write(t, db, "CREATE TABLE a (v "+declared+")")
		write(t, db, "INSERT INTO a VALUES ("+values[0]+")")
		_, rows, err := all(t, open(t, "lite:people.db", "SELECT v FROM a"))
		switch {
		case values[1] == "":
			if err == nil || !strings.Contains(err.Error(), `row 1, column "v": `) {
				t.Errorf("%s: %v, %v", declared, rows, err)
			}
		case err != nil || fmt.Sprint(rows) != fmt.Sprintf("[[%s]]", values[1]):
			t.Errorf("%s: %v, %v", declared, rows, err)
		}
	}
	if _, _, err := all(t, open(t, "lite:people.db", "SELECT v FROM nobody")); err == nil || !strings.Contains(err.Error(), "no such table") {
		t.Errorf("%v", err)
	}
	if _, err := OpenSQL(datasource.Spec{Connection: "lite:people.db", Query: "DELETE FROM a"}); err == nil {
		t.Error("a query that writes was taken")
	}
	defer func() {
		if recover() == nil {
			t.Error("a scheme was registered twice")
		}
	}()
	Register("lite", "sqlite")
}
