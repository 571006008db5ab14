package report

// Lead is what a page begins with if its runs were made to answer a question: the answer, and what
// it rests on. It replaces the verdicts by scenario, of which each is about a part only.
type Lead struct {
	Kind     string   `json:"kind"` // one word: promote, change, keep, undecided
	Sentence string   `json:"sentence"`
	Facts    []Fact   `json:"facts"` // money, objective
	Reasons  []string `json:"reasons"`
	// Assumptions that the answer rests on.
	Assumptions []string `json:"assumptions"`
}

// Fact is a short line with a name.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Lead sets what the page begins with.
func (r *Report) Lead(l Lead) { r.Summary.Lead = &l }
