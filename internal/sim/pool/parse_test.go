package pool

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

func TestParsePool(t *testing.T) {
	four := Type{Name: "4x16Gi", Cores: 4, Memory: 16 * gib, Price: 0.17, MaxPods: 110}
	elastic := func(change func(*Pool)) Pool {
		p := Pool{Name: "pool", Types: []Type{four}, Elastic: true, Max: 1000, Start: loadline.Dist{Mean: 45 * time.Second, CV: 0.2},
			BatchIdle: time.Second, BatchMax: 10 * time.Second, ConsolidateAfter: 30 * time.Second, Budget: 0.1}
		change(&p)
		return p
	}
	m5 := func(name string, cores float64, price float64, pods int) Type {
		return Type{Name: name, Cores: cores, Memory: int64(cores) * 4 * gib, Price: price, MaxPods: pods, Cloud: EKS}
	}
	for _, row := range []struct {
		name, text string
		want       Pool
	}{
		{"the issue's pool", "cores=4,memory=16Gi,start=45s,price=0.17", elastic(func(*Pool) {})},
		{"the pool of the suite bar", "bar", elastic(func(p *Pool) { p.Name, p.Types[0].Name = "bar", "bar" })},
		{"a name and what is different", "eks-4,max=20,consolidate=never,start-cv=0", elastic(func(p *Pool) {
			p.Name, p.Types, p.Max, p.ConsolidateAfter, p.Start.CV = "eks-4", []Type{m5("m5.xlarge", 4, 0.192, 58)}, 20, -time.Second, 0
		})},
		{"nodes make it fixed", "cores=4, memory=16Gi, price=0.17, nodes=3", Pool{Name: "pool", Types: []Type{four}, Nodes: 3}},
		{"a preset made fixed", "bar,nodes=2", Pool{Name: "bar", Types: []Type{{Name: "bar", Cores: 4, Memory: 16 * gib, Price: 0.17,
			MaxPods: 110}}, Nodes: 2}},
		{"several types", "types=m5.large+m5.xlarge,pods=20", elastic(func(p *Pool) {
			p.Types = []Type{m5("m5.large", 2, 0.096, 20), m5("m5.xlarge", 4, 0.192, 20)}
		})},
		{"everything", "name=web,cores=2.5,memory=9G,price=0.1,start=2m,start-cv=0.5,max=7,pods=30,cloud=aks,daemons-cpu=250m," +
			"daemons-memory=300Mi,consolidate=5m,budget=0.3,batch-idle=2s,batch-max=20s,placement=most,spread=yes,reserved-cpu=0.1," +
			"reserved-memory=1Gi", elastic(func(p *Pool) {
			*p = Pool{Name: "web", Types: []Type{{Name: "2.5x8789062.5Ki", Cores: 2.5, Memory: 9e9, Price: 0.1, MaxPods: 30, Cloud: AKS,
				Reserved: &Amount{0.1, gib}}}, Elastic: true, Max: 7, Start: loadline.Dist{Mean: 2 * time.Minute, CV: 0.5},
				Daemons: Amount{0.25, 300 * mib}, BatchIdle: 2 * time.Second, BatchMax: 20 * time.Second,
				ConsolidateAfter: 5 * time.Minute, Budget: 0.3, Placement: MostAllocated, Spread: true}
			p.Types[0].Name = "2.5x9000000000"
		})},
		{"a long idle window widens the batch", "bar,batch-idle=30s", elastic(func(p *Pool) {
			p.Name, p.Types[0].Name, p.BatchIdle, p.BatchMax = "bar", "bar", 30*time.Second, 30*time.Second
		})},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := ParsePool(row.text)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, row.want) {
				t.Errorf("%s is\n%+v, want\n%+v", row.text, got, row.want)
			}
			again, err := ParsePool(got.String())
			if err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("%s is written as %s, which is read as\n%+v (%v), not\n%+v", row.text, got, again, err, got)
			}
		})
	}
}

func TestEveryPresetIsValid(t *testing.T) {
	for _, name := range Names() {
		p, err := ParsePool(name)
		if err != nil {
			t.Error(err)
		}
		if p.String() != name {
			t.Errorf("%s is written as %s", name, p)
		}
		if err := (Cluster{Pools: []Pool{p}}).Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range TypeNames() {
		if _, err := ParsePool("types=" + name); err != nil {
			t.Error(err)
		}
	}
}

// A preset that a caller changes stays as it is for others.
func TestPresetsAreCopies(t *testing.T) {
	p, _ := Named("bar")
	p.Types[0].Cores = 99
	if q, _ := Named("bar"); q.Types[0].Cores != 4 {
		t.Errorf("the preset has %v cores now", q.Types[0].Cores)
	}
}

// refusal is a text and all faults that its error must have, one on each line.
type refusal struct {
	name, text string
	want       []string
}

func (r refusal) check(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatalf("%q was accepted", r.text)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(r.want) {
		t.Errorf("%q has %d faults, want %d:\n%v", r.text, len(lines), len(r.want), err)
	}
	for _, want := range r.want {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: no fault says %q:\n%v", r.text, want, err)
		}
	}
}

func TestWrongPoolsAreRefused(t *testing.T) {
	for _, row := range []refusal{
		{"empty", "", []string{`"" must be key=value`, "it has no instance type: give cores and memory"}},
		{"a misspelt pool", "esk-4", []string{`unknown pool "esk-4"; did you mean "eks-4"?`}},
		{"every fault at once", "cores=0,memroy=16Gi,start=45,price=free,max=0,start", []string{
			`cores=0: must be a number from 0.1 to 1024`, `unknown key "memroy"; did you mean "memory"?`,
			`start=45: must be a time from 1s to 1h, such as 45s`, `price=free: must be a number from 0.0001 to 10000`,
			`max=0: must be a whole number from 1 to 10000`, `"start" must be key=value`, "cores and memory must be given together"}},
		{"a key given twice", "bar,max=3,max=4", []string{`key "max" is given twice`}},
		{"an elastic setting of a fixed pool", "bar,nodes=3,start=1m,budget=0.5", []string{"start is of an elastic pool and nodes=3",
			"budget is of an elastic pool and nodes=3"}},
		{"half a size", "cores=4", []string{"cores and memory must be given together"}},
		{"a size and a list of types", "types=m5.large,cores=4,memory=8Gi", []string{"leave one of them out"}},
		{"unknown types", "types=m5.lrge+m5.large+m5.large", []string{`unknown instance type "m5.lrge"; did you mean "m5.large"?`,
			`"m5.large" is given twice`}},
		{"one price for several types", "eks,price=0.3", []string{"price=0.3: only for one type, and the pool has 4"}},
		{"a fixed pool of several types", "eks,nodes=3", []string{"it has 4 instance types: a fixed pool must have one"}},
		{"words", "bar,placement=best,spread=1,consolidate=soon", []string{"placement=best: must be one of least, most",
			"spread=1: must be one of no, yes", "consolidate=soon: must be never, or a time from 1s to 24h"}},
		{"the cloud of a type with a name", "types=m5.large,cloud=aks", []string{"cloud=aks: only for a type given by cores and memory"}},
		{"half a reservation", "bar,reserved-cpu=1", []string{"reserved-cpu and reserved-memory must be given together"}},
		{"nothing left for pods", "bar,daemons-cpu=4", []string{
			"type bar: nothing is left for pods: of 4 cores and 16Gi the system reserves 0.08 and 2.7Gi"}},
		{"a node too small for its system", "cores=1,memory=256Mi", []string{"nothing is left for pods"}},
		{"windows in the wrong order", "bar,batch-idle=5s,batch-max=2s", []string{"batch-max=2s: must be at least batch-idle, which is 5s"}},
		{"the name of a known pool", "name=eks-4,cores=4,memory=8Gi", []string{"name=eks-4: must be letters"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := ParsePool(row.text)
			row.check(t, err)
		})
	}
}

func TestWrongClustersAreRefused(t *testing.T) {
	bar, _ := Named("bar")
	odd := Pool{Name: "odd", Types: []Type{{Name: "x", Cores: -1, Memory: gib}}, Elastic: true, Budget: 2, Placement: 7}
	row := refusal{"a cluster made in code", "cluster", []string{`two pools are called "bar"`, "pool odd: type x: cores=-1: must be",
		"pool odd: budget=2: must be a number from 0.001 to 1", "pool odd: placement=7: must be one of least, most",
		"neighbours: request=1: must be a number from 0 to 0.95", "neighbours: shape=x.csv: the file was not read",
		`prices: unknown instance type "m5.hug"`, "prices: m5.hug=-1: must be"}}
	row.check(t, Cluster{
		Pools: []Pool{bar, bar, odd}, Neighbours: Neighbours{Request: 1, Shape: Shape{Name: "x.csv"}},
		Prices: Prices{Instances: map[string]float64{"m5.hug": -1}},
	}.Validate())
	if err := (Cluster{}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestClusterString(t *testing.T) {
	if got := (Cluster{}).String(); got != "" {
		t.Errorf("the zero value is %q", got)
	}
	eks, _ := ParsePool("eks-4,max=9")
	n, _ := ParseNeighbours("use=0.7")
	p, _ := ParsePrices("m5.xlarge=0.2")
	want := "pool eks-4,max=9; neighbours use=0.7,request=0.7,memory=0; prices m5.xlarge=0.2"
	if got := (Cluster{Pools: []Pool{eks}, Neighbours: n, Prices: p}).String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzParsePool(f *testing.F) {
	for _, text := range []string{"bar", "eks-4,max=3", "cores=4,memory=16Gi,start=45s,price=0.17", "types=m5.large+m5.xlarge",
		"bar,consolidate=never,budget=0.5,nodes=3", "cores=1e-1,memory=9G,reserved-cpu=1m,reserved-memory=1", "name=a,cloud=aks,pods=9"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePool(text)
		if err != nil {
			return
		}
		if err := (Cluster{Pools: []Pool{p}}).Validate(); err != nil {
			t.Errorf("%q was accepted, and is refused later: %v", text, err)
		}
		again, err := ParsePool(p.String())
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%q is written as %q, which is read as\n%+v (%v), not\n%+v", text, p, again, err, p)
		}
	})
}
