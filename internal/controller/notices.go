package controller

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/notify"
)

// notices remembers which notices were sent about an application, so that each is sent once
// when it begins and once when it is over.
type notices struct {
	send func(notify.Notice)
	told map[string]string // by kind: what is the matter
}

// tell that something is the matter, or with an empty summary that it is over. The alert of a
// kind has one severity: it is part of its identity.
func (n *notices) tell(l *v1alpha1.LoadLine, at time.Time, kind, severity, summary, detail string) {
	if n.send == nil || n.told[kind] == summary {
		return
	}
	notice := notify.Notice{At: at, Namespace: l.Namespace, LoadLine: l.Name, Kind: kind, Severity: severity,
		Summary: fmt.Sprintf("%s/%s: %s", l.Namespace, l.Name, summary), Detail: detail}
	if summary == "" {
		notice.Resolved = true
		notice.Summary = fmt.Sprintf("%s/%s: %s is over", l.Namespace, l.Name, n.told[kind])
	}
	if n.told == nil {
		n.told = map[string]string{}
	}
	n.told[kind] = summary
	n.send(notice)
}

// pass tells what a pass has shown: the rung, a refused model, drift, and burn.
func (n *notices) pass(l *v1alpha1.LoadLine, v *view, model decider, burns bool, news string) {
	rung := ""
	if v.ladder.Rung != guard.Primary {
		rung = fmt.Sprintf("the policy is not in control, the rung is %v", v.ladder.Rung)
	}
	n.tell(l, v.at, notify.Rung, "warning", rung, v.ladder.Why)
	refused, detail := "", news
	switch {
	case model.policy == nil && model.reason != "" && model.reason != v1alpha1.ReasonNoFleet:
		refused, detail = "the model is refused: "+model.reason, model.why
	case news != "" && model.policy != nil && model.id != "" && newsRefuses(news):
		refused = "another model is refused"
	}
	n.tell(l, v.at, notify.Promotion, "warning", refused, detail)
	burning := ""
	if burns {
		burning = "the error budget burns"
	}
	n.tell(l, v.at, notify.Burn, "critical", burning, sloText(v))
}

// drift tells of the condition Drift. While it is not known, nothing begins or ends.
func (n *notices) drift(l *v1alpha1.LoadLine, status *v1alpha1.LoadLineStatus, at time.Time) {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDrift)
	switch {
	case c == nil || c.Status == metav1.ConditionUnknown:
	case c.Status == metav1.ConditionTrue:
		n.tell(l, at, notify.Drift, "info", "the application does not behave as its twin: "+c.Reason, c.Message)
	default:
		n.tell(l, at, notify.Drift, "info", "", c.Message)
	}
}

// sloText is the objectives that are missed.
func sloText(v *view) string {
	text := ""
	for i := range v.kinds {
		if met, known := v.met(i); known && !met && v.app.Sources[i].Over != "" {
			text = sentence(text, fmt.Sprintf("%.3g %% of the requests of %s are over its objective, and %.3g %% may be",
				100*v.kinds[i].OverSLO.Value, v.app.App.Kinds[i].Name, 100-v.app.App.Kinds[i].SLO.Percentile))
		} else if known && !met {
			text = sentence(text, fmt.Sprintf("%s takes %.3g s, and may take %v", v.app.App.Kinds[i].Name, v.kinds[i].AtSLO.Value,
				v.app.App.Kinds[i].SLO.Latency))
		}
	}
	return text
}
