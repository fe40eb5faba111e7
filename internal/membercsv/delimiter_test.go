package membercsv_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/signature"
)

func TestTheHeaderDecidesTheDelimiter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, src, given string
		want             string // the name of the delimiter
		mail             string
	}{
		{"commas", "UserId,Mail,Groups\nu1,m;n,g\n", "", "comma", "m;n"},
		{"semicolons, as Excel writes them in half of Europe", "\xef\xbb\xbfUserId;Mail;Groups\r\nu1;m, Ada;g\r\n", "", "semicolon", "m, Ada"},
		{"tabs", "UserId\tMail\tGroups\nu1\tm\tg\n", "", "tab", "m"},
		{"bars", "UserId|Mail|Groups\nu1|m|g\n", "", "bar", "m"},
		{"a quoted column with the other delimiter", "UserId;Mail;Groups;\"Last, first\"\nu1;m;g;\"L, F\"\n", "", "semicolon", "m"},
		{"an unused column with the other delimiter", "UserId;Mail;Groups;Last, first\nu1;m;g;L\n", "", "semicolon", "m"},
		{"a quoted field with the delimiter and a line end", "UserId;Mail;Groups\nu1;\"m;\nn\";g\n", "", "semicolon", "m;\nn"},
		{"the option decides", "UserId;Mail;Groups\nu1;m;g\n", "semicolon", "semicolon", "m"},
		{"the option decides where several fit", "UserId,Mail,Groups;A;B;C\nu1,m,g;a;b;c\n", "comma", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := membercsv.Read(strings.NewReader(tt.src), users("semicolon_delimited"), membercsv.Options{Delimiter: tt.given})
			if tt.want == "" {
				if err != nil || len(m.Problems) == 0 || m.Problems[0].Code != membercsv.CodeMissingColumn {
					t.Errorf("%v %v", m.Problems, err)
				}
				return
			}
			if err != nil || len(m.Problems) > 0 || m.Delimiter != tt.want || len(m.Rows) != 1 {
				t.Fatalf("delimiter %q, problems %v, %v", m.Delimiter, m.Problems, err)
			}
			if got := string(values(t, m.Rows[0])["Mail"]); got != fmt.Sprintf("%q", tt.mail) {
				t.Errorf("Mail is %s, want %q", got, tt.mail)
			}
		})
	}
	m, err := membercsv.Read(strings.NewReader("UserId\nu1\n"), users("semicolon_delimited"), membercsv.Options{Delimiter: "space"})
	if err != nil || len(m.Problems) != 1 || !strings.Contains(m.Problems[0].Message, `unknown delimiter "space": use comma, semicolon, tab, bar`) {
		t.Errorf("%v %v", m.Problems, err)
	}
}

func TestEachValueIsCheckedAgainstTheParametersThatTakeIt(t *testing.T) {
	t.Parallel()
	rb := users("semicolon_delimited")
	rules := lint.Catalogs{Standard: []signature.Function{{Name: "F", Params: []signature.Parameter{
		{Name: "Id", Type: "guid", Required: true}, {Name: "Mail", Type: "email", Required: true}, {Name: "Groups", Type: "string list"},
	}}}}.ColumnRules(rb)
	const id = "00000000-0000-4000-8000-00000000000"
	src := "UserId;Mail;Groups\n" + id + "1;ada@contoso.com;g1\nada;bob@contoso.com;\n" + id + "3;;g\n" + id + "4;\"no\nmail\";g\n" + id + "5;eve;g\n"
	m, err := membercsv.Read(bytes.NewReader([]byte(src)), rb, membercsv.Options{Rules: rules})
	if err != nil || m.Rows != nil {
		t.Fatal(m.Rows, err)
	}
	var got []string
	for _, p := range m.Problems {
		got = append(got, fmt.Sprintf("%d:%d %s %s: %s", p.Line, p.Column, p.Code, p.Field, p.Message))
	}
	want := []string{
		"3:1 bad-value UserId: column UserId: Id of F in step s must be a GUID, not this text",
		"4:38 bad-value Mail: column Mail: Mail of F in step s is required and is empty",
		"5:38 bad-value Mail: column Mail: Mail of F in step s must be an address such as ada@contoso.com, not this text",
		"7:38 bad-value Mail: column Mail: Mail of F in step s must be an address such as ada@contoso.com, not this text",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
