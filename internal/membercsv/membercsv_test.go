package membercsv_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// users is a runbook that needs the columns UserId (the key), Mail and Groups (a
// list in the given format).
func users(format string) *runbook.Runbook {
	return &runbook.Runbook{
		DataSource: runbook.DataSource{
			PrimaryKey:  "UserId",
			MultiValued: []runbook.MultiValued{{Name: "Groups", Format: format}},
		},
		Phases: []runbook.Phase{{Name: "move", Steps: []runbook.Step{{
			Name: "s", Function: "F",
			Params: map[string]any{"Id": "{{UserId}}", "Mail": "{{Mail}}", "Groups": "{{Groups}}"},
		}}}},
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, format, src string
		want              []member
		warnings          []string
	}{
		{
			"one row", "semicolon_delimited", "UserId,Mail,Groups\nu1,a@x.org,g1; g2;\n",
			[]member{row(2, "u1", `"a@x.org"`, `["g1","g2"]`)},
			nil,
		},
		{
			"byte order mark, CRLF, columns in another order, no line end at the end", "comma_delimited",
			"\xef\xbb\xbfMail,Groups,UserId\r\na@x.org,\"g1,g2\",u1",
			[]member{row(2, "u1", `"a@x.org"`, `["g1","g2"]`)},
			nil,
		},
		{
			"a JSON array may hold more than strings", "json_array", "UserId,Mail,Groups\nu1,,\"[ \"\"g1\"\", {\"\"id\"\": 2} ]\"\n",
			[]member{row(2, "u1", `""`, `["g1",{"id":2}]`)},
			nil,
		},
		{
			"an empty list is an empty array", "json_array", "UserId,Mail,Groups\nu1,m,\n",
			[]member{row(2, "u1", `"m"`, `[]`)},
			nil,
		},
		{
			"line breaks and quotes within a field", "semicolon_delimited", "UserId,Mail,Groups\nu1,\"a\nb\"\"<&\",\nu2,m,\n",
			[]member{row(2, "u1", `"a\nb\"<&"`, `[]`), row(4, "u2", `"m"`, `[]`)},
			nil,
		},
		{
			"numbers and words stay text", "semicolon_delimited", "UserId,Mail,Groups\n007,true,1\n",
			[]member{row(2, "007", `"true"`, `["1"]`)},
			nil,
		},
		{
			"columns that the runbook does not use are named and kept", "semicolon_delimited", "UserId,Mail,Groups,Salary,\nu1,m,g,100,\n",
			[]member{with(row(2, "u1", `"m"`, `["g"]`), "Salary", `"100"`)},
			[]string{`the runbook does not use column "Salary"; it is kept for later versions`},
		},
		{
			"rows without any value are passed over", "semicolon_delimited", "UserId,Mail,Groups\nu1,m,g\n,,\n,,\n\n",
			[]member{row(2, "u1", `"m"`, `["g"]`)},
			[]string{"2 rows without any value ignored"},
		},
		{
			"keys that differ in case are two members", "semicolon_delimited", "UserId,Mail,Groups\nu1,m,g\nU1,m,g\n",
			[]member{row(2, "u1", `"m"`, `["g"]`), row(3, "U1", `"m"`, `["g"]`)},
			[]string{`lines 2 and 3: the keys "u1" and "U1" differ only in case and count as two members`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rows, warnings, problems := membercsv.Parse([]byte(tt.src), users(tt.format))
			if len(problems) > 0 {
				t.Fatalf("problems: %v", problems)
			}
			var got []member
			for _, r := range rows {
				got = append(got, member{r.Line, r.Key, values(t, r)})
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("rows:\n%s\nwant:\n%s", dump(got), dump(tt.want))
			}
			if !reflect.DeepEqual(warnings, tt.warnings) {
				t.Errorf("warnings %q, want %q", warnings, tt.warnings)
			}
		})
	}
}

func values(t *testing.T, r membercsv.Row) map[string]json.RawMessage {
	t.Helper()
	data, err := r.Data()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// member is a row with its values.
type member struct {
	Line int
	Key  string
	Data map[string]json.RawMessage
}

// with gives a row another column.
func with(m member, name, value string) member {
	m.Data[name] = json.RawMessage(value)
	return m
}

func row(line int, key, mail, groups string) member {
	id, _ := json.Marshal(key)
	return member{Line: line, Key: key, Data: map[string]json.RawMessage{
		"UserId": id, "Mail": json.RawMessage(mail), "Groups": json.RawMessage(groups),
	}}
}

func dump(rows []member) string {
	b, _ := json.MarshalIndent(rows, "", " ")
	return string(b)
}

// Every problem is written as line:column code field, in the order reported.
func TestProblems(t *testing.T) {
	t.Parallel()
	const header = "UserId,Mail,Groups\n"
	tests := []struct {
		name, src string
		want      []string
		says      string // somewhere in the messages
	}{
		{"empty file", "", []string{"1:0 empty "}, "first line must name the columns"},
		{"only a byte order mark", "\xef\xbb\xbf", []string{"1:0 empty "}, ""},
		{"header only", header, []string{"1:0 empty "}, "no members"},
		{"header and blank rows only", header + ",,\n", []string{"1:0 empty "}, "no members"},
		{"UTF-16", "\xff\xfeU\x00s\x00", []string{"1:0 encoding "}, "UTF-16; save it as"},
		{"UTF-16 big-endian", "\xfe\xff\x00U", []string{"1:0 encoding "}, "UTF-16"},
		{"a workbook", "PK\x03\x04rest", []string{"1:0 encoding "}, "workbook"},
		{
			"code page 1252, every line of it", header + "u1,Andr\xe9,g\nu2,m,g\nu3,m,\xfc\n",
			[]string{"2:8 encoding ", "4:6 encoding "},
			"not in UTF-8; save it as",
		},
		{"UTF-16 without a mark", "U\x00s\x00e\x00r\x00", []string{"1:0 encoding "}, "UTF-16"},
		{"a header that two delimiters fit", "UserId;Mail,Groups\nu1;m,g\n", []string{"1:0 delimiter "}, "may be separated by commas or semicolons; set delimiter (--delimiter) to comma or semicolon"},
		{"a column named wrong between semicolons", "UserId;Mail;Group\nu1;m;g\n", []string{"1:0 missing-column Groups"}, ""},
		{"a quotation mark that ends nothing between semicolons", "UserId;Mail;Groups\nu1;\"a\"b;g\n", []string{"2:6 quote "}, "not followed by a delimiter"},
		{"missing columns, all of them", "Name\nx\n", []string{"1:0 missing-column UserId", "1:0 missing-column Groups", "1:0 missing-column Mail"}, "key of the members"},
		{
			"a column nearly named right", "userid,Mail ,Groups\nx,m,g\n",
			[]string{"1:0 missing-column UserId", "1:0 missing-column Mail"},
			`the header has "userid", and names are case-sensitive`,
		},
		{"a column twice", "UserId,Mail,Groups,Mail\nu1,m,g,n\n", []string{"1:20 duplicate-column Mail"}, "as column 2 and as column 4"},
		{"an unused column twice", "UserId,Mail,Groups,A,A\nu1,m,g,,\n", []string{"1:22 duplicate-column A"}, ""},
		{"a control character in the header", "UserId,Mail,Groups,A\x00\nu1,m,g,\n", []string{"1:20 character "}, ""},
		{
			"every bad row at once", header + "u1,m,g\n,m,g\nu1,m,g\nu2,m\nu3,m,g,h\n u4,m,g\n",
			[]string{"3:1 empty-key UserId", "4:1 duplicate-key UserId", "5:0 field-count ", "6:0 field-count ", "7:1 bad-key UserId"},
			`"u1" is on line 2 and again on line 4`,
		},
		{"a quotation mark within a field", header + "u1,a\"b,g\nu2,m\n", []string{"2:5 quote ", "3:0 field-count "}, "inside a field"},
		{"a quotation mark that ends nothing", header + "u1,\"a\"b,g\n", []string{"2:6 quote "}, "not followed by a delimiter"},
		{"a quotation mark that is never closed", header + "u1,\"a,g\nu2,m,g\n", []string{"2:0 quote "}, "not closed"},
		{"a control character in a field", header + "u1,a\x07,g\n", []string{"2:4 character Mail"}, "U+0007"},
		{"a field too long", header + "u1," + strings.Repeat("é", membercsv.MaxField+1) + ",g\n", []string{"2:4 field-too-long Mail"}, "32768 characters"},
		{"a key too long", header + strings.Repeat("k", membercsv.MaxKey+1) + ",m,g\n", []string{"2:1 bad-key UserId"}, "256 characters"},
		{
			"a row too long", "UserId,Mail,Groups,A,B,C\nu1" + strings.Repeat(","+strings.Repeat("x", 30_000), 5) + "\n",
			[]string{"2:0 row-too-long "},
			"150002 bytes",
		},
		{"too many columns", "UserId,Mail,Groups" + strings.Repeat(",", membercsv.MaxColumns-2) + "\nu1,m,g\n", []string{"1:0 too-many-columns "}, "names 1001 columns"},
		{"a line of nothing but delimiters", header + strings.Repeat(",", 200_000) + "\n", []string{"2:0 row-too-long "}, "200000 delimiters"},
		{"a quotation mark that is not closed for long", header + "u1,m,g\nu2,\"" + strings.Repeat("a,b\n", 150_000), []string{"3:0 row-too-long "}, "close the field"},
		{"a line that does not end", header + "u1,m,g\nu2," + strings.Repeat("a", 600_000), []string{"3:0 row-too-long "}, "no row ends within"},
		{"keys that take too much memory", header + longKeys(), []string{"32898:0 too-large "}, "the keys up to this line have more than 8388608 bytes"},
		{"too large", strings.Repeat("x", membercsv.MaxBytes+1), []string{"0:0 too-large "}, "52428800"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rows, _, problems := membercsv.Parse([]byte(tt.src), users("semicolon_delimited"))
			var got, messages []string
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%d:%d %s %s", p.Line, p.Column, p.Code, p.Field))
				messages = append(messages, p.Message)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			if all := strings.Join(messages, "\n"); !strings.Contains(all, tt.says) {
				t.Errorf("%q says nothing of %q", all, tt.says)
			}
			if rows != nil {
				t.Errorf("a file with problems gave %d rows", len(rows))
			}
		})
	}
}

// longKeys are rows with keys of the greatest length, 100 rows more than are allowed.
func longKeys() string {
	var b strings.Builder
	for i := range membercsv.MaxKeys/membercsv.MaxKey + 100 {
		fmt.Fprintf(&b, "%0*d,m,g\n", membercsv.MaxKey, i)
	}
	return b.String()
}

// broken is a file whose disk fails after some reads.
type broken struct {
	*bytes.Reader
	reads int
}

var errDisk = errors.New("the disk failed")

func (b *broken) ReadAt(into []byte, at int64) (int, error) {
	if b.reads--; b.reads < 0 {
		return 0, errDisk
	}
	return b.Reader.ReadAt(into, at)
}

// Wherever a file cannot be read, no rows of it are returned, and no values of a row.
func TestFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	src := []byte("UserId,Mail,Groups\nu1,m,g\n\"" + strings.Repeat("a,b\n", 150_000))
	for reads := 0; ; reads++ {
		m, err := membercsv.Read(&broken{bytes.NewReader(src), reads}, users("semicolon_delimited"), membercsv.Options{})
		problems := m.Problems
		if m.Rows != nil {
			t.Errorf("after %d reads: %d rows", reads, len(m.Rows))
		}
		if err == nil {
			if len(problems) != 1 || problems[0].Line != 3 || reads < 10 {
				t.Errorf("after %d reads: %v", reads, problems)
			}
			break
		}
		if !errors.Is(err, errDisk) {
			t.Errorf("after %d reads: %v", reads, err)
		}
	}
	file := &broken{bytes.NewReader([]byte("UserId,Mail,Groups\nu,m,g\n")), 1000}
	m, err := membercsv.Read(file, users("semicolon_delimited"), membercsv.Options{})
	if err != nil || len(m.Rows) != 1 {
		t.Fatal(m.Problems, err)
	}
	file.reads = 0
	if _, err := m.Rows[0].Data(); !errors.Is(err, errDisk) {
		t.Errorf("values of a row: %v", err)
	}
}

func TestJSONArrayProblems(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`g1`, `{"a":1}`, `null`, `["a"`, `["a"] x`} {
		src := "UserId,Mail,Groups\nu1,m,\"" + strings.ReplaceAll(value, `"`, `""`) + "\"\n"
		_, _, problems := membercsv.Parse([]byte(src), users("json_array"))
		if len(problems) != 1 || problems[0].Code != membercsv.CodeBadValue || problems[0].Field != "Groups" {
			t.Errorf("%s: problems %v", value, problems)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("UserId,Mail,Groups\n")
	for i := range membercsv.MaxRows {
		fmt.Fprintf(&b, "u%d,m,g\n", i)
	}
	rows, _, problems := membercsv.Parse([]byte(b.String()), users("semicolon_delimited"))
	if len(rows) != membercsv.MaxRows || len(problems) > 0 {
		t.Fatalf("%d rows, problems %v", len(rows), problems)
	}
	b.WriteString("one,too,many\n")
	_, _, problems = membercsv.Parse([]byte(b.String()), users("semicolon_delimited"))
	if len(problems) != 1 || problems[0].Code != membercsv.CodeTooManyRows || problems[0].Line != membercsv.MaxRows+2 {
		t.Errorf("problems %v", problems)
	}

	_, _, problems = membercsv.Parse([]byte("UserId,Mail,Groups\n"+strings.Repeat(",x,\n", 5000)), users("semicolon_delimited"))
	if last := problems[len(problems)-1]; len(problems) != 1001 || last.Code != membercsv.CodeTooManyProblems {
		t.Errorf("%d problems, the last %v", len(problems), last)
	}
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	rb := users("json_array")
	got := membercsv.Template(rb, csvtext.Comma)
	if want := "\xef\xbb\xbfUserId,Groups,Mail\r\n"; string(got) != want {
		t.Errorf("template %q, want %q", got, want)
	}
	rows, warnings, problems := membercsv.Parse(append(got, "u1,[],m\r\n"...), rb)
	if len(rows) != 1 || warnings != nil || problems != nil {
		t.Errorf("a filled-in template gave %v, %v, %v", rows, warnings, problems)
	}
	if got, want := membercsv.Template(rb, csvtext.Semicolon), "\xef\xbb\xbfUserId;Groups;Mail\r\n"; string(got) != want {
		t.Errorf("template %q, want %q", got, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("UserId,Mail,Groups\nu1,m,\"a;b\"\n"))
	f.Add([]byte("UserId,Mail,Groups\nu1,\"m\n"))
	rb := users("semicolon_delimited")
	f.Fuzz(func(t *testing.T, src []byte) {
		rows, _, problems := membercsv.Parse(src, rb)
		if (len(rows) == 0) == (len(problems) == 0) {
			t.Fatalf("%d rows and %d problems", len(rows), len(problems))
		}
		keys := map[string]bool{}
		for _, r := range rows {
			if r.Key == "" || keys[r.Key] || len(values(t, r)) != 3 {
				t.Fatalf("row %+v", r)
			}
			keys[r.Key] = true
			for _, v := range values(t, r) {
				if !json.Valid(v) {
					t.Fatalf("value %q", v)
				}
			}
		}
	})
}

func TestColumnsThatMayBeEmptyMayBeMissing(t *testing.T) {
	t.Parallel()
	rb := users("json_array")
	rb.Phases[0].Steps[0].Params["Middle"] = "{{Middle?}}"
	rows, warnings, problems := membercsv.Parse([]byte("UserId,Mail,Groups\nu1,m,\n"), rb)
	if len(rows) != 1 || len(problems) > 0 || len(warnings) != 1 || !strings.Contains(warnings[0], `column "Middle" is missing`) {
		t.Errorf("%v, %q, %v", rows, warnings, problems)
	}
	if _, _, problems = membercsv.Parse([]byte("UserId,Mail,Groups,middle\nu1,m,,x\n"), rb); len(problems) != 1 {
		t.Errorf("a column with another case: %v", problems)
	}
	rb.Phases[0].Steps = append(rb.Phases[0].Steps, runbook.Step{Params: map[string]any{"M": "{{Middle}}"}})
	if _, _, problems = membercsv.Parse([]byte("UserId,Mail,Groups\nu1,m,\n"), rb); len(problems) != 1 {
		t.Errorf("a column that one step needs: %v", problems)
	}
}
