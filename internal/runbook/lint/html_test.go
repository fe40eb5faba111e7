package lint_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/signature"
)

const mails = `name: mails
data_source: {type: csv, primary_key: Upn}
vars: {Team: "<b>Moves</b>", Markup: html}
phases:
  - name: tell
    offset: T-0
    steps:
      - {name: a, worker_id: one, function: send-membermail, params: {format: HTML, texts: {en: {Subject: "{{Name}}", body: "<p>{{Name}}</p>"}, de: {Subject: x, Body: "{{Name | html}}"}}}}
      - {name: b, worker_id: one, function: Send-MemberMail, params: {Format: "{{Markup}}", Texts: {en: {Subject: x, Body: "{{Team}} {{Name | html | lower}}, {{Upn | html}}, {{Mail | default('<') | html}}, {{Other}}"}}}}
      - {name: c, worker_id: one, function: Send-MemberMail, params: {Texts: {en: {Subject: x, Body: "{{Name}}"}}}}
      - {name: d, worker_id: one, function: Send-MemberMail, params: {Format: "{{Which}}", Texts: {en: {Subject: x, Body: "{{Name}}"}}}}
      - {name: e, worker_id: one, function: Send-MemberMail, params: {Format: html, Texts: '{"en": {"Subject": "{{Name}}", "Body": "<p>{{Name}}</p>"} }'}}
      - {name: f, worker_id: one, function: Other, params: {Format: html, Texts: {en: {Subject: x, Body: "{{Name}}"}}}}
`

func TestVariablesInTheMarkupOfAMailAreEscaped(t *testing.T) {
	t.Parallel()
	rb, diagnostics := runbook.Parse([]byte(mails))
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics.Err())
	}
	params := []signature.Parameter{{Name: "Texts", Type: string(signature.Object)}, {Name: "Format", Type: "text|html"}}
	catalogs := lint.Catalogs{Standard: []signature.Function{{Name: "Send-MemberMail", Params: params}, {Name: "Other", Params: params}}}
	var got []string
	for _, d := range lint.Check([]byte(mails), rb, catalogs) {
		got = append(got, fmt.Sprintf("%d:%d %s: %s: %s", d.Line, d.Column, d.Path, d.Code, d.Message))
	}
	const says = "the mail is HTML, and a value of %s in it can add markup, such as a link: end each variable with the filter html, such as {{Name | html}}, or send text"
	want := []string{
		"8:119 phases[0].steps[0].params.texts.en.body: unescaped-html: " + fmt.Sprintf(says, "{{Name}}"),
		"9:118 phases[0].steps[1].params.Texts.en.Body: unescaped-html: " + fmt.Sprintf(says, "{{Name}} and {{Other}}"),
		"12:85 phases[0].steps[4].params.Texts: unescaped-html: " + fmt.Sprintf(says, "{{Name}}"),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
