package humanize

import (
	"fmt"
	"strings"
)

// Nearest is the candidate that a misspelt word most likely stands for, or empty
// when none is near enough. Of equals it is the first.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", 3
	if n := len([]rune(word)) / 2; n < bestDistance {
		bestDistance = n + 1
	}
	for _, c := range candidates[:min(len(candidates), 500)] {
		if strings.EqualFold(c, word) {
			return c
		}
		if len(c) > 64 || len(word) > 64 {
			continue
		}
		if d := editDistance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// DidYouMean suggests what a misspelt word most likely stands for, as the end of a message;
// empty when no candidate is near enough.
func DidYouMean(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// editDistance counts insertions, deletions, replacements and swaps of two
// neighbours.
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	d := make([][]int, len(s)+1)
	for i := range d {
		d[i] = make([]int, len(t)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(s)][len(t)]
}
