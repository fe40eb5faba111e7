package render

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/matoolkit/matoolkit/internal/buildinfo"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// The formats of findings besides Formats.
const (
	formatSARIF  = "sarif"  // for code scanning
	formatGitHub = "github" // annotations of GitHub Actions
	formatAzure  = "azure"  // annotations of Azure Pipelines
)

// FindingFormats are the formats of findings besides Formats.
var FindingFormats = []string{formatSARIF, formatGitHub, formatAzure}

// Finding is a diagnostic with its file.
type Finding struct {
	File string `json:"file"`
	runbook.Diagnostic
}

// finding colors the severity of a finding.
func (c *Printer) finding(d runbook.Diagnostic, line string) string {
	if !c.colored() {
		return line
	}
	color := text.FgYellow
	if d.Severity == runbook.SeverityError {
		color = text.FgRed
	}
	word := string(d.Severity)
	return strings.Replace(line, ": "+word+": ", ": "+color.EscapeSeq()+word+text.Reset.EscapeSeq()+": ", 1)
}

// PrintFindings prints findings for programs: as --output says.
func (c *Printer) PrintFindings(found []Finding) error {
	switch c.Format {
	case formatSARIF:
		return c.Document(sarif(found))
	case formatGitHub:
		return c.annotate(found, "::%[1]s file=%[2]s,line=%[3]d,col=%[4]d,title=%[5]s::%[6]s\n", githubText, githubProperty)
	case formatAzure:
		return c.annotate(found, "##vso[task.logissue type=%[1]s;sourcepath=%[2]s;linenumber=%[3]d;columnnumber=%[4]d;code=%[5]s]%[6]s\n", azureText, azureProperty)
	}
	t := c.Table("file", "line", "column", "severity", "code", "path", "message")
	for _, f := range found {
		t.Row(f.File, f.Line, f.Column, f.Severity, f.Code, f.Path, f.Message)
	}
	return c.Print(found, t)
}

// Escapes of the two annotation formats.
var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	azureText      = strings.NewReplacer("%", "%AZP25", "\r", "%0D", "\n", "%0A")
	azureProperty  = strings.NewReplacer("%", "%AZP25", "\r", "%0D", "\n", "%0A", ";", "%3B", "]", "%5D")
)

func (c *Printer) annotate(found []Finding, form string, text, property *strings.Replacer) error {
	for _, f := range found {
		_, err := fmt.Fprintf(c.Stdout, form, f.Severity, property.Replace(f.File), f.Line, f.Column, property.Replace(f.Code), text.Replace(sentenceOf(f)))
		if err != nil {
			return err
		}
	}
	return nil
}

func sentenceOf(f Finding) string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// The parts of SARIF 2.1.0 that findings fill.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string `json:"name"`
		Version        string `json:"version"`
		InformationURI string `json:"informationUri"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
)

func sarif(found []Finding) sarifLog {
	results := []sarifResult{}
	for _, f := range found {
		results = append(results, sarifResult{
			RuleID: f.Code, Level: string(f.Severity), Message: sarifText{sentenceOf(f)},
			Locations: []sarifLocation{{sarifPhysical{sarifArtifact{(&url.URL{Path: filepath.ToSlash(f.File)}).String()}, sarifRegion{max(f.Line, 1), max(f.Column, 1)}}}},
		})
	}
	return sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{
			Tool: sarifTool{sarifDriver{"matoolkit", buildinfo.Version, "https://github.com/matoolkit/matoolkit"}}, ColumnKind: "unicodeCodePoints", Results: results,
		}},
	}
}
