package filter

import (
	"strings"
	"testing"
	"time"
)

// properties is a message: names with the prefix sys. are system properties.
type properties map[string]any

func (p properties) User(name string) any   { return p[name] }
func (p properties) System(name string) any { return p["sys."+name] }

var sample = properties{
	"text": "north", "quote": "it's", "empty": "", "int": int32(7), "long": int64(1) << 40, "float": 1.5, "small": float32(0.5),
	"yes": true, "no": false, "a b": "spaced", "x]y": "bracket", "byte": uint8(200), "huge": uint64(1) << 63,
	"when":          time.Unix(100, 0),
	"percent":       "50%",
	"sys.MessageId": "id-1", "sys.Label": "label",
}

func TestSQL(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]bool{
		// comparison
		"text = 'north'": true, "text = 'North'": false, "text <> 'south'": true, "text != 'north'": false,
		"text > 'a'": true, "text < 'a'": false, "text >= 'north'": true, "text <= 'north'": true,
		"int = 7": true, "int > 6.5": true, "int < 7": false, "int <= 7": true, "int >= 8": false,
		"long > int": true, "float = 1.5": true, "float = 15e-1": true, "small = .5": true, "byte = 200": true,
		"huge > 9e18": true, "yes = TRUE": true, "yes = no": false, "no = false": true, "quote = 'it''s'": true, "empty = ''": true,
		"1=1": true, "1=0": false, "when = when": true,
		// arithmetic
		"int + 1 = 8": true, "int - 10 = -3": true, "int * 2 = 14": true, "int / 2 = 3": true, "int % 4 = 3": true,
		"-int = -7": true, "+int = 7": true, "- -int = 7": true, "1 + 2 * 3 = 7": true, "(1 + 2) * 3 = 9": true, "float * 2 = 3": true,
		"text + 'ern' = 'northern'": true, "int / 0 = 0": false, "int % 0 = 0": false, "8 - 4 - 2 = 2": true, "5.5 % 2 = 1.5": true,
		// identifiers
		"[a b] = 'spaced'": true, `"a b" = 'spaced'`: true, "[x]]y] = 'bracket'": true, "user.text = 'north'": true,
		"property('text') = 'north'": true, "p('a b') = 'spaced'": true, "user.[a b] = 'spaced'": true,
		"sys.MessageId = 'id-1'": true, "sys.messageid = 'id-1'": true, "SYS.Label = 'label'": true, "sys.To IS NULL": true,
		"Text = 'north'": false, // names of user properties differ by case
		// connectives and precedence
		"text = 'north' AND int = 7": true, "text = 'x' OR int = 7": true, "NOT text = 'x'": true, "NOT NOT text = 'north'": true,
		"text = 'north' OR 1=0 AND 1=0": true, "(text = 'north' OR 1=0) AND 1=0": false, "not (text = 'x' or int = 8)": true,
		"NOT 1=0 AND 1=1": true, "((int) = (7))": true,
		// IN, LIKE, EXISTS, IS NULL
		"text IN ('south', 'north')": true, "text NOT IN ('south')": true, "int IN (1, 2 + 5)": true, "text IN (1, 'north')": true,
		"text LIKE 'no%'": true, "text LIKE '_orth'": true, "text LIKE '%t%'": true, "text LIKE 'north_'": false, "text NOT LIKE 's%'": true,
		"text LIKE '%'": true, "empty LIKE ''": true, "empty LIKE '_'": false, "text like 'NO%'": false,
		`percent LIKE '50\%' ESCAPE '\'`: true, `text LIKE 'nor\%' ESCAPE '\'`: false, "percent LIKE '%!%' ESCAPE '!'": true,
		"EXISTS(text)": true, "EXISTS(missing)": false, "NOT EXISTS(missing)": true, "exists(sys.MessageId)": true,
		"text IS NULL": false, "text IS NOT NULL": true, "missing IS NULL": true, "missing IS NOT NULL": false,
		// unknown
		"missing = 1": false, "NOT missing = 1": false, "missing <> 1": false, "missing = missing": false,
		"missing = 1 OR 1=1": true, "missing = 1 AND 1=1": false, "NOT (missing = 1 AND 1=0)": true, "NOT (missing = 1 OR 1=0)": false,
		"missing IN (1)": false, "missing NOT IN (1)": false, "1 IN (missing, 1)": true, "2 NOT IN (missing, 1)": false,
		"missing LIKE '%'": false, "missing NOT LIKE 'x'": false, "text LIKE missing": false, "missing + 1 = 1": false,
		// types that do not compare
		"text = 7": false, "NOT text = 7": false, "yes = 1": false, "yes > no": false, "text + 1 = 2": false, "int LIKE '7'": false, "when = 100": false,
	} {
		f, err := Parse(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if got := f.Matches(sample); got != want {
			t.Errorf("%s is %t", expression, got)
		}
		if f.String() != expression {
			t.Errorf("%s is shown as %s", expression, f)
		}
	}
}

func TestWhatIsNotTheGrammarIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"": "position 1", "text": "not a condition", "text =": "position 7", "= 1": "position 1", "text == 1": "position 7",
		"text = 'open": "position 8: \"'\" is not closed", "[open = 1": "position 1", "[] = 1": "empty identifier", "text = 1 AND": "position 13",
		"text = 1 2": "position 10", "(text = 1": "position 10", "text = 1)": "position 9", "text AND 1=1": "operand of AND",
		"1=1 OR text": "operand of OR", "NOT text": "operand of NOT", "(1=1) = (1=1)": "is a condition", "1 + (1=1) = 2": "is a condition",
		"(1=1) + 1 = 2": "is a condition", "-(1=1) = 1": "is a condition", "text = (1=1)": "is a condition",
		"text IN ()": "position 10", "text IN 'a'": "position 9", "text IN ('a'": "position 13", "text LIKE 1": "string as its pattern",
		"text LIKE 'a' ESCAPE 'ab'": "one character", "text LIKE 'a!' ESCAPE '!'": "ends with its escape", "text NOT = 1": "IN or LIKE",
		"'a' IS NULL": "takes a property", "text IS 1": "NULL", "EXISTS('a')": "a property", "EXISTS(text": "position 12",
		"sys.Nothing = 1": "no system property", "sys.TimeToLive = 1": "not supported", "other.text = 1": "neither sys nor user", "newid() = 'a'": "not supported",
		"property(text) = 1": "name as a string", "text = 1; DROP": "position 9", "text = @p": "unexpected character",
		"text = 1x": "not a number", "AND = 1": "a value", "NULL = 1": "a value", "sys. = 1": "a property",
		strings.Repeat("(", 200) + "1=1": "nested deeper", strings.Repeat("-", 200) + "1=1": "nested deeper",
	} {
		if _, err := Parse(expression); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not tell %q", expression, err, want)
		}
	}
}

func TestCorrelation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		filter Correlation
		want   bool
	}{
		"system":            {Correlation{System: map[string]string{"MessageId": "id-1"}}, true},
		"system, other":     {Correlation{System: map[string]string{"MessageId": "id-2"}}, false},
		"system, missing":   {Correlation{System: map[string]string{"To": ""}}, false},
		"user":              {Correlation{User: map[string]any{"text": "north", "int": float64(7), "yes": true}}, true},
		"user, one differs": {Correlation{User: map[string]any{"text": "north", "int": float64(8)}}, false},
		"user, missing":     {Correlation{User: map[string]any{"missing": "x"}}, false},
		"user, other type":  {Correlation{User: map[string]any{"int": "7"}}, false},
		"both":              {Correlation{System: map[string]string{"Label": "label"}, User: map[string]any{"text": "north"}}, true},
	} {
		if got := c.filter.Matches(sample); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a = 'b'", "NOT (a IN (1, 2.5e3) OR [b c] LIKE '%x!_' ESCAPE '!')", "sys.Label IS NOT NULL AND EXISTS(a)", "-1 + 2 * x % 3 <> p('q')"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		parsed, err := Parse(expression)
		if err != nil {
			return
		}
		got := parsed.Matches(sample)
		negated, err := Parse("NOT (" + expression + ")")
		if err != nil {
			if strings.Contains(err.Error(), "nested deeper") {
				return
			}
			t.Fatalf("%q parses, its negation does not: %v", expression, err)
		}
		if got && negated.Matches(sample) {
			t.Fatalf("%q and its negation both match", expression)
		}
	})
}
