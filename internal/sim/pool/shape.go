package pool

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// neighbourOptions describe neighbours. Their requests must leave room for pods; they may want
// more CPU than a node has.
var neighbourOptions = []option[Neighbours]{
	{"use", number, 0, 2, func(n *Neighbours) float64 { return n.Use }, func(n *Neighbours, x float64) { n.Use = x }, false},
	{"request", number, 0, 0.95, func(n *Neighbours) float64 { return n.Request }, func(n *Neighbours, x float64) { n.Request = x }, false},
	{"memory", number, 0, 0.95, func(n *Neighbours) float64 { return n.Memory }, func(n *Neighbours, x float64) { n.Memory = x }, false},
}

// manners are how neighbours use their CPU. They are written where they differ from the default.
var manners = []option[Neighbours]{
	{"vary", number, 0, 2, func(n *Neighbours) float64 { return max(n.WithDefaults().Vary, 0) }, func(n *Neighbours, x float64) {
		if n.Vary = x; x == 0 {
			n.Vary = -1
		}
	}, false},
	{"burst", span, 0, 10, func(n *Neighbours) float64 { return max(n.WithDefaults().Burst.Seconds(), 0) }, func(n *Neighbours, x float64) {
		if n.Burst = spanOf(x); x == 0 {
			n.Burst = -1
		}
	}, false},
	{"pods-per-core", number, 0.1, 100,
		func(n *Neighbours) float64 { return n.WithDefaults().PodsPerCore }, func(n *Neighbours, x float64) { n.PodsPerCore = x }, false},
}

var periodOption = option[time.Duration]{"period", span, 60, 7 * 86_400,
	func(d *time.Duration) float64 { return d.Seconds() }, func(d *time.Duration, x float64) { *d = spanOf(x) }, false}

// Names of the shapes that need no file.
const (
	constantShape = "constant"
	diurnalShape  = "diurnal"
)

// ParseNeighbours reads "use=0.7,request=0.7,memory=0.5,shape=diurnal,period=24h", and of their
// manners "vary=0.2,burst=20ms,pods-per-core=4". Without request they request what they use, at
// most 0.95. A shape that is neither constant nor diurnal is the name of a file: it is set as
// Shape.Name without factors, and the caller reads it with ReadShape. The error has every fault.
func ParseNeighbours(text string) (Neighbours, error) {
	var n Neighbours
	_, all, faults := fields(text, false)
	options := slices.Concat(neighbourOptions, manners)
	others, wrong := readFields(&n, all, options)
	faults = append(faults, wrong...)
	if n.Request == 0 && !hasKey(all, "request") {
		n.Request = min(n.Use, 0.95)
	}
	period, shape := 24*time.Hour, constantShape
	for _, f := range others {
		switch f.key {
		case "shape":
			if shape = f.value; shape == "" {
				faults = append(faults, errors.New("shape=: must be constant, diurnal or the name of a file"))
			}
		case periodOption.key:
			if err := periodOption.read(&period, f.value); err != nil {
				faults = append(faults, err)
			}
		default:
			faults = append(faults, unknownKey(f.key, append(keysOf(options), "shape", periodOption.key)))
		}
	}
	if hasKey(all, periodOption.key) && shape != diurnalShape {
		faults = append(faults, fmt.Errorf("period is of shape=diurnal, and the shape is %s", shape))
	}
	switch shape {
	case constantShape, "":
	case diurnalShape:
		n.Shape = Diurnal(period)
	default:
		n.Shape = Shape{Name: shape}
	}
	return n, about("neighbours", faults)
}

// String is the text of which ParseNeighbours makes the same neighbours; "" = none.
func (n Neighbours) String() string {
	if n.Use == 0 && n.Request == 0 && n.Memory == 0 {
		return ""
	}
	var all []string
	for _, o := range neighbourOptions {
		all = append(all, o.key+"="+o.unit.format(o.get(&n)))
	}
	if text := n.Manners(); text != "" {
		all = append(all, text)
	}
	if n.Shape.Name != "" {
		all = append(all, "shape="+n.Shape.Name)
	}
	if period := n.Shape.Step * time.Duration(len(n.Shape.Factor)); n.Shape.Name == diurnalShape && period != 24*time.Hour {
		all = append(all, "period="+formatSpan(period.Seconds()))
	}
	return strings.Join(all, ",")
}

// Manners is how they use their CPU, as ParseNeighbours reads it, where it is not the default.
func (n Neighbours) Manners() string {
	var all []string
	for _, o := range manners {
		if v := o.get(&n); v != o.get(&Neighbours{}) {
			all = append(all, o.key+"="+o.unit.format(v))
		}
	}
	return strings.Join(all, ",")
}

func (n Neighbours) faults() []error {
	faults := checked(&n, slices.Concat(neighbourOptions, manners))
	s := n.Shape
	if s.Name != "" && len(s.Factor) == 0 {
		faults = append(faults, fmt.Errorf("shape=%s: the file was not read", s.Name))
	}
	if len(s.Factor) > 0 && s.Step <= 0 {
		faults = append(faults, fmt.Errorf("shape=%s: the step of %v must be longer than 0", s.Name, s.Step))
	}
	for i, f := range s.Factor {
		if !(f >= 0) || math.IsInf(f, 0) {
			faults = append(faults, fmt.Errorf("shape=%s: factor %d is %v, must be a finite number of at least 0", s.Name, i, f))
			break
		}
	}
	return faults
}

// diurnalSteps of a period: five minutes of a day.
const diurnalSteps = 288

// Diurnal is a wave between 0.5 at the start and 1.5 in the middle of each period.
func Diurnal(period time.Duration) Shape {
	s := Shape{Name: diurnalShape, Step: period / diurnalSteps, Factor: make([]float64, diurnalSteps)}
	for i := range s.Factor {
		s.Factor[i] = 1 - 0.5*math.Cos(2*math.Pi*(float64(i)+0.5)/diurnalSteps)
	}
	return s
}

// maxShapeRows is a year of minutes.
const maxShapeRows = 600_000

// ReadShape reads the use of neighbours over time: a CSV with the columns time_s and factor,
// from time 0 in equal steps. Factors are scaled to a mean of 1, so that Neighbours.Use is the
// mean use. The error has every fault.
func ReadShape(r io.Reader, name string) (Shape, error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord, rows.TrimLeadingSpace = 2, true
	head, err := rows.Read()
	if err != nil || head[0] != "time_s" || head[1] != "factor" {
		return Shape{}, fmt.Errorf("%s: line 1: must have the columns time_s,factor", name)
	}
	s := Shape{Name: name}
	var faults []error
	fault := func(format string, args ...any) {
		line, _ := rows.FieldPos(0)
		faults = append(faults, fmt.Errorf("%s: line %d: %w", name, line, fmt.Errorf(format, args...)))
	}
	sum := 0.0
	for len(faults) < maxShapeFaults {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
			if !errors.Is(err, csv.ErrFieldCount) {
				break
			}
			continue
		}
		at, ok := parseNumber(row[0])
		i := len(s.Factor)
		if i == 1 && ok && at >= 1 && at <= 86_400 {
			s.Step = spanOf(at)
		}
		if want := s.Step.Seconds() * float64(i); !ok || math.Abs(at-want) > 1e-6 || i == 1 && s.Step == 0 {
			fault("time_s=%s: must begin with 0 and go on in equal steps of 1 to 86400 s", row[0])
		}
		factor, ok := parseNumber(row[1])
		if !ok || factor < 0 || factor > 1e9 {
			fault("factor=%s: must be a number from 0 to 1e9", row[1])
		}
		if i >= maxShapeRows {
			fault("more than %d rows", maxShapeRows)
			break
		}
		s.Factor = append(s.Factor, factor)
		sum += factor
	}
	if len(faults) == 0 && (len(s.Factor) < 2 || sum == 0) {
		faults = append(faults, fmt.Errorf("%s: %d rows with a sum of %v: must be at least two, and some factor above 0", name,
			len(s.Factor), sum))
	}
	mean := sum / float64(len(s.Factor))
	for i := range s.Factor {
		s.Factor[i] /= mean
	}
	return s, errors.Join(faults...)
}

// maxShapeFaults is where reading a file stops.
const maxShapeFaults = 20
