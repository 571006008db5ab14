package pool

import "time"

// Account is what one tenant is charged for a node over some time, beside the others.
type Account struct {
	Money       float64
	NodeSeconds float64 // of the node's time, by the same shares as the money
	CoreSeconds float64 // of its cores
}

// Tenant is what a tenant holds of a node over some time: the larger of what it requested
// and what it used.
type Tenant struct {
	CoreSeconds, ByteSeconds float64
}

// Charge is the share of a node's price that a tenant pays. As OpenCost allocates, each
// resource is paid for by max(request, usage), and what is idle by all tenants in proportion:
//
//	ours + idle*ours/(ours+others), where idle = capacity - ours - others
//
// which is capacity*ours/(ours+others). A resource without any tenant is not charged. The
// price splits into cores and memory by the price table's ratio. DaemonSets and the system
// are not tenants: their cost is part of what the tenants share.
func (p Prices) Charge(t Type, during time.Duration, ours, others Tenant) Account {
	cores := share(ours.CoreSeconds, others.CoreSeconds)
	memory := share(ours.ByteSeconds, others.ByteSeconds)
	byCores := p.coreShare(t)
	seconds := during.Seconds()
	paid := byCores*cores + (1-byCores)*memory
	return Account{
		Money:       p.Of(t) / 3600 * seconds * paid,
		NodeSeconds: seconds * paid,
		CoreSeconds: t.Cores * seconds * cores,
	}
}

// Whole is the charge for a node that has one owner.
func (p Prices) Whole(t Type, during time.Duration) Account {
	seconds := during.Seconds()
	return Account{Money: p.Of(t) / 3600 * seconds, NodeSeconds: seconds, CoreSeconds: t.Cores * seconds}
}

func share(ours, others float64) float64 {
	if ours <= 0 {
		return 0
	}
	return ours / (ours + others)
}

// coreShare is the part of a node's price that is for its cores.
func (p Prices) coreShare(t Type) float64 {
	p = p.WithDefaults()
	cores := p.CoreHour * t.Cores
	memory := p.GiBHour * float64(t.Memory) / gib
	if cores+memory == 0 {
		return 1
	}
	return cores / (cores + memory)
}

// Resources is the price of resources that are not bought by the node.
func (p Prices) Resources(coreSeconds, byteSeconds float64) float64 {
	p = p.WithDefaults()
	return (p.CoreHour*coreSeconds + p.GiBHour*byteSeconds/gib) / 3600
}
