package pool

// Hour is the price of a node of a type for an hour: that of the price table for its name,
// its own, or that of its cores and GiB.
func (p Prices) Hour(t Type) float64 {
	if price, ok := p.Instances[t.Name]; ok {
		return price
	}
	if t.Price > 0 {
		return t.Price
	}
	return p.perCore()*t.Cores + p.perGiB()*float64(t.Memory)/gib
}

func (p Prices) perCore() float64 {
	if p.CoreHour == 0 {
		return 0.031611
	}
	return p.CoreHour
}

func (p Prices) perGiB() float64 {
	if p.GiBHour == 0 {
		return 0.004237
	}
	return p.GiBHour
}
