package pgconnect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/pgconnect/pgtest"
)

func TestConnections(t *testing.T) {
	t.Parallel()
	ca, _ := pgtest.WriteCertificate(t, t.TempDir())
	const azureScope = "https://ossrdbms-aad.database.windows.net/.default"
	for text, want := range map[string]Connection{
		"postgres://reader:hunter2@pg.contoso.com/people":                                              {Host: "pg.contoso.com", Password: "hunter2"},
		"postgresql://reader:hunter2@pg.contoso.com:5433/people?sslmode=require":                       {Host: "pg.contoso.com", Port: 5433, Password: "hunter2"},
		"postgres://reader:h%40%2F%3Fr@pg.contoso.com/people?connect_timeout=5&application_name=x":     {Host: "pg.contoso.com", Password: "h@/?r", Application: "x", LoginTimeout: 5 * time.Second},
		"postgres://pg.contoso.com/people?user=reader&password=hunter2":                                {Host: "pg.contoso.com", Password: "hunter2"},
		"host=pg.contoso.com port=5432 dbname=people user=reader password=hunter2 sslmode=verify-full": {Host: "pg.contoso.com", Password: "hunter2"},
		" host = pg.contoso.com\n dbname='people' user=reader password='it\\'s \\\\ ; = '":             {Host: "pg.contoso.com", Password: `it's \ ; = `},
		"host=pg.contoso.com dbname=people user=reader password=a\\ b://c":                             {Host: "pg.contoso.com", Password: "a b://c"},
		"host=10.0.0.4 dbname=people user=reader password=hunter2 sslrootcert=" + ca:                   {Host: "10.0.0.4", Password: "hunter2"},
		"host=contoso.postgres.database.azure.com dbname=people user=reader sslmode=require":           {Host: "contoso.postgres.database.azure.com", Scope: azureScope},
		"postgres://reader@Contoso.Postgres.Database.Azure.com/people":                                 {Host: "Contoso.Postgres.Database.Azure.com", Scope: azureScope},
		"postgres://reader:hunter2@contoso.postgres.database.azure.com/people":                         {Host: "contoso.postgres.database.azure.com", Password: "hunter2"},
		"postgres://reader@contoso.postgres.database.usgovcloudapi.net/people":                         {Host: "contoso.postgres.database.usgovcloudapi.net", Scope: "https://ossrdbms-aad.database.usgovcloudapi.net/.default"},
		"postgres://reader@contoso.postgres.database.chinacloudapi.cn/people":                          {Host: "contoso.postgres.database.chinacloudapi.cn", Scope: "https://ossrdbms-aad.database.chinacloudapi.cn/.default"},
	} {
		if want.Port == 0 {
			want.Port = 5432
		}
		if want.Application == "" {
			want.Application = "matoolkit"
		}
		if want.LoginTimeout == 0 {
			want.LoginTimeout = defaultLoginTimeout
		}
		want.Database, want.User = "people", "reader"
		got, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if c := got.TLS; c == nil || c.InsecureSkipVerify || c.ServerName != want.Host || (c.RootCAs != nil) != strings.Contains(text, "sslrootcert") {
			t.Errorf("%s: %+v", text, c)
		}
		got.TLS = nil
		if *got != want {
			t.Errorf("%s: %+v, want %+v", text, *got, want)
		}
	}
	// Only on this machine, a connection is plain.
	for text, encrypted := range map[string]bool{
		"postgres://reader@localhost/people":                         false,
		"postgres://reader:hunter2@[::1]:5433/people":                false,
		"postgres://reader@127.0.0.1/people?sslmode=disable":         false,
		"postgres://reader@127.0.0.1/people?sslmode=require":         true,
		"host=127.0.0.1 user=reader dbname=people sslrootcert=" + ca: true,
		"postgres://reader:hunter2@10.0.0.4/people":                  true,
	} {
		if got, err := Parse(text); err != nil || (got.TLS != nil) != encrypted || got.Scope != "" {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestConnectionsThatAreRefused(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "hunter2.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                            "use postgres://user:password@host:port/database",
		"hunter2":                     "use postgres://",
		"mysql://reader:hunter2@h/db": "use postgres://",
		"Server=h.postgres.database.azure.com;Database=people;User Id=reader;Password=hunter2": "unknown option",
		"host=h dbname=d user=u password=hunter2 hunter2":                                      "an option has no value",
		"host=h dbname=d user=u password='hunter2":                                             "not closed",
		"host=h dbname=d user=u password=hunter2\\":                                            "not closed",
		"host=h dbname=d user=u password=hunter2 password=hunter2":                             "given twice",
		"postgres://u:hunter2@h/d?user=v":                                                      "given twice",
		"postgres://u:hunter2@h/d?sslmode=require&sslmode=disable":                             "given twice",
		"postgres://u:hunter2@h/d?sslmode=%zz":                                                 "not a valid URL",
		"postgres://u:hun/ter2@h/d":                                                            "not a valid URL",
		"postgres://u:hunter2@h/d#x":                                                           "not a valid URL",
		"postgres://u:hunter2@h/d?options=-c%20a%3Db":                                          "unknown option; use only host, port",
		"host=h dbname=d user=u password=hunter2 sslkey=x":                                     "unknown option",
		"host=h dbname=d user=u password=hunter2 service=x":                                    "unknown option",
		"dbname=d user=u password=hunter2":                                                     "the server is missing",
		"host=h user=u password=hunter2":                                                       "the database is missing",
		"host=h dbname=d password=hunter2":                                                     "the user is missing",
		"host=/var/run/postgresql dbname=d user=u":                                             "sockets are not supported",
		"host=h1,h2 dbname=d user=u password=hunter2":                                          "give one host",
		"host='h hunter2' dbname=d user=u":                                                     "not a host name",
		"host=h port=0 dbname=d user=u password=hunter2":                                       "port is not a number",
		"host=h port=hunter2 dbname=d user=u password=hunter2":                                 "port is not a number",
		"host=h dbname=d user=u password=hunter2 connect_timeout=0":                            "connect_timeout is not",
		"host=h dbname=d user=u password=hunter2 sslmode=disable":                              "the connection is always encrypted",
		"host=h dbname=d user=u password=hunter2 sslmode=prefer":                               "unsupported sslmode",
		"host=localhost dbname=d user=u sslmode=allow":                                         "unsupported sslmode",
		"host=localhost dbname=d user=u sslmode=disable sslrootcert=x":                         "sslrootcert has no effect",
		"host=h dbname=d user=u password=hunter2 sslrootcert=/hunter2":                         "the file that sslrootcert names cannot be read: no such file",
		"host=h dbname=d user=u password=hunter2 sslrootcert=" + empty:                         "no PEM certificate",
		"host=h dbname=d user=u":                                                               "authentication is missing",
		"host=postgres.database.azure.com.contoso.com dbname=d user=u":                         "authentication is missing",
		"host=h dbname=d user=u password=a\x00b":                                               "NUL",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}
