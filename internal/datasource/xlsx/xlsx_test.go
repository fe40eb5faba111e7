package xlsx

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// lines are the columns and rows of a sheet, each as one line.
func lines(file []byte, name string) ([]string, error) {
	s, err := Open(file, name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	all := []string{strings.Join(s.Columns(), "|")}
	for {
		values, err := s.Next()
		if err == io.EOF {
			if _, again := s.Next(); again != io.EOF {
				return nil, fmt.Errorf("after the end: %w", again)
			}
			return all, nil
		}
		if err != nil {
			return all, err
		}
		var texts []string
		for _, v := range values {
			texts = append(texts, string(v))
		}
		all = append(all, strings.Join(texts, "|"))
	}
}

// The files are of two libraries that others have written.
func TestFilesOfOthers(t *testing.T) {
	t.Parallel()
	want := []string{
		"UserPrincipalName|Display Name|Start|Day|Time|Number|Active|Note",
		`"ada@contoso.example"|"Ada Löw & \"Söhne\" <b>"|"2026-03-01T18:30:00"|"2026-03-01"|"07:45:00"|1234567890123|true|"two\nlines"`,
		`"bob@contoso.example"|"日本語 😀"|"2026-12-31T23:59:59"|"1900-03-01"|"00:00:00"|-0.1|false|null`,
		`"cy@contoso.example"|"007"|null|null|null|0.3|null|" padded "`,
	}
	for _, file := range []string{"openpyxl", "xlsxwriter"} {
		content, err := os.ReadFile("testdata/" + file + ".xlsx")
		if err != nil {
			t.Fatal(err)
		}

		for _, sheet := range []string{"", "people"} {
			got, err := lines(content, sheet)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, sheet %q: %v\n%s\nwant\n%s", file, sheet, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		if _, err := lines(content, "Wave"); err == nil || !strings.Contains(err.Error(), `no sheet "Wave"; it has People, Lists`) {
			t.Errorf("%s: %v", file, err)
		}
		for _, end := range []int{0, 1, 100, len(content) / 2, len(content) - 1} {
			if _, err := lines(content[:end], ""); err == nil {
				t.Errorf("%s: the first %d of %d bytes are a file", file, end, len(content))
			}
		}
	}
}

// parts are those of a file with one sheet.
func parts(sheet string) map[string]string {
	return map[string]string{
		"_rels/.rels": `<Relationships xmlns="p"><Relationship Id="r1" Type="http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument" Target="/xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml": `<workbook xmlns="m" xmlns:r="http://x/relationships"><workbookPr/><sheets>` +
			`<sheet name="A" sheetId="1" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Type="http://x/relationships/worksheet" Target="worksheets/s.xml"/>` +
			`<Relationship Id="r2" Type="http://x/relationships/sharedStrings" Target="strings.xml"/>` +
			`<Relationship Id="r3" Type="http://x/relationships/styles" Target="styles.xml"/></Relationships>`,
		"xl/strings.xml": `<sst><si><t>Key</t></si><si><r><t>a</t></r><r><t xml:space="preserve"> b</t></r><rPh><t>no</t></rPh></si><si><t>c_x000D_d_xZZZZ_</t></si></sst>`,
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd&quot; h&quot;"/><numFmt numFmtId="165" formatCode="[h]:mm"/>` +
			`<numFmt numFmtId="166" formatCode="[Red]0.0&quot;d&quot;"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="22"/><xf numFmtId="166"/><xf numFmtId="20"/></cellXfs></styleSheet>`,
		"xl/worksheets/s.xml": `<worksheet><sheetData>` + sheet + `</sheetData></worksheet>`,
	}
}

func packed(t *testing.T, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range parts {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCells(t *testing.T) {
	t.Parallel()
	const header = `<row r="1"><c r="A1" t="s"><v>0</v></c></row>`
	for cell, want := range map[string]string{
		`<c r="A2" t="s"><v>1</v></c>`:                        `"a b"`,
		`<c r="A2" t="s"><v>2</v></c>`:                        `"c\rd_xZZZZ_"`,
		`<c r="A2" t="inlineStr"><is><t>in</t></is></c>`:      `"in"`,
		`<c t="str"><f>X</f><v>text</v></c>`:                  `"text"`,
		`<c t="str"><f>X</f><v></v></c>`:                      `""`,
		`<c r="A2"><v>1.50</v></c>`:                           `1.5`,
		`<c r="A2" t="n"><v>1E-3</v></c>`:                     `0.001`,
		`<c r="A2" t="b"><v>1</v></c>`:                        `true`,
		`<c r="A2" t="d"><v>2026-03-01T18:00:00</v></c>`:      `"2026-03-01T18:00:00"`,
		`<c r="A2" s="1"><v>46082</v></c>`:                    `"2026-03-01"`,
		`<c r="A2" s="1"><v>46082.770833333336</v></c>`:       `"2026-03-01T18:30:00"`,
		`<c r="A2" s="3"><v>46082</v></c>`:                    `"2026-03-01T00:00:00"`,
		`<c r="A2" s="3"><v>46081.99999999</v></c>`:           `"2026-02-28T23:59:59.999"`,
		`<c r="A2" s="3"><v>46081.999999999</v></c>`:          `"2026-03-01T00:00:00"`,
		`<c r="A2" s="1"><v>59</v></c>`:                       `"1900-02-28"`,
		`<c r="A2" s="1"><v>61</v></c>`:                       `"1900-03-01"`,
		`<c r="A2" s="2"><v>1.5</v></c>`:                      `1.5`,
		`<c r="A2" s="4"><v>3</v></c>`:                        `3`,
		`<c r="A2" s="5"><v>0.5</v></c>`:                      `"12:00:00"`,
		`<c r="A2" s="1"><v>-1</v></c>`:                       `error: sheet "A", cell A2: the date is outside`,
		`<c r="A2" s="1"><v>2958466</v></c>`:                  `error: cell A2: the date is outside`,
		`<c r="A2" t="e"><v>#N/A</v></c>`:                     `error: cell A2: it has the error #N/A`,
		`<c r="A2"><f>B2</f></c>`:                             `error: cell A2: the formula has no stored value`,
		`<c r="A2" t="s"><v>3</v></c>`:                        `error: cell A2: the text is not in the file`,
		`<c r="A2" t="x"><v>3</v></c>`:                        `error: cell A2: a cell of the type "x"`,
		`<c r="A2"><v>x</v></c>`:                              `error: cell A2: "x" is not a decimal number`,
		`<c r="A2"><v>1</v></c><c r="AB2"><v>1</v></c>`:       `error: cell AB2: the column has no name in the first row`,
		`<c r="2A"><v>1</v></c>`:                              `error: "2A" is not the name of a cell`,
		`<c r="A2"><v>1</v></c><c r="AB2" s="1"/>`:            `1`,
		`<c r="A2"><v>1</v></c></row><row r="3"><c r="A3"/>`:  `1`,
		`<c r="A2"><v>1</v></c></row></sheetData><sheetData>`: `error: cannot be read to its end`,
	} {
		got, err := lines(packed(t, parts(header+`<row r="2">`+cell+`</row>`)), "")
		if part, ok := strings.CutPrefix(want, "error: "); ok {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, %v; want the error %s", cell, got, err, part)
			}
			continue
		}
		if err != nil || !slices.Equal(got, []string{"Key", want}) {
			t.Errorf("%s: %q, %v; want %s", cell, got, err, want)
		}
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	const row = `<row r="1"><c t="inlineStr"><is><t>Key</t></is></c></row>`
	for name, tt := range map[string]struct {
		change func(map[string]string)
		want   string
	}{
		"an empty sheet":  {func(p map[string]string) { p["xl/worksheets/s.xml"] = "<worksheet><sheetData/></worksheet>" }, `the sheet "A" is empty`},
		"no sheet":        {func(p map[string]string) { delete(p, "xl/worksheets/s.xml") }, `the part "xl/worksheets/s.xml" is missing`},
		"no texts":        {func(p map[string]string) { delete(p, "xl/strings.xml") }, `the part "xl/strings.xml" is missing`},
		"a text document": {func(p map[string]string) { p["_rels/.rels"] = "<Relationships/>" }, "not an Excel workbook"},
		"two sheets": {func(p map[string]string) {
			p["xl/workbook.xml"] = strings.Replace(p["xl/workbook.xml"], "</sheets>", `<sheet name="B" r:id="r1"/></sheets>`, 1)
		}, "has the sheets A, B: name one in sheet"},
		"entities": {func(p map[string]string) {
			p["xl/worksheets/s.xml"] = `<!DOCTYPE x [<!ENTITY e "eeeeeeee">]><worksheet><sheetData><row><c t="inlineStr"><is><t>&e;</t></is></c></row></sheetData></worksheet>`
		}, "invalid character entity"},
		"a bomb of texts": {func(p map[string]string) {
			p["xl/strings.xml"] = "<sst>" + strings.Repeat("<si><t>"+strings.Repeat("x", 100_000)+"</t></si>", maxTexts/100_000+1) + "</sst>"
		}, "unpacks to more than the limit"},
		"a bomb of styles": {func(p map[string]string) { p["xl/styles.xml"] = "<styleSheet>" + strings.Repeat(" ", maxSmall) }, "unpacks to more than the limit"},
		"a long text":      {func(p map[string]string) { p["xl/strings.xml"] = "<sst><si><t>" + strings.Repeat("x", maxCell+1) }, "unpacks to more than the limit"},
		"a sheet that ends early": {func(p map[string]string) {
			p["xl/worksheets/s.xml"] = strings.TrimSuffix(p["xl/worksheets/s.xml"], "</sheetData></worksheet>")
		}, "cannot be read to its end"},
	} {
		all := parts(row)
		tt.change(all)
		if got, err := lines(packed(t, all), ""); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q, %v; want %s", name, got, err, tt.want)
		}
	}
	if _, err := Open([]byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), ""); err == nil || !strings.Contains(err.Error(), "encrypted") {
		t.Errorf("an encrypted file: %v", err)
	}
	if _, err := Open([]byte("a,b\n1,2\n"), ""); err == nil || !strings.Contains(err.Error(), "not a complete .xlsx file") {
		t.Errorf("a CSV: %v", err)
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]dateFormat{
		"General": noDate, "0.00": noDate, "@": noDate, `#,##0 "d"`: noDate, `0\d`: noDate, "0_d": noDate, "[Red]0": noDate, "[h]:mm:ss": noDate, "[mm]:ss": noDate,
		"yyyy-mm-dd": dateOnly, "mmm": dateOnly, `[$-F800]dddd\,\ mmmm\ dd\,\ yyyy`: dateOnly, "h:mm": timeOnly, "mm:ss": timeOnly, "h AM/PM": timeOnly,
		"dd.mm.yyyy hh:mm": dateAndTime, `[$-409]m/d/yy h:mm AM/PM;@`: dateAndTime, `"open`: noDate, "[open": noDate, `yyyy;"h"`: dateOnly,
	} {
		if got := parseFormat(code); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}

func FuzzSheet(f *testing.F) {
	for _, file := range []string{"openpyxl", "xlsxwriter"} {
		content, err := os.ReadFile("testdata/" + file + ".xlsx")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(_ *testing.T, file []byte) { _, _ = lines(file, "") })
}
