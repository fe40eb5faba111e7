package lint

import "gopkg.in/yaml.v3"

// Position is the place of the value at a path, of keys and indexes, in a runbook's text:
// line and column from 1, or 0 and 0 where there is no such value.
func Position(text []byte, path []any) (line, column int) { return Positions(text)(path) }

// Positions is Position for many paths of one text, which it reads once.
func Positions(text []byte) func(path []any) (line, column int) {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return func([]any) (int, int) { return 0, 0 }
	}
	return func(path []any) (int, int) {
		value := find(root.Content[0], path)
		if value == nil {
			return 0, 0
		}
		return value.Line, value.Column
	}
}

// find follows keys and places down a YAML tree; nil where there is no such place.
func find(n *yaml.Node, path []any) *yaml.Node {
	for _, step := range path {
		if n != nil && n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		switch step := step.(type) {
		case string:
			key := keyOf(n, step)
			if key == nil {
				return nil
			}
			for i := range n.Content {
				if n.Content[i] == key {
					n = n.Content[i+1]
					break
				}
			}
		case int:
			if n == nil || n.Kind != yaml.SequenceNode || step >= len(n.Content) {
				return nil
			}
			n = n.Content[step]
		}
	}
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func keyOf(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i]
		}
	}
	return nil
}
