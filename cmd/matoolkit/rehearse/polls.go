package rehearse

import (
	"bytes"
	"fmt"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// spacePolls lengthens the intervals of polls that are shorter than a least one, and tells how many. Weeks of polls by the
// second would take a rehearsal hours, and tell nothing more.
func spacePolls(text []byte, least time.Duration) ([]byte, int, error) {
	if least <= 0 {
		return text, 0, nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, 0, fmt.Errorf("not valid YAML: %w", err)
	}
	slowed := 0
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "poll" && n.Content[i+1].Kind == yaml.MappingNode {
				slowed += lengthen(n.Content[i+1], least)
			}
		}
		for _, child := range n.Content {
			visit(child)
		}
	}
	visit(&document)
	if slowed == 0 {
		return text, 0, nil
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	err := e.Encode(&document)
	return out.Bytes(), slowed, err
}

// lengthen lengthens the interval of a poll, and returns how many intervals it changed. The interval stays below the timeout.
func lengthen(poll *yaml.Node, least time.Duration) int {
	timeout := time.Duration(0)
	var interval *yaml.Node
	for i := 0; i+1 < len(poll.Content); i += 2 {
		switch poll.Content[i].Value {
		case "interval":
			interval = poll.Content[i+1]
		case "timeout":
			timeout, _ = runbook.ParseDuration(poll.Content[i+1].Value)
		}
	}
	if interval == nil {
		return 0
	}
	if timeout > 0 && least > timeout/2 {
		least = timeout / 2
	}
	if is, err := runbook.ParseDuration(interval.Value); err != nil || is >= least {
		return 0
	}
	interval.Value = fmt.Sprintf("%ds", least/time.Second)
	return 1
}
