package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/twin"
)

// Dependence is a condition or several under which a verdict holds, or does not.
type Dependence struct {
	Figure  twin.Figure   `json:"figure"`
	Service string        `json:"service,omitempty"`
	Holds   bool          `json:"holds"`
	Value   result.Number `json:"value"` // up to which it holds, or at which it does not; null = several
	Text    string        `json:"text"`
}

// leeway is how many times today's share of requests over the SLO counts as about the same.
const leeway = 1.5

// hold decides in which conditions deployments meet the objective. Today's does with at most 1 % of
// the requests over the SLO, or about as many as with the twin as fitted: these stretches are the
// hardest of the test part. Others do likewise, or with about as many as today's.
func (e *Evaluation) hold() {
	allowed := result.Number(result.CountsIf)
	for i := range e.Conditions {
		c := &e.Conditions[i]
		today := c.result(TodayLabel)
		if c.Figure == "" && e.Entry(TodayLabel).SLO == Yes {
			allowed = max(allowed, leeway*today.Over)
		}
		c.TodayMeets = today.Over <= allowed
		for k := range c.Results {
			r := &c.Results[k]
			r.Holds = r.Over <= allowed || c.TodayMeets && r.Over <= leeway*today.Over
		}
	}
}

// doubt is why a deployment is not recommended although it is better with the twin as fitted.
type doubt struct {
	entry     *Entry
	condition *Condition // nil = the doubt is another one
	who       string     // it, or today's deployment
	does      string     // what that would do
	decides   string     // what to do about it
	open      bool       // a measurement could remove the doubt
}

// doubt about a deployment; nil = none. One that no measurement can remove comes first, and then
// one that names a single service.
func (c contest) doubt(e *Entry) *doubt {
	var found []*Condition
	for i := range c.e.Conditions {
		k := &c.e.Conditions[i]
		if r := k.result(e.Label); k.Needed && r != nil && k.Figure != "" && (c.fails(k, r) || c.flips(k, e)) {
			found = append(found, k)
		}
	}
	if len(found) == 0 {
		return c.e.extrapolates(e, c.name(e))
	}
	slices.SortStableFunc(found, func(a, b *Condition) int {
		if a.Open != b.Open {
			return cmp.Compare(openness(a), openness(b))
		}
		return cmp.Compare(len(a.Values), len(b.Values))
	})
	k := found[0]
	d := &doubt{entry: e, condition: k, who: c.name(e), decides: toDecide(k), open: k.Open}
	switch r := k.result(e.Label); {
	case c.flips(k, e):
		d.who, d.does = c.name(c.today), "violates the objective with the twin as fitted, and would meet it with "+k.Name
	case !r.Holds:
		d.does = fmt.Sprintf("would violate the objective with %s (%s of the requests over it), where %s meets it", c.boundary(e, k),
			result.Percent(r.Over), c.name(c.today))
	default:
		d.does = "would not save anything with " + k.Name
	}
	return d
}

// boundary of a condition in which a deployment fails: the least that it bears, if it is known.
func (c contest) boundary(e *Entry, k *Condition) string {
	var same []*Condition
	for i := range c.e.Conditions {
		if o := &c.e.Conditions[i]; o.Figure == k.Figure && o.result(e.Label) != nil {
			same = append(same, o)
		}
	}
	if len(k.Values) == 1 && k.Figure == twin.Workers {
		if least, known := bornBy(e, same, k.Values[0]); known {
			return fmt.Sprintf("fewer than %g workers in each pod of %s, such as %g", least, k.Values[0].Service, k.Values[0].Value)
		}
	}
	return k.Name
}

func openness(c *Condition) int {
	if c.Open {
		return 1
	}
	return 0
}

// fails reports whether a deployment violates the objective under a condition that today's meets, or
// does not save there what it saves with the twin as fitted.
func (c contest) fails(k *Condition, r *ConditionResult) bool {
	fitted := c.e.Conditions[0].result(r.Label)
	lost := c.today.SLO == Yes && fitted != nil && fitted.Saves >= 2*minSaving && r.Saves < minSaving
	return k.TodayMeets && (!r.Holds || lost)
}

// flips reports whether only today's violation speaks for a deployment, which does not save, and
// today's deployment would meet the objective under the condition.
func (c contest) flips(k *Condition, e *Entry) bool {
	return c.today.SLO == No && e.AgainstToday.Saves != Yes && k.Open && k.TodayMeets && !c.e.Conditions[0].TodayMeets
}

// toDecide is what would decide whether a condition is the case.
func toDecide(c *Condition) string {
	service := "the services"
	if len(c.Values) == 1 && c.Values[0].Service != "" {
		service = c.Values[0].Service
	}
	switch c.Figure {
	case twin.Neighbours:
		return "Measuring how busy the nodes are (preset cadvisor-ksm with a token for all namespaces, or node exporter's " +
			"node_cpu_seconds_total and --neighbours use=SHARE)"
	case twin.Workers:
		return fmt.Sprintf("The number of requests that a pod of %s works on at once (its setting of workers or threads: --known "+
			"SERVICE.workers=N), or a load test of one pod up to its limit,", service)
	case twin.Startup:
		return fmt.Sprintf("The time that a pod of %s takes to become ready (preset cadvisor-ksm, or --known SERVICE.startup=20s)", service)
	case twin.NodeSize:
		return "The size of the nodes (preset cadvisor-ksm, or --pool)"
	}
	return "A longer history, to which the twin can be fitted more precisely,"
}

// openDoubt is that about the deployment which would save most, if it is better than today's apart
// from the doubt; nil = none.
func (c contest) openDoubt() *doubt {
	var best *doubt
	for label, d := range c.doubts {
		e := c.e.Entry(label)
		if !d.open || e.SLO != Yes || over(Yes, c.today.SLO, e.AgainstToday) != Yes {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(e.AgainstToday.Mean, best.entry.AgainstToday.Mean), cmp.Compare(label, best.entry.Label)) < 0 {
			best = d
		}
	}
	return best
}

// depends lists what holds and what does not for a deployment, the nodes first.
func (c contest) depends(e *Entry) []Dependence {
	all := c.onBusyNodes(e)
	var fine []string
	longer := ""
	for _, figure := range []twin.Figure{twin.Workers, twin.Startup, twin.NodeSize, twin.CPUTime, twin.ResponseTime} {
		var of []*Condition
		for i := range c.e.Conditions {
			if k := &c.e.Conditions[i]; k.Figure == figure && k.result(e.Label) != nil {
				of = append(of, k)
			}
		}
		if len(of) == 0 {
			continue
		}
		switch d := c.without(e, of); {
		case d != nil:
			all = append(all, *d)
		case figure == twin.ResponseTime: // of which the shorter ones are not always tried
			longer = "holds with " + of[len(of)-1].Name
		default:
			fine = append(fine, string(figure))
		}
	}
	if len(fine) > 0 {
		text := "holds at both ends of the range of " + strings.Join(fine, " and of ")
		all = append(all, Dependence{Figure: twin.Figure(strings.Join(fine, ", ")), Holds: true, Value: result.Number(nan), Text: text})
	}
	if longer != "" {
		all = append(all, Dependence{Figure: twin.ResponseTime, Holds: true, Value: result.Number(nan), Text: longer})
	}
	return all
}

// onBusyNodes is up to which level of neighbours a deployment holds.
func (c contest) onBusyNodes(e *Entry) []Dependence {
	most, first := 0.0, 0.0
	for i := range c.e.Conditions {
		k := &c.e.Conditions[i]
		if r := k.result(e.Label); k.Figure == twin.Neighbours && r != nil && first == 0 {
			if r.Holds {
				most = k.Values[0].Value
			} else {
				first = k.Values[0].Value
			}
		}
	}
	d := Dependence{Figure: twin.Neighbours, Holds: first == 0, Value: result.Number(most)}
	switch {
	case most == 0 && first == 0:
		return nil
	case first == 0:
		d.Text = fmt.Sprintf("still holds with nodes %.0f %% busy", 100*most)
	case most > 0:
		d.Holds = true
		d.Text = fmt.Sprintf("holds with nodes up to %.0f %% busy, not with %.0f %%", 100*most, 100*first)
	default:
		d.Value, d.Text = result.Number(first), fmt.Sprintf("would not hold with nodes %.0f %% busy", 100*first)
	}
	return []Dependence{d}
}

// without is the condition of a figure in which a deployment does not hold; nil = it always does.
func (c contest) without(e *Entry, of []*Condition) *Dependence {
	var worst *Condition
	for _, k := range of {
		if r := k.result(e.Label); !r.Holds && (worst == nil || len(k.Values) <= len(worst.Values)) {
			worst = k // a single service, and the last of its values: the nearest to what holds
		}
	}
	if worst == nil {
		return nil
	}
	v := worst.Values[0]
	d := &Dependence{Figure: worst.Figure, Value: result.Number(nan), Text: "would not hold with " + worst.Name}
	if len(worst.Values) == 1 {
		d.Service, d.Value = v.Service, result.Number(v.Value)
		if bound, known := bornBy(e, of, v); known && worst.Figure == twin.Workers {
			d.Value, d.Text = result.Number(bound), fmt.Sprintf("would not hold if a pod of %s had fewer than %g workers", v.Service, bound)
		}
	}
	if !worst.TodayMeets && e != c.today {
		d.Text += ", nor would " + c.name(c.today)
	}
	return d
}

// bornBy is the least value of a service that was tried and that a deployment bears.
func bornBy(e *Entry, of []*Condition, fails Value) (least float64, known bool) {
	for _, k := range of {
		if len(k.Values) == 1 && k.Values[0].Service == fails.Service && k.result(e.Label).Holds && k.Values[0].Value > fails.Value &&
			(!known || k.Values[0].Value < least) {
			least, known = k.Values[0].Value, true
		}
	}
	return least, known
}
