package policy

import (
	"errors"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// HPAVPA runs the horizontal and the vertical autoscaler side by side, in the way that their
// authors recommend: never both on one resource. An HPA on CPU utilisation beside a VPA that
// changes CPU requests would oscillate: a higher request lowers the utilisation, which removes
// pods, which raises it.
//
// The default is the combination that needs no figure of the application: HPA on CPU, VPA on
// memory only. The other documented one is HPA on a metric that is not a resource, VPA on CPU
// and memory: "hpa+vpa:target=off,rps-target=40,cpu=on".
//
// Both have hpa's metrics, every 15 s; the VPA runs once a minute.
type HPAVPA struct {
	hpa     *HPA
	vpa     *VPA
	lastVPA time.Time
}

var hpaVPAMethod = Method{
	Name:   "hpa+vpa",
	About:  "both autoscalers on different resources: HPA on CPU and VPA on memory, unless set otherwise",
	Search: hpaOnlySearch,
	Options: func(*loadline.App) []Option {
		return slices.Concat(hpaOptions("80"), vpaOptions("off"))
	},
	New: func(app *loadline.App, v Values) (loadline.Policy, error) {
		hpa, err := newHPA(app, v)
		vpa, err2 := newVPA(app, v)
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		return &HPAVPA{hpa: hpa, vpa: vpa}, errors.Join(shareNoResource(hpa, vpa)...)
	},
}

func shareNoResource(hpa *HPA, vpa *VPA) (faults []error) {
	for _, m := range hpa.cfg.metrics {
		if m.source == sourceCPU && vpa.cfg.cpu {
			faults = append(faults, errors.New("cpu=on with an HPA on CPU utilisation: each would undo the other; set target=off and "+
				"another metric, or cpu=off"))
		}
		if m.source == sourceMemory && vpa.cfg.memory {
			faults = append(faults, errors.New("memory=on with memory-target: each would undo the other; set one of them"))
		}
	}
	return faults
}

// Name of the policy.
func (*HPAVPA) Name() string { return "hpa+vpa" }

// Needs are those of hpa, which is the faster one.
func (p *HPAVPA) Needs() loadline.Needs {
	n := p.hpa.Needs()
	n.RecreateAfter = p.vpa.cfg.recreateAfter()
	return n
}

// Decide runs both. One may decide while the other has no data.
func (p *HPAVPA) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	horizontal, err := p.hpa.Decide(now, s)
	if err != nil && !errors.Is(err, loadline.ErrNoData) {
		return loadline.Proposal{}, err
	}
	if now.Sub(p.lastVPA) < vpaPeriod {
		return horizontal, err
	}
	p.lastVPA = now
	vertical, err2 := p.vpa.Decide(now, s)
	switch {
	case err2 != nil && !errors.Is(err2, loadline.ErrNoData):
		return loadline.Proposal{}, err2
	case err != nil && err2 != nil:
		return loadline.Proposal{}, err
	}
	return mergeProposals(horizontal, vertical), nil
}

// mergeProposals joins two proposals for different axes.
func mergeProposals(a, b loadline.Proposal) loadline.Proposal {
	if len(b.Services) == 0 && !b.Reserve.Set {
		return a
	}
	merged := loadline.Proposal{Services: slices.Clone(a.Services), Reserve: a.Reserve, Limited: a.Limited}
	if b.Reserve.Set {
		merged.Reserve = b.Reserve
	}
	for _, sp := range b.Services {
		i := slices.IndexFunc(merged.Services, func(m loadline.ServiceProposal) bool { return m.Service == sp.Service })
		if i < 0 {
			merged.Services = append(merged.Services, sp)
			continue
		}
		m := &merged.Services[i]
		m.Setting = m.Setting.With(sp.Setting)
		m.Reason += "; " + sp.Reason
	}
	return merged
}
