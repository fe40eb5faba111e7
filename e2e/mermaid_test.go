package e2e_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// The lines that the diagrams of the documents are made of. It is less than Mermaid
// takes: what is not here is not drawn without a reason.
var (
	stateLines = regexp.MustCompile(`^(direction (LR|TB)|(\[\*\]|\w+) --> (\[\*\]|\w+)( : \S.*)?|state \w+ \{|state "[^"]+" as \w+|\})$`)

	sequenceLines = regexp.MustCompile(`^(autonumber|(participant|actor) \w+( as \S.*)?` +
		`|\w+(->>|-->>|-\)|--\)|-x|--x)[+-]?\w+: \S.*|Note (over|left of|right of) \w+(,\w+)?: \S.*` +
		`|(loop|alt|opt|par|critical|break) \S.*|(else|and|option)( \S.*)?|end|(activate|deactivate) \w+)$`)
	sequenceOpens = regexp.MustCompile(`^(loop|alt|opt|par|critical|break) `)

	flowDirection = regexp.MustCompile(`^(flowchart|graph) (LR|RL|TB|TD|BT)$`)
	flowGroup     = regexp.MustCompile(`^subgraph \w+(\[[^\[\](){}"]+\]|\["[^"]+"\])?$`)
	// A node is its id and perhaps a shape with a label; brackets in a label need quotes.
	flowNode = regexp.MustCompile(`^([A-Za-z_][\w-]*?)(` + shapes() + `)?(\s|$)`)
	flowLink = regexp.MustCompile(`^(<-->|-->|---|-\.->|<-\.->|-\.-|==>|~~~|&)(\|([^|"]+|"[^"]+")\|)?\s+`)
)

// shapes are the brackets that a node's label can have.
func shapes() string {
	var all []string
	for _, pair := range []string{"([ ])", "[( )]", "[[ ]]", "(( ))", "{{ }}", "[ ]", "( )", "{ }"} {
		left, right, _ := strings.Cut(pair, " ")
		all = append(all, regexp.QuoteMeta(left)+`(?:[^\[\](){}"]+|"[^"]+")`+regexp.QuoteMeta(right))
	}
	return strings.Join(all, "|")
}

// drawn reads a Mermaid diagram; the error names the first line that is none.
func drawn(diagram string) error {
	lines := strings.Split(strings.TrimRight(diagram, "\n"), "\n")
	kind, depth, held := strings.TrimSpace(lines[0]), 0, 0
	for i, line := range lines[1:] {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "%%") {
			continue
		}
		held++
		var fault error
		switch {
		case kind == "stateDiagram-v2":
			if !stateLines.MatchString(line) {
				fault = fmt.Errorf("is no line of a state diagram")
			}
			depth += strings.Count(line, "{") - strings.Count(line, "}")
		case kind == "sequenceDiagram":
			if !sequenceLines.MatchString(line) {
				fault = fmt.Errorf("is no line of a sequence diagram")
			}
			if sequenceOpens.MatchString(line) {
				depth++
			} else if line == "end" {
				depth--
			}
		case flowDirection.MatchString(kind):
			switch {
			case line == "end":
				depth--
			case strings.HasPrefix(line, "subgraph"):
				depth++
				if !flowGroup.MatchString(line) {
					fault = fmt.Errorf("does not open a group")
				}
			case !strings.HasPrefix(line, "direction "):
				fault = flow(line)
			}
		default:
			return fmt.Errorf("%q is no kind of diagram that this test knows: stateDiagram-v2, sequenceDiagram or flowchart with a direction", kind)
		}
		if fault == nil && depth < 0 {
			fault = fmt.Errorf("ends what has not begun")
		}
		if fault != nil {
			return fmt.Errorf("line %d of the diagram, %q, %w", i+2, line, fault)
		}
	}
	if depth > 0 {
		return fmt.Errorf("the diagram leaves %d groups open", depth)
	}
	if held == 0 {
		return fmt.Errorf("the diagram is empty")
	}
	return nil
}

// flow reads a line of nodes with links between them.
func flow(line string) error {
	for {
		node := flowNode.FindStringSubmatch(line)
		if node == nil {
			return fmt.Errorf("has no node at %q; labels with brackets need quotes", line)
		}
		if node[1] == "end" {
			return fmt.Errorf("has a node called end, which Mermaid takes for the end of a group")
		}
		if line = strings.TrimSpace(line[len(node[0]):]); line == "" {
			return nil
		}
		link := flowLink.FindString(line)
		if link == "" {
			return fmt.Errorf("has no link at %q", line)
		}
		line = line[len(link):]
	}
}

func TestDiagramsAreRead(t *testing.T) {
	t.Parallel()
	for diagram, want := range map[string]string{
		"stateDiagram-v2\n  [*] --> active : created\n  active --> [*]\n":                                   "",
		"sequenceDiagram\n  participant H as handler\n  loop each page\n    H->>H: decide\n  end\n":         "",
		"flowchart LR\n  a([A]) -->|says| b[(x<br/>y)]\n  subgraph s[some]\n    c\n  end\n  b <--> c & a\n": "",
		"flowchart TB\n  a[\"f(x)\"] -.->|\"a: b\"| b{made by}\n":                                           "",
		"flowchart\n  a --> b\n":                  "no kind",
		"pie\n  a\n":                              "no kind",
		"flowchart LR\n":                          "empty",
		"flowchart LR\n  a --> b(\n":              "no node",
		"flowchart LR\n  a[f(x)] --> b\n":         "no node",
		"flowchart LR\n  a --> end\n":             "called end",
		"flowchart LR\n  a -> b\n":                "no link",
		"flowchart LR\n  subgraph s\n  a --> b\n": "open",
		"flowchart LR\n  a --> b\n  end\n":        "not begun",
		"sequenceDiagram\n  A->B: x\n":            "no line",
		"sequenceDiagram\n  A->>B\n":              "no line",
		"stateDiagram-v2\n  a -> b\n":             "no line",
	} {
		err := drawn(diagram)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", diagram, err, want)
		}
	}
}
