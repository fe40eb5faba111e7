package runbook

import (
	"strings"
	"testing"
	"time"
)

// Zones are those of the IANA database, the same ones on every machine.
func TestTimeZones(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "America/Port-au-Prince", "Etc/GMT+5", "EST5EDT", "Asia/Kathmandu",
	} {
		rb, found := Parse([]byte(timed("time_zone: " + name)))
		if len(found) > 0 {
			t.Errorf("%s: %v", name, found)
			continue
		}
		if ds := rb.DataSource; ds.TimeZone != name || ds.Location().String() != name {
			t.Errorf("%s is read as %q, %v", name, ds.TimeZone, ds.Location())
		}
	}
	for _, name := range []string{
		"Local", "local", `""`, `" "`, "berlin", "Europe/Berlin ", "europe/berlin", "EUROPE/BERLIN", "Europe/", "/Europe/Berlin", "Europe/../UTC", "../UTC",
		"localtime", "posixrules", "posix/UTC", "right/UTC", "tzdata.zi", "W. Europe Standard Time", "+01:00", "UTC+1", "Europe/Bonn", "Europe",
	} {
		if name[0] != '"' {
			name = `"` + name + `"`
		}
		rb, found := Parse([]byte(timed("time_zone: " + name)))
		if rb != nil || len(found) != 1 || found[0].Path != "data_source.time_zone" || found[0].Line != 2 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// timed is a runbook with a source that is queried and has a batch time column.
func timed(more string) string {
	return strings.Replace(smallest, "{type: csv,", "{type: csv, connection: PEOPLE_CSV, batch_time_column: Start, "+more+",", 1)
}

func TestLocationWithoutATimeZone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Local", "Nowhere/Atall"} {
		if got := (DataSource{TimeZone: name}).Location(); got != time.UTC {
			t.Errorf("%q is %v", name, got)
		}
	}
}
