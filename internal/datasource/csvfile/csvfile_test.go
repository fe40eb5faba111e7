package csvfile_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/csvfile"
	"github.com/matoolkit/matoolkit/internal/datasource/datasourcetest"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

func open(t *testing.T, spec datasource.Spec) datasource.Source {
	t.Helper()
	return testenv.Must(csvfile.Open(spec))(t)
}

// write makes a file of the content.
func write(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "people.csv")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// all reads a source to its end, or to the error.
func all(t *testing.T, s datasource.Source) (columns, rows []string, err error) {
	t.Helper()
	result, err := s.Query(t.Context())
	if err != nil {
		return nil, nil, err
	}
	defer result.Close()
	for {
		values, err := result.Next(t.Context())
		if err == io.EOF {
			return result.Columns(), rows, nil
		}
		if err != nil {
			return result.Columns(), rows, err
		}
		b := testenv.Must(json.Marshal(values))(t)
		rows = append(rows, string(b))
	}
}

// wants expects s to fail with an error that says each of the words, in Query or
// later.
func wants(t *testing.T, s datasource.Source, words ...string) {
	t.Helper()
	_, rows, err := all(t, s)
	if err == nil {
		t.Fatalf("it was read: %s", rows)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q says nothing of %q", err, w)
		}
	}
}

func encode(t *testing.T, columns []string, rows [][]string) string {
	t.Helper()
	var b strings.Builder
	w := csv.NewWriter(&b)
	if err := w.WriteAll(append([][]string{columns}, rows...)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		datasourcetest.Run(t, datasourcetest.Kind{
			Table: func(t *testing.T, columns []string, rows [][]string) datasource.Source {
				return open(t, datasource.Spec{Connection: write(t, encode(t, columns, rows))})
			},
			Endless: func(t *testing.T) datasource.Source {
				// As long as a reader could not read in time.
				name := write(t, "Id\na\n")
				f := testenv.Must(os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0))(t)
				defer f.Close()
				chunk := []byte(strings.Repeat("somebody@contoso.com\n", 50_000))
				for range 40 {
					if _, err := f.Write(chunk); err != nil {
						t.Fatal(err)
					}
				}
				return open(t, datasource.Spec{Connection: name})
			},
		})
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		datasourcetest.Run(t, datasourcetest.Kind{
			Table: func(t *testing.T, columns []string, rows [][]string) datasource.Source {
				content := encode(t, columns, rows)
				return open(t, datasource.Spec{Connection: serve(t, func(w http.ResponseWriter, _ *http.Request) {
					fmt.Fprint(w, content)
				})})
			},
			Endless: func(t *testing.T) datasource.Source {
				return open(t, datasource.Spec{Connection: serve(t, stall)})
			},
		})
	})
	t.Run("blob", func(t *testing.T) {
		t.Parallel()
		blob := func(t *testing.T, h http.HandlerFunc) datasource.Source {
			return open(t, datasource.Spec{
				Connection: "https://account.blob.core.windows.net/lists/people.csv",
				Credential: &identity{}, HTTPClient: storage(t, h),
			})
		}
		datasourcetest.Run(t, datasourcetest.Kind{
			Table: func(t *testing.T, columns []string, rows [][]string) datasource.Source {
				content := encode(t, columns, rows)
				return blob(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, content) })
			},
			Endless: func(t *testing.T) datasource.Source { return blob(t, stall) },
		})
	})
}

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content string
		columns, rows []string
	}{
		{"a byte order mark, CRLF, no line end at the end", "\xef\xbb\xbfId,Mail\r\n1,a@x\r\n2,b@x", []string{"Id", "Mail"}, []string{`["1","a@x"]`, `["2","b@x"]`}},
		{"quotation marks and line ends in fields", "Id,Text\n1,\"a, \"\"b\"\"\nc\"\n", []string{"Id", "Text"}, []string{`["1","a, \"b\"\nc"]`}},
		{"everything stays text", "Id,N,B\n007,1.50,true\n", []string{"Id", "N", "B"}, []string{`["007","1.50","true"]`}},
		{"rows without any value are passed over", "Id,Mail\n,\n1,a\n\n,\n", []string{"Id", "Mail"}, []string{`["1","a"]`}},
		{"a header and nothing more", "Id,Mail", []string{"Id", "Mail"}, nil},
		{"one column", "Id\n1\n", []string{"Id"}, []string{`["1"]`}},
		{"a file in another order", "Mail,Id\na,1\n", []string{"Mail", "Id"}, []string{`["a","1"]`}},
		{"a file shorter than a byte order mark", "I", []string{"I"}, nil},
		{"semicolons, as Excel writes them in half of Europe", "\xef\xbb\xbfId;Mail\r\n1;\"a;b,c\"\r\n", []string{"Id", "Mail"}, []string{`["1","a;b,c"]`}},
		{"tabs", "Id\tMail\n1\ta\n", []string{"Id", "Mail"}, []string{`["1","a"]`}},
		{"bars", "Id|Mail\n1|a\n", []string{"Id", "Mail"}, []string{`["1","a"]`}},
		{"a name with the other delimiter", "Id;Mail;\"Last, first\"\n1;a;L\n", []string{"Id", "Mail", "Last, first"}, []string{`["1","a","L"]`}},
		{"an expected column beside a name with the other delimiter", "Id,Who;what\n1,a\n", []string{"Id", "Who;what"}, []string{`["1","a"]`}},
		{"lines without text before the header", "\n\r\nId;Mail\n1;a\n", []string{"Id", "Mail"}, []string{`["1","a"]`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := write(t, tt.content)
			for _, connection := range []string{name, "file://" + name, "file://localhost" + name} {
				columns, rows, err := all(t, open(t, datasource.Spec{Connection: connection, Columns: []string{"Id", "Mail"}}))
				if err != nil || !slices.Equal(columns, tt.columns) || !slices.Equal(rows, tt.rows) {
					t.Errorf("%s: %q, %q, %v", connection, columns, rows, err)
				}
			}
		})
	}
}

func TestTextIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, content string
		says          []string
	}{
		{"empty", "", []string{"empty"}},
		{"only a byte order mark", "\xef\xbb\xbf", []string{"empty"}},
		{"UTF-16", "\xff\xfeI\x00d\x00", []string{"UTF-16", "CSV UTF-8"}},
		{"UTF-16 big-endian", "\xfe\xff\x00I", []string{"UTF-16"}},
		{"UTF-16 without a mark", "I\x00d\x00\n\x00", []string{"UTF-16"}},
		{"a workbook", "PK\x03\x04rest", []string{"workbook"}},
		{"an old workbook", "\xd0\xcf\x11\xe0rest", []string{"workbook"}},
		{"compressed", "\x1f\x8b\x08\x00rest", []string{"compressed"}},
		{"another encoding", "Id,Name\n1,Andr\xe9\n", []string{"line 2, column 3", "UTF-8"}},
		{"another encoding in the header", "Id,Gr\xf6\xdfe\n", []string{"line 1, column 4", "UTF-8"}},
		{"a header that two delimiters fit", "A;B,C\n1;a,b\n", []string{"commas or semicolons", "quotation marks"}},
		{"a control character", "Id\na\x07\n", []string{"line 2, column 1", "U+0007"}},
		{"NUL", "Id\na\x00\n", []string{"U+0000"}},
		{"a control character in the header", "Id,A\x01\n", []string{"line 1", "control"}},
		{"too few fields between semicolons", "Id;Mail\n1;a\n2\n", []string{"line 3", "1 field where the header has 2"}},
		{"a line end in the header", "Id,\"A\nB\"\n", []string{"line 1", "column 2"}},
		{"too few fields", "Id,Mail\n1,a\n2\n", []string{"line 3", "1 field where the header has 2"}},
		{"too many fields", "Id,Mail\n1,\"a\nb\",c\n", []string{"line 2", "3 fields"}},
		{"a quotation mark within a field", "Id,Mail\n1,a\"b\n", []string{"line 2, column 4", "inside a field"}},
		{"a quotation mark that ends nothing", "Id,Mail\n1,\"a\"b\n", []string{"line 2", "not followed by a delimiter"}},
		{"cut off in a quoted field", "Id,Mail\n1,\"a", []string{"line 2", "quotation mark"}},
		{"cut off in a quoted field, after a line end", "Id,Mail\n1,\"a\nb\n", []string{"line 2", "not closed", "complete"}},
		{"cut off in a row", "Id,Mail\n1,a\n2", []string{"line 3", "1 field"}},
		{"a quotation mark that swallows the file", "Id\na\n\"" + strings.Repeat("0123456789\n", 300_000), []string{"line 2", "more than 1048576 bytes", "not closed"}},
		{"a header without an end", strings.Repeat("0123456789", 300_000), []string{"the header", "the header has more than 1048576 bytes; look for a quotation mark that is not closed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wants(t, open(t, datasource.Spec{Connection: write(t, tt.content)}), tt.says...)
		})
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing.csv")
	for _, tt := range []struct{ connection, says string }{
		{missing, "does not exist"},
		{"file://" + missing, "does not exist"},
		{dir, "a folder"},
		{os.DevNull, "not a regular file"},
	} {
		_, _, err := all(t, open(t, datasource.Spec{Connection: tt.connection}))
		if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), tt.connection) {
			t.Errorf("%s: %v", tt.connection, err)
		}
		if tt.says == "does not exist" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v is not fs.ErrNotExist", tt.connection, err)
		}
		// An administrator has to correct it: it is not a transient outage.
		if errors.Is(err, datasource.ErrAway) {
			t.Errorf("%s: %v is away", tt.connection, err)
		}
	}

	name := write(t, "Id\n1\n")
	working := testenv.Must(os.Getwd())(t)
	relative := testenv.Must(filepath.Rel(working, name))(t)
	if _, rows, err := all(t, open(t, datasource.Spec{Connection: relative, Query: "is not looked at"})); err != nil || len(rows) != 1 {
		t.Errorf("a relative path: %s, %v", rows, err)
	}
}

// A file that grows, shrinks or is written anew under the reader is not a result.
func TestFileThatChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(string) error{
		"longer":      func(name string) error { return os.WriteFile(name, []byte("Id\n1\n2\n3\n"), 0o600) },
		"cut off":     func(name string) error { return os.Truncate(name, 5) },
		"written new": func(name string) error { return os.Chtimes(name, time.Time{}, time.Unix(1, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := write(t, "Id\n1\n2\n")
			rows, err := open(t, datasource.Spec{Connection: file}).Query(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			if err := change(file); err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = rows.Next(t.Context())
			}
			if !strings.Contains(err.Error(), "changed") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestConnectionIsRefused(t *testing.T) {
	t.Parallel()
	for connection, says := range map[string]string{
		"":                                   "path of the file",
		"file:people.csv":                    "absolute path",
		"file://server/people.csv":           "absolute path",
		"file:///people.csv?x=hidden":        "absolute path",
		"http://contoso.com/hidden.csv":      "https",
		"http://10.0.0.1/hidden.csv":         "https",
		"https:///hidden.csv":                "no host",
		"ftp://contoso.com/hidden.csv":       "ftp",
		"https://u:hidden%zz@contoso.com/":   "URL is invalid",
		"sqlserver://u:hidden@h?database=db": "sqlserver",
	} {
		_, err := csvfile.Open(datasource.Spec{Connection: connection})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", connection, err)
		}
	}
}

// Every file is refused or gives the values that encoding/csv reads, as valid
// JSON.
func FuzzFile(f *testing.F) {
	for _, content := range []string{"Id,Mail\n1,a\n", "\xef\xbb\xbfId\r\n\"a\"\"\n\"\r\n", "Id\n\xff\n", "Id,\n,\n", "Id\n\"a", "\"a\nb\",c\n1,2\n\n3,4"} {
		f.Add(content)
	}
	name := filepath.Join(f.TempDir(), "people.csv")
	f.Fuzz(func(t *testing.T, content string) {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		columns, rows, err := all(t, open(t, datasource.Spec{Connection: name}))
		if err != nil {
			return
		}
		want, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(content, "\xef\xbb\xbf"))).ReadAll()
		if err != nil || !slices.Equal(columns, want[0]) {
			t.Fatalf("%q: columns %q, want %q, %v", content, columns, want, err)
		}
		want = slices.DeleteFunc(want[1:], func(row []string) bool { return strings.Join(row, "") == "" })
		if len(rows) != len(want) {
			t.Fatalf("%q: rows %q, want %q", content, rows, want)
		}
		for i, row := range rows {
			var got []string
			if err := json.Unmarshal([]byte(row), &got); err != nil || !slices.Equal(got, want[i]) {
				t.Errorf("%q: row %s, want %q, %v", content, row, want[i], err)
			}
		}
	})
}
