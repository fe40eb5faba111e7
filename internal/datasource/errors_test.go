package datasource

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestNothingSecretIsReported(t *testing.T) {
	t.Parallel()
	const (
		mssql = `Server=tcp:h.database.windows.net,1433;User ID=reader;Password="Tr0ub;4dor&3";Encrypt=True`
		odbc  = `Driver=x;UID=reader;PWD={p}}w;d}`
		dsn   = `sqlserver://reader:h%40nter2!@h:1433?database=people&encrypt=true`
		sas   = `https://account.blob.core.windows.net/lists/people.csv?sv=2021-12-02&sp=r&sig=abc%2Fdef%2B123%3D`
		token = `https://dapi0123456789@adb-1.2.azuredatabricks.net/sql`
		key   = `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=Zm9vYmFyYmF6==;EndpointSuffix=core.windows.net`
		one   = "Server=h;Password=e;Encrypt=true"
		slash = `postgres://reader:a/b?c@h/db`
		libpq = `host=h user=reader password = 'Tr0ub 4dor;\'3' dbname=people`
		word  = `host=h password=hunter\ 2 user=reader`
	)
	tests := []struct {
		connection, text, want string
	}{
		{mssql, "cannot open " + mssql, "cannot open ***"},
		{mssql, "login failed with Tr0ub;4dor&3", "login failed with ***"},
		{mssql, `login failed with "Tr0ub;4dor&3"`, "login failed with ***"},
		{mssql, "login failed for reader at tcp:h.database.windows.net,1433", "login failed for reader at tcp:h.database.windows.net,1433"},
		{mssql, "bad: Tr0ub%3B4dor%263, Tr0ub%3b4dor%263", "bad: ***, ***"},
		{mssql, `{"password":"Tr0ub;4dor\u00263"}`, `{"password":"***"}`},
		{odbc, "PWD p}w;d was wrong", "PWD *** was wrong"},
		{odbc, "PWD {p}}w;d} was wrong", "PWD *** was wrong"},
		{dsn, "h@nter2! or h%40nter2! or h%40nter2%21", "*** or *** or ***"},
		{dsn, "no database people at h:1433", "no database people at h:1433"},
		{dsn, "no database=people", "no ***"},
		{sas, `Get "` + sas + `": dial tcp: lookup account.blob.core.windows.net: no such host`, `Get "***": dial tcp: lookup account.blob.core.windows.net: no such host`},
		{sas, `Get "https://account.blob.core.windows.net/lists/other.csv?sv=2021-12-02&sp=r&sig=abc%2Fdef%2B123%3D": EOF`, `Get "https://account.blob.core.windows.net/lists/other.csv?***": EOF`},
		{sas, "abc/def+123= and abc%2fdef%2b123%3d and sp=r, for reader", "*** and *** and ***, for reader"},
		{token, "dapi0123456789 is not known at adb-1.2.azuredatabricks.net", "*** is not known at adb-1.2.azuredatabricks.net"},
		{key, "Zm9vYmFyYmF6== of a", "*** of a"},
		{slash, "a/b?c", "***"},
		{libpq, "login failed with Tr0ub 4dor;'3 for reader at h", "login failed with *** for reader at h"},
		{libpq, `cannot parse 'Tr0ub 4dor;\'3' of people`, `cannot parse *** of people`},
		{libpq, `near Tr0ub 4dor;\'3`, `near ***`},
		{word, `reader has not hunter 2, nor hunter\ 2`, `reader has not ***, nor ***`},
		// A short secret, common inside words, is masked only as a word of its own.
		{one, "cannot read the people of the server e: e was not taken", "cannot read the people of the server ***: *** was not taken"},
		{one, `login failed (password "e", pwd=e;x, {"Password":"e"})`, `login failed (password "***", pwd=***;x, {"Password":"***"})`},
		{"Server=h;Password=ab3;x=y", "cab3d: ab3, ab3. 'ab3' ab3", "cab3d: ***, ***. '***' ***"},
		{"Server=h;Password=;x=y", "nothing", "nothing"},
		{"Server=h;Password=a!;x=y", "no data! a!", "no data! ***"},
		{"Server=h;Password=!?;x=y", "what!? no", "what*** no"},
		// Truncated secrets, and those from other sources.
		{mssql, "near Password=Tr0u", "near Password=***"},
		{mssql, "Authorization: Bearer eyJhbGciOi.J9", "Authorization: Bearer ***"},
		{"x.db", "cannot open x.db", "cannot open ***"},
	}
	for _, tt := range tests {
		if got := secretsOf(tt.connection, "").scrub(tt.text); got != tt.want {
			t.Errorf("%s\nbecame %s\nwant   %s", tt.text, got, tt.want)
		}
	}
}

func TestLongCausesAreCutShort(t *testing.T) {
	t.Parallel()
	err := newError("mailboxes", "csv", "PEOPLE", errors.New(strings.Repeat("é", 5000)), nil)
	if text := err.Error(); len(text) > 2200 || !utf8.ValidString(text) || !strings.HasSuffix(text, "é…") {
		t.Errorf("%d bytes: %q", len(text), text)
	}
}

// quoting is an error with the secret in a field that its text does not show.
type quoting struct{ dsn string }

func (quoting) Error() string { return "login failed" }

// silent is one without a secret.
type silent struct{ number int }

func (silent) Error() string { return "error 18456" }

func (silent) Timeout() bool { return true }

func TestChainHoldsNothingSecret(t *testing.T) {
	t.Parallel()
	const connection = "https://h/people.csv?sig=verysecret"
	request := &url.Error{Op: "Get", URL: connection, Err: fs.ErrNotExist}
	cause := fmt.Errorf("asked with %s: %w", "verysecret", errors.Join(request, quoting{"sig=verysecret"}, silent{18456}, context.Canceled))
	err := error(newError("mailboxes", "csv", "PEOPLE", cause, secretsOf(connection, "")))

	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Error("x", "err", err)
	printed := []string{log.String()}
	var walk func(error)
	walk = func(err error) {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			printed = append(printed, fmt.Sprintf(verb, err))
		}
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if next := e.Unwrap(); next != nil {
				walk(next)
			}
		case interface{ Unwrap() []error }:
			for _, next := range e.Unwrap() {
				walk(next)
			}
		}
	}
	walk(err)
	for _, p := range printed {
		if strings.Contains(p, "verysecret") || strings.Contains(p, fmt.Sprintf("%x", "verysecret")) {
			t.Errorf("told: %s", p)
		}
	}
	if want := "the members of the runbook mailboxes cannot be read from its data source (csv, connection PEOPLE): asked with ***: "; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v", err)
	}

	for _, target := range []error{context.Canceled, fs.ErrNotExist, silent{18456}} {
		if !errors.Is(err, target) {
			t.Errorf("%v is not found", target)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("what was not there is found")
	}
	var s silent
	if !errors.As(err, &s) || s.number != 18456 {
		t.Errorf("an error without a secret is not given out: %+v", s)
	}
	var u *url.Error
	if errors.As(err, &u) || u != nil {
		t.Errorf("given out: %v", u)
	}
	var q quoting
	if errors.As(err, &q) || q != (quoting{}) {
		t.Errorf("given out: %#v", q)
	}
	var e *Error
	if !errors.As(err, &e) || e.Runbook != "mailboxes" || e.Source != "csv" {
		t.Errorf("%+v", e)
	}
}

// tells reports whether a text contains a secret: a short one as a word, any other
// anywhere. Short ones with other characters are in the table above.
func tells(text, secret string) bool {
	between := func(r rune) bool { return !inWord(r) }
	switch {
	case len(secret) >= minAnywhere:
		return strings.Contains(text, secret)
	case strings.ContainsFunc(secret, between):
		return false
	}
	return slices.Contains(strings.FieldsFunc(text, between), secret)
}

// A secret of any characters, quoted in any way, never appears.
func FuzzSecrets(f *testing.F) {
	f.Add("hunter2", "login failed")
	f.Add(`a;b"c}d`, "x")
	f.Add("p@ss/w?rd#%25", "Password=")
	f.Add("é\x00\xff\n", "%")
	f.Add("e", "secret")
	f.Fuzz(func(t *testing.T, secret, around string) {
		secret = strings.TrimSpace(secret)
		if secret == "" || strings.Contains(secret, "*") {
			return // the mask is made of it
		}
		quoted := func(open, closing string) string {
			return open + strings.ReplaceAll(secret, closing, closing+closing) + closing
		}
		connections := []string{
			"Server=h;Password=" + quoted(`"`, `"`) + ";Encrypt=true",
			"Server=h;pwd=" + quoted("{", "}"),
			"Server=h;AccountKey=" + quoted("'", "'") + ";x=y",
			"sqlserver://" + url.UserPassword("reader", secret).String() + "@h?database=db",
			"https://h/c?sv=1&sig=" + url.QueryEscape(secret) + "&sp=r",
		}
		if !strings.ContainsAny(secret, ";'\"{") {
			connections = append(connections, "Server=h;Token="+secret+";x=y")
		}
		for _, connection := range connections {
			s := secretsOf(connection, "")
			text := strings.Join([]string{
				around + secret + around, connection, around + connection, fmt.Sprintf("%q", connection), fmt.Sprintf("%q", secret),
				url.QueryEscape(secret), url.PathEscape(secret), lowerHex(url.QueryEscape(secret)),
			}, around)
			got := newError("r", "s", "c", errors.New(text), s).Cause.Error()
			for _, piece := range strings.Split(got, mask) {
				for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), connection} {
					if tells(piece, form) {
						t.Fatalf("%q is told by %q, of the connection %q", form, got, connection)
					}
				}
			}
		}
	})
}

// An unavailable source is distinguished from a query that always fails.
func TestAway(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	for name, tt := range map[string]struct {
		cause error
		want  bool
	}{
		"marked":           {fmt.Errorf("chunk 1: %w", Away(errors.New("503"))), true},
		"network":          {fmt.Errorf("connect: %w", refused), true},
		"broken off":       {driver.ErrBadConn, true},
		"statement":        {&QueryError{"it writes"}, false},
		"other":            {errors.New("no such table"), false},
		"took too long":    {&timeoutError{limit: time.Minute, cause: refused}, false},
		"took its time up": {context.DeadlineExceeded, false},
	} {
		if got := newError("mailboxes", "sql", "PEOPLE", tt.cause, nil).Away; got != tt.want {
			t.Errorf("%s: away %t", name, got)
		}
	}
	if text := Away(refused).Error(); text != refused.Error() || !errors.Is(Away(refused), refused) {
		t.Errorf("marked it is %q", text)
	}
}
