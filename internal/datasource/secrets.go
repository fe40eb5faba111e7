package datasource

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// secrets are the texts that no error may hold, the longest first.
type secrets []string

const mask = "***"

// secretName is the name of something whose value is a secret, in a connection string
// or in the query of a URL.
var secretName = regexp.MustCompile(`(?i)pass|pwd|secret|key|token|sig|credential`)

// secretPattern matches text that looks like a secret. It also catches secrets that were
// truncated or rewritten on their way into an error.
var secretPattern = regexp.MustCompile(`(?i)\b((?:password|pwd|secret|sig|(?:account|sharedaccess|access)_?key|sharedaccesssignature|(?:access_)?token|clientsecret|client_secret)=|bearer )[^\s;&"',)]+`)

// The least lengths from which on a part is a secret that was not named as one. Below,
// its removal would garble the text of any error (sp=r is in every signed URL), and
// gain nothing.
const (
	minUnnamed = 12
	minUser    = 8
)

// secretsOf finds what must not be told of the given values of environment variables:
// each as a whole, and the secret parts of what looks like "name=value;…", like
// "name=value …" or like a URL.
func secretsOf(values ...string) secrets {
	found := map[string]bool{}
	for _, v := range values {
		found[v] = true
		for _, part := range slices.Concat(assigned(v), ofKeywords(v), ofURL(v)) {
			found[part] = true
		}
	}
	all := map[string]bool{}
	for part := range found {
		for _, form := range forms(part) {
			all[form] = form != ""
		}
	}
	var s secrets
	for form, ok := range all {
		if ok {
			s = append(s, form)
		}
	}
	slices.SortFunc(s, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return s
}

// assigned gives the secret values of "name=value;name=value". A value in quotation
// marks, apostrophes or braces may hold semicolons; the closing mark is doubled in it.
// Not every driver knows that, so both readings count.
func assigned(s string) []string {
	var found []string
	for rest := s; rest != ""; {
		name, value, ok := strings.Cut(rest, "=")
		if !ok {
			break
		}
		if i := strings.LastIndexAny(name, ";?&"); i >= 0 {
			name = name[i+1:]
		}
		value = strings.TrimLeft(value, " \t\r\n")
		plain, after, _ := strings.Cut(value, ";")
		plain = strings.TrimSpace(plain)
		quoted, afterQuoted, isQuoted := unquote(value)
		if secretName.MatchString(name) {
			if !isQuoted || len(plain) >= 4 {
				found = append(found, plain)
			}
			if isQuoted {
				found = append(found, quoted, value[:len(value)-len(afterQuoted)])
			}
		}
		rest = after
	}
	return found
}

// keyword is the beginning of "name=value" after a space.
var keyword = regexp.MustCompile(`(?:^|\s)(\w+)\s*=\s*`)

// ofKeywords gives the secret values of "name=value name='a value'", where a backslash
// stands before what is meant as it is.
func ofKeywords(s string) []string {
	var found []string
	for _, at := range keyword.FindAllStringSubmatchIndex(s, -1) {
		if !secretName.MatchString(s[at[2]:at[3]]) {
			continue
		}
		value := s[at[1]:]
		whole := keywordValue.FindString(value)
		plain := whole
		if strings.HasPrefix(whole, "'") {
			plain = strings.TrimSuffix(whole[1:], "'")
		}
		if plain == "" {
			continue
		}
		found = append(found, whole, plain, escaped.ReplaceAllString(plain, "$1"))
	}
	return found
}

var (
	keywordValue = regexp.MustCompile(`^(?s:'(?:[^'\\]|\\.)*'?|(?:[^\s\\]|\\.)*)`)
	escaped      = regexp.MustCompile(`(?s)\\(.)`)
)

// unquote reads the quoted value that s begins with.
func unquote(s string) (value, after string, ok bool) {
	if s == "" {
		return "", s, false
	}
	closing, known := map[byte]byte{'"': '"', '\'': '\'', '{': '}'}[s[0]]
	if !known {
		return "", s, false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != closing:
			b.WriteByte(s[i])
		case i+1 < len(s) && s[i+1] == closing:
			b.WriteByte(closing)
			i++
		default:
			return b.String(), s[i+1:], true
		}
	}
	return "", s, false
}

// ofURL gives the secret parts of a URL: the password, or a user that stands alone, and
// the query. It does not parse the URL, since what cannot be parsed is quoted too.
func ofURL(s string) []string {
	var found []string
	if _, rest, ok := strings.Cut(s, "://"); ok {
		found = ofUser(rest)
	}
	if _, query, ok := strings.Cut(s, "?"); ok {
		found = append(found, ofQuery(query)...)
	}
	return found
}

// ofUser gives the password of a URL without its scheme, or the user that stands alone.
func ofUser(rest string) []string {
	var found []string
	path, _, _ := strings.Cut(rest, "?")
	authority, _, _ := strings.Cut(path, "/")
	for _, part := range []string{authority, path, rest} { // a password may hold / and ?
		at := strings.LastIndexByte(part, '@')
		if at < 0 {
			continue
		}
		user, password, ok := strings.Cut(part[:at], ":")
		switch {
		case ok:
			found = append(found, password)
		case len(user) >= minUser:
			found = append(found, user)
		}
	}
	return found
}

// ofQuery gives the secret parts of what follows the question mark of a URL, and the query
// as a whole.
func ofQuery(query string) []string {
	var found []string
	query, fragment, _ := strings.Cut(query, "#")
	if len(query) >= 4 {
		found = append(found, query)
	}
	for _, pair := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case !ok && len(pair) >= minUnnamed:
			found = append(found, pair)
		case ok && (secretName.MatchString(name) || len(value) >= minUnnamed):
			found = append(found, value)
		case ok && value != "":
			found = append(found, pair)
		}
	}
	if len(fragment) >= minUnnamed {
		found = append(found, fragment)
	}
	return found
}

// forms gives the ways in which a part may be written in an error: as it is, without
// and with percent-encoding (in either case of the digits), and as %q and JSON write
// it.
func forms(part string) []string {
	all := []string{part, strings.TrimSpace(part)}
	for _, decode := range []func(string) (string, error){url.QueryUnescape, url.PathUnescape} {
		if plain, err := decode(part); err == nil {
			all = append(all, plain)
		}
	}
	for _, plain := range slices.Clone(all) {
		userinfo := url.UserPassword("", plain).String()
		encoded := []string{
			url.QueryEscape(plain), url.PathEscape(plain), userinfo[1:], (&url.URL{Path: "/" + plain}).EscapedPath()[1:],
		}
		for _, e := range encoded {
			all = append(all, e, lowerHex(e))
		}
	}
	for _, plain := range slices.Clone(all) {
		all = append(all, inner(strconv.Quote(plain)), inner(strconv.QuoteToASCII(plain)))
		if b, err := json.Marshal(plain); err == nil {
			all = append(all, inner(string(b)))
		}
	}
	return all
}

var hex = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerHex(s string) string { return hex.ReplaceAllStringFunc(s, strings.ToLower) }

// inner takes off the marks around a quoted text.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// minAnywhere is the least length in bytes of a secret that is masked everywhere. A
// shorter one occurs inside many words, so only whole words are masked.
const minAnywhere = 4

// scrub is text with a mask in the place of each secret. The longest go first, so that
// no part of one is left by the removal of another.
func (s secrets) scrub(text string) string {
	for _, secret := range s {
		if len(secret) < minAnywhere {
			text = scrubAlone(text, secret)
			continue
		}
		text = strings.ReplaceAll(text, secret, mask)
	}
	return secretPattern.ReplaceAllString(text, "${1}"+mask)
}

// scrubAlone masks a secret where it is not part of a longer word.
func scrubAlone(text, secret string) string {
	var b strings.Builder
	before := ' '
	for text != "" {
		if rest, ok := strings.CutPrefix(text, secret); ok {
			first, _ := utf8.DecodeRuneInString(secret)
			last, _ := utf8.DecodeLastRuneInString(secret)
			after, _ := utf8.DecodeRuneInString(rest)
			if !(inWord(before) && inWord(first)) && (rest == "" || !(inWord(last) && inWord(after))) {
				b.WriteString(mask)
				text, before = rest, '*'
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(text)
		b.WriteString(text[:size])
		text, before = text[size:], r
	}
	return b.String()
}

// inWord tells of what words are made of.
func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}
