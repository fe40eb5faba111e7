package query

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

const sample = `{"id":"a","type":"run","n":5,"f":1.5,"yes":true,"no":false,"nil":null,"s":"Hello",
	"o":{"a":{"b":"deep"},"list":[{"k":1,"z":2},"x",3]},"odd name":"q","value":"reserved","dup":1,"dup":2,
	"esc":"tab\tquote\"uni\u00e9\ud83d\ude00"}`

func values(t testing.TB, parameters string) map[string]document.Value {
	t.Helper()
	v := testenv.Must(document.Parse([]byte(parameters)))(t)
	all := map[string]document.Value{}
	for _, m := range v.Members {
		all[m.Name] = m.Value
	}
	return all
}

// An expression's value over the sample, "" for undefined.
func TestExpressions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`c.id`: `"a"`, `c["id"]`: `"a"`, `c.o.a.b`: `"deep"`, `c["o"].a["b"]`: `"deep"`, `c.o.list[1]`: `"x"`,
		`c.o.list[0].z`: `2`, `c.o.list[3]`: ``, `c.absent`: ``, `c.absent.more`: ``, `c.n.more`: ``, `c["odd name"]`: `"q"`,
		`c.value`: `"reserved"`, `c.o.list`: `[{"k":1,"z":2},"x",3]`, `c.dup`: `1`, `c.esc = "tab\tquote\"unié😀"`: `true`,
		`1`: `1`, `-1.5e2`: `-150`, `.5`: `0.5`, `'it\'s'`: `"it's"`, `"say \"hi\""`: `"say \"hi\""`, `null`: `null`, `TRUE`: `true`, `undefined`: ``,
		`[1, c.n, c.absent]`: `[1,5]`, `{"a": c.n, b: c.absent, c: [c.s]}`: `{"a":5,"c":["Hello"]}`, `{}`: `{}`, `[]`: `[]`,
		`@p`: `7`, `@list`: `[1,2]`,

		`c.n = 5`: `true`, `c.n = 5.0`: `true`, `5 = c.n`: `true`, `c.n = 4`: `false`, `c.n != 4`: `true`, `c.n <> 5`: `false`,
		`c.n = "5"`: `false`, `c.n != "5"`: `true`, `c.nil = null`: `true`, `c.n = null`: `false`, `c.n != null`: `true`,
		`c.absent = null`: ``, `c.absent != null`: ``, `c.absent = c.absent`: ``, `c.o.a = {"b": "deep"}`: `true`,
		`c.o.list[0] = {z: 2, k: 1}`: `true`, `c.o.list = [1]`: `false`, `[1,2] = @list`: `true`,

		`c.n < 6`: `true`, `c.n <= 5`: `true`, `c.n > 5`: `false`, `c.n >= 5`: `true`, `c.s < "Hf"`: `true`, `c.s > "hello"`: `false`,
		`c.no < c.yes`: `true`, `c.n < "6"`: ``, `c.n > null`: ``, `c.absent < 1`: ``, `[1] < [2]`: ``, `null <= null`: `true`,

		`c.n IN (1, 5)`: `true`, `c.n IN (1, "5")`: `false`, `c.n NOT IN (1, 2)`: `true`, `c.absent IN (1)`: ``, `c.n IN (c.absent)`: ``, `c.n IN (c.absent, 5)`: `true`,
		`c.n BETWEEN 5 AND 6`: `true`, `c.n BETWEEN 6 AND 9`: `false`, `c.n NOT BETWEEN 6 AND 9`: `true`, `c.s BETWEEN 1 AND 9`: ``,
		`c.n BETWEEN 1 AND 9 AND c.s = "Hello"`: `true`,

		`true AND true`: `true`, `true AND c.absent`: ``, `false AND c.absent`: `false`, `c.absent AND false`: `false`, `c.absent AND true`: ``,
		`true OR c.absent`: `true`, `c.absent OR true`: `true`, `false OR c.absent`: ``, `c.absent OR false`: ``, `false OR false`: `false`,
		`c.n AND true`: ``, `NOT true`: `false`, `NOT c.no`: `true`, `NOT (c.n = 4)`: `true`, `NOT c.absent`: ``, `NOT c.n`: ``,
		`true OR true AND false`: `true`, `(true OR true) AND false`: `false`, `not IS_NULL(c.n) and c.yes`: `true`,

		`IS_DEFINED(c.n)`: `true`, `IS_DEFINED(c.absent)`: `false`, `is_null(c.nil)`: `true`, `IS_NULL(c.absent)`: `false`,
		`IS_STRING(c.s)`: `true`, `IS_NUMBER(c.s)`: `false`, `IS_BOOL(c.no)`: `true`, `IS_ARRAY(c.o.list)`: `true`, `IS_OBJECT(c.o)`: `true`,
		`STARTSWITH(c.s, "He")`: `true`, `STARTSWITH(c.s, "he")`: `false`, `STARTSWITH(c.s, "he", true)`: `true`, `STARTSWITH(c.n, "5")`: ``,
		`ENDSWITH(c.s, "lo")`: `true`, `CONTAINS(c.s, "ell")`: `true`, `CONTAINS(c.s, "ELL", true)`: `true`, `CONTAINS(c.s, "ELL", 1)`: ``, `CONTAINS(c.absent, "x")`: ``,
		`ARRAY_CONTAINS(c.o.list, "x")`: `true`, `ARRAY_CONTAINS(c.o.list, {k: 1})`: `false`, `ARRAY_CONTAINS(c.o.list, {k: 1}, true)`: `true`,
		`ARRAY_CONTAINS(c.s, "x")`: ``, `ARRAY_CONTAINS(["run", "init"], c.type)`: `true`,
	} {
		q, err := Parse("SELECT VALUE "+text+" FROM c", values(t, `{"@p":7,"@list":[1,2]}`))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, _ := q.Project(nil, []byte(sample)); string(got) != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
		filter, err := Parse("SELECT * FROM c WHERE "+text, values(t, `{"@p":7,"@list":[1,2]}`))
		if err != nil {
			t.Errorf("as a filter %s: %v", text, err)
		} else if filter.Matches([]byte(sample)) != (want == "true") {
			t.Errorf("as a filter %s selects when its value is %s", text, want)
		}
	}
}

func TestProjections(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`SELECT c.id, c.o.a.b FROM c`:                         `{"id":"a","b":"deep"}`,
		`select c.n as count, c.absent from c`:                `{"count":5}`,
		`SELECT r.id FROM root r`:                             `{"id":"a"}`,
		`SELECT r.id FROM root AS r WHERE r.n = 5`:            `{"id":"a"}`,
		`SELECT c.o.list[0] AS first, c.n > 3 AS big FROM c`:  `{"first":{"k":1,"z":2},"big":true}`,
		`SELECT VALUE {"from": c.id} FROM c`:                  `{"from":"a"}`,
		`SELECT c.from FROM c`:                                `{}`,
		"SELECT VALUE\n\tc.o\r\nFROM c":                       `{"a":{"b":"deep"},"list":[{"k":1,"z":2},"x",3]}`,
		`SELECT TOP @n VALUE c.id FROM c`:                     `"a"`,
		`SELECT VALUE c.id FROM c ORDER BY c.x, c["y"] DESC`:  `"a"`,
		`SELECT VALUE c.id FROM c OFFSET 1 LIMIT @n`:          `"a"`,
		`SELECT VALUE COUNT(1) FROM c`:                        `COUNT`,
		`SELECT VALUE count(c.x) FROM c WHERE c.type = "run"`: `COUNT`,
	} {
		q, err := Parse(text, values(t, `{"@n":3}`))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if q.Counts() != (want == "COUNT") {
			t.Errorf("%s counts: %v", text, q.Counts())
		}
		if q.Counts() {
			continue
		}
		if got, _ := q.Project(nil, []byte(sample)); string(got) != want {
			t.Errorf("%s gives %s, want %s", text, got, want)
		}
	}
}

func TestRefusedQueriesNameThePlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                          `position 1: expected SELECT, not the end of the query`,
		`SELECT *`:                                  `position 9: FROM is missing`,
		`UPDATE c`:                                  `position 1: expected SELECT, not "UPDATE"`,
		`SELECT DISTINCT c.a FROM c`:                `position 8: DISTINCT is not supported`,
		`SELECT * FROM c JOIN x IN c.list`:          `position 17: "JOIN" in FROM is not supported`,
		`SELECT * FROM x IN c.list`:                 `position 17: "IN" in FROM is not supported`,
		`SELECT * FROM c.list`:                      `position 16: "." in FROM is not supported`,
		`SELECT * FROM c WHERE c.a LIKE "x%"`:       `position 27: "LIKE" is not supported here`,
		`SELECT * FROM c WHERE c.a + 1 = 2`:         `position 27: '+' is not supported`,
		`SELECT * FROM c WHERE c.a - 1 = 2`:         `position 27: "-" is not supported here`,
		`SELECT * FROM c WHERE -c.a = 2`:            `position 23: arithmetic is not supported`,
		`SELECT * FROM c WHERE LOWER(c.a) = "x"`:    `position 23: the function LOWER is not supported`,
		`SELECT * FROM c WHERE STARTSWITH(c.a)`:     `position 23: STARTSWITH takes 2 to 3 arguments, not 1`,
		`SELECT * FROM c WHERE a.b = 1`:             `position 23: unknown name a: paths start with c`,
		`SELECT * FROM c WHERE C.b = 1`:             `position 23: unknown name C: paths start with c`,
		`SELECT * FROM c WHERE c.a = @x`:            `position 29: the parameter @x has no value`,
		`SELECT * FROM c WHERE NOT c.a = 1`:         `position 23: NOT binds tighter than a comparison`,
		`SELECT * FROM c WHERE 1 < c.a < 3`:         `position 31: a comparison of a comparison needs parentheses`,
		`SELECT * FROM c WHERE c.a IN ()`:           `position 27: the list of IN is empty`,
		`SELECT * FROM c WHERE c.a = "x`:            `position 29: the string does not end`,
		`SELECT * FROM c WHERE c.a = 1 c.b = 2`:     `position 31: "c" is not supported here`,
		`SELECT * FROM c WHERE c.a[c.b] = 1`:        `position 27: expected a member name in quotes or an array index`,
		`SELECT * FROM c WHERE (SELECT 1)`:          `position 23: subqueries are not supported`,
		`SELECT * FROM c WHERE c.a = 1 GROUP BY c`:  `position 31: "GROUP" is not supported here`,
		`SELECT * FROM c WHERE EXISTS(c.a)`:         `position 23: the function EXISTS is not supported`,
		`SELECT * FROM c ORDER BY 1`:                `position 26: ORDER BY takes paths that start with c`,
		`SELECT * FROM c ORDER BY c`:                `position 26: ORDER BY takes a path into the document`,
		`SELECT * FROM c OFFSET 1`:                  `position 25: expected LIMIT, not the end of the query`,
		`SELECT TOP -1 * FROM c`:                    `position 12: expected a number after TOP, not "-"`,
		`SELECT TOP 1.5 * FROM c`:                   `position 12: 1.5 after TOP is not a whole number`,
		`SELECT COUNT(1) FROM c`:                    `position 8: the function COUNT is not supported`,
		`SELECT VALUE SUM(c.a) FROM c`:              `position 14: the function SUM is not supported`,
		`SELECT VALUE COUNT(1) FROM c ORDER BY c.a`: `COUNT with ORDER BY, TOP or OFFSET is not supported`,
		`SELECT c.a = 1 FROM c`:                     `position 8: this column needs a name: add AS`,
		`SELECT c.a, c.b AS a FROM c`:               `position 13: two columns have the name a`,
		`SELECT * FROM c; DROP`:                     `position 16: ';' is not supported`,
		`SELECT * FROM c -- all`:                    `position 17: comments are not supported`,
		`SELECT * FROM c WHERE c.a = 1x`:            `position 29: "1x" is not a number`,
		`SELECT * FROM c WHERE c.a = 1e999`:         `position 29: "1e999" is not a number in range`,
		`SELECT *, c.a FROM c`:                      `position 9: expected FROM, not ","`,
		`SELECT * FROM c WHERE ` + strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100): `nests deeper than 64 levels`,
	} {
		_, err := Parse(text, nil)
		var at *Error
		if !errors.As(err, &at) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`from c where c.n = 5`:                        true,
		`FROM x WHERE x.type = 'run' AND x.n > 5`:     false,
		`from c where NOT IS_DEFINED(c.absent)`:       true,
		`from c where c.absent = 1 OR c.type = 'run'`: true,
	} {
		c, err := ParseCondition(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := c.Holds([]byte(sample)); got != want {
			t.Errorf("%s holds: %v", text, got)
		}
	}
	for _, text := range []string{``, `c.n = 5`, `where c.n = 5`, `from c`, `SELECT * FROM c`, `from c where c.n = @p`, `from c where c.n = 5 ORDER BY c.n`} {
		if _, err := ParseCondition(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

// Values of all types come in the service's order, and its reverse.
func TestSortKeysOrderTypes(t *testing.T) {
	t.Parallel()
	ascending := []string{`{}`, `{"k":null}`, `{"k":false}`, `{"k":true}`, `{"k":-1}`, `{"k":0}`, `{"k":10}`, `{"k":""}`, `{"k":"B"}`, `{"k":"a"}`, `{"k":[]}`, `{"k":{}}`}
	for clause, sign := range map[string]int{"ASC": 1, "DESC": -1, "": 1} {
		q := testenv.Must(Parse("SELECT * FROM c ORDER BY c.k "+clause, nil))(t)
		for i := range ascending {
			for j := range ascending {
				got := q.CompareKeys(q.SortKeys([]byte(ascending[i])), q.SortKeys([]byte(ascending[j])))
				if want := sign * (i - j); got*want < 0 || (got == 0) != (want == 0) {
					t.Errorf("%s %s against %s gives %d", clause, ascending[i], ascending[j], got)
				}
			}
		}
	}
}

func TestNarrowing(t *testing.T) {
	t.Parallel()
	q := testenv.Must(Parse(`SELECT * FROM c WHERE c.a.b = @v AND (c.x = 1 OR c.y = 2) AND 'k' = c.k AND STARTSWITH(c.id, 'run-') AND NOT (c.z = 3)`, values(t, `{"@v":"one"}`)))(t)
	for path, want := range map[string]string{"a/b": `"one"`, "k": `"k"`, "x": ``, "y": ``, "z": ``, "a": ``} {
		if v, _ := q.EqualTo(strings.Split(path, "/")); string(v.Append(nil)) != want {
			t.Errorf("%s must equal %s, want %s", path, v.Append(nil), want)
		}
	}
	if got := q.Prefix([]string{"id"}); got != "run-" {
		t.Errorf("the prefix of id is %q", got)
	}
	if got := q.Prefix([]string{"k"}); got != "" {
		t.Errorf("the prefix of k is %q", got)
	}
}

func TestOneOf(t *testing.T) {
	t.Parallel()
	for where, want := range map[string]string{
		`c.id = 'a'`:                                         `"a"`,
		`c.id IN ('a', @v, 3)`:                               `"a" "one" 3`,
		`ARRAY_CONTAINS(@list, c.id)`:                        `"x" 2 null`,
		`ARRAY_CONTAINS(['b', @v], c.id)`:                    `"b" "one"`,
		`ARRAY_CONTAINS(@list, c.id) AND c.id = 'a'`:         `"a"`,
		`c.id = 'a' AND ARRAY_CONTAINS(@list, c.id)`:         `"a"`,
		`c.n = 1 AND (c.k = 2 AND ARRAY_CONTAINS(@v, c.id))`: ``, // no list, true of no document
		`ARRAY_CONTAINS([], c.id)`:                           ``,
		`c.id NOT IN ('a')`:                                  `any`,
		`NOT ARRAY_CONTAINS(@list, c.id)`:                    `any`,
		`ARRAY_CONTAINS(@list, c.id) OR c.n = 1`:             `any`,
		`ARRAY_CONTAINS(@list, c.ID)`:                        `any`,
		`ARRAY_CONTAINS(@list, c.id, true)`:                  `any`,
		`ARRAY_CONTAINS(c.list, c.id)`:                       `any`,
		`ARRAY_CONTAINS(c.id, 'a')`:                          `any`,
		`ARRAY_CONTAINS(['b', c.n], c.id)`:                   `any`,
		`c.id IN ('a', c.n)`:                                 `any`,
		`c.id != 'a'`:                                        `any`,
	} {
		q := testenv.Must(Parse(`SELECT * FROM c WHERE `+where, values(t, `{"@v":"one","@list":["x",2,null]}`)))(t)
		got := "any"
		if values, ok := q.OneOf([]string{"id"}); ok {
			var all []string
			for _, v := range values {
				all = append(all, string(v.Append(nil)))
			}
			got = strings.Join(all, " ")
		}
		if got != want {
			t.Errorf("%s: id is one of %s, want %s", where, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`SELECT * FROM c WHERE c.a = 1 AND NOT (c["b"] IN ('x', "y"))`,
		`SELECT TOP 3 c.a, c.b AS x FROM c ORDER BY c.a DESC OFFSET 1 LIMIT 2`,
		`SELECT VALUE {"a": [c.a, -1.5e3, null]} FROM root AS c WHERE c.n BETWEEN 1 AND 2`,
		`SELECT VALUE COUNT(1) FROM c WHERE STARTSWITH(c.id, "a", true)`,
		`SELECT VALUE c.o.list[0] FROM c`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text, nil)
		if err != nil {
			var at *Error
			if !errors.As(err, &at) || at.At < 0 || at.At > len(text) {
				t.Fatalf("%q is refused without a place: %v", text, err)
			}
			return
		}
		if q.Counts() {
			q.Counted([]byte(sample))
		} else if row, ok := q.Project(nil, []byte(sample)); ok && !json.Valid(row) {
			t.Fatalf("%q gives %q, which is not JSON", text, row)
		}
		q.Matches([]byte(sample))
		q.SortKeys([]byte(sample))
	})
}
