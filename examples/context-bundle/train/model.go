package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/matoolkit/matoolkit/examples/context-bundle/bundle"
)

// Model describes each documented repository by its terms: term frequency times inverse document frequency, as vectors of
// length 1. It depends on the repositories only.
type Model struct {
	Fingerprint string     `json:"fingerprint"` // of the bundle
	Terms       int        `json:"terms"`       // different ones, of all documents
	Documents   []Document `json:"documents"`   // by repository
}

// Document is the vector of a repository.
type Document struct {
	Repository string    `json:"repository"`
	Terms      []Term    `json:"terms"`   // the heaviest first, at most maxTerms
	Similar    []Similar `json:"similar"` // the most similar first, at most maxSimilar
}

// Term is a component of a vector.
type Term struct {
	Term   string  `json:"term"`
	Weight float64 `json:"weight"`
}

// Similar is another repository, with the cosine of the angle between the vectors.
type Similar struct {
	Repository string  `json:"repository"`
	Cosine     float64 `json:"cosine"`
}

// Limits of a document.
const (
	maxTerms   = 200
	maxSimilar = 5
)

// train computes the model. Sums have a fixed order, so that the result is the same on each run.
func train(fingerprint string, repositories []bundle.Repository) Model {
	counts := make([]map[string]int, len(repositories))
	frequency := map[string]int{} // documents with the term
	for i, r := range repositories {
		counts[i] = count(r)
		for term := range counts[i] {
			frequency[term]++
		}
	}
	vectors := make([]map[string]float64, len(repositories))
	m := Model{Fingerprint: fingerprint, Terms: len(frequency), Documents: []Document{}}
	for i, r := range repositories {
		vectors[i] = vector(counts[i], frequency, len(repositories))
		d := Document{Repository: r.Repository, Terms: []Term{}, Similar: []Similar{}}
		for _, term := range slices.Sorted(maps.Keys(vectors[i])) {
			d.Terms = append(d.Terms, Term{term, rounded(vectors[i][term])})
		}
		slices.SortStableFunc(d.Terms, func(a, b Term) int { return cmp.Compare(b.Weight, a.Weight) })
		d.Terms = d.Terms[:min(len(d.Terms), maxTerms)]
		m.Documents = append(m.Documents, d)
	}
	for i := range m.Documents {
		d := &m.Documents[i]
		for j, other := range m.Documents {
			if c := rounded(cosine(vectors[i], vectors[j])); i != j && c > 0 {
				d.Similar = append(d.Similar, Similar{other.Repository, c})
			}
		}
		slices.SortStableFunc(d.Similar, func(a, b Similar) int { return cmp.Compare(b.Cosine, a.Cosine) })
		d.Similar = d.Similar[:min(len(d.Similar), maxSimilar)]
	}
	return m
}

// rounded has six decimals: the last bits of logarithms differ between processors.
func rounded(x float64) float64 { return math.Round(x*1e6) / 1e6 }

func vector(counts, frequency map[string]int, documents int) map[string]float64 {
	terms := slices.Sorted(maps.Keys(counts))
	v := make(map[string]float64, len(terms))
	var squares float64
	for _, term := range terms {
		w := float64(counts[term]) * (math.Log(float64(1+documents)/float64(1+frequency[term])) + 1)
		v[term] = w
		squares += w * w
	}
	for _, term := range terms {
		v[term] /= math.Sqrt(squares)
	}
	return v
}

func cosine(a, b map[string]float64) (sum float64) {
	for _, term := range slices.Sorted(maps.Keys(a)) {
		sum += a[term] * b[term]
	}
	return sum
}

// count counts the terms of a repository: words of letters and digits, in lower case, of at least two characters.
func count(r bundle.Repository) map[string]int {
	counts := map[string]int{}
	add := func(text string) {
		for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
			if len([]rune(word)) > 1 {
				counts[word]++
			}
		}
	}
	add(r.About.Description)
	add(r.About.Language)
	add(strings.Join(r.About.Topics, " "))
	add(r.Readme)
	for _, text := range r.Files {
		add(text)
	}
	var context any
	if json.Unmarshal(r.Context, &context) == nil {
		addTexts(context, add)
	}
	return counts
}

// addTexts adds the texts of a JSON value, and the names of its fields.
func addTexts(value any, add func(string)) {
	switch value := value.(type) {
	case string:
		add(value)
	case []any:
		for _, item := range value {
			addTexts(item, add)
		}
	case map[string]any:
		for name, item := range value {
			add(name)
			addTexts(item, add)
		}
	}
}
