package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

const head2021 = ",timestamp,traceid,rpcid,um,rpctype,interface,dm,rt\n"

// Two complete requests and one of each kind of broken request.
const callGraph2021 = head2021 +
	"0,0,t1,0,(?),http,home,front,100\n" +
	"1,0,t1,0,(?),http,home,front,-100\n" +
	"2,10,t1,0.1,front,rpc,x,cart,-30\n" +
	"3,10,t1,0.1,front,rpc,x,cart,31\n" +
	"4,50,t1,0.2,front,rpc,y,stock,20\n" +
	"5,55,t1,0.3,front,mc,z,cache,10\n" +
	"6,1000,t2,0,(?),http,home,front,60\n" +
	"7,1010,t2,0.1,front,rpc,x,cart,30\n" +
	"8,0,t3,0,(?),http,home,front,5\n" +
	"9,0,t3,0.1.1,cart,rpc,x,stock,5\n" +
	"10,0,t4,0,(?),http,home,front,5\n" +
	"11,0,t4,0.1,front,rpc,x,(?),5\n" +
	"12,0,t5,0,(?),http,home,front,NAN\n" +
	"13,0,t6,0,(?),http,home,front,5\n" +
	"14,0,t6,0.1,cart,rpc,x,stock,5\n"

const callGraph2022 = "timestamp,traceid,service,rpc_id,um,uminstanceid,rpctype,interface,dm,dminstanceid,rt\n" +
	"0,T_1,S_1,0,USER,U,http,i,MS_1,MS_1_POD_0,40\n" +
	"5,T_1,S_1,0.1,MS_1,MS_1_POD_0,rpc,i,MS_2,MS_2_POD_0,10\n" +
	"20,T_1,S_1,0.1.1,MS_2,MS_2_POD_0,rpc,i,MS_1,MS_1_POD_1,4\n" +
	"21,T_1,S_1,0.1.1.1,MS_1,MS_1_POD_1,rpc,i,MS_3,MS_3_POD_1,2\n" +
	"0,T_2,S_2,0.1,MS_2,MS_2_POD_0,rpc,i,MS_1,MS_1_POD_0,9\n" +
	"0,T_2,S_2,0.2,MS_2,MS_2_POD_0,rpc,i,MS_3,MS_3_POD_0,0\n"

func TestAppFromCallGraph2021(t *testing.T) {
	app, report, err := AppFromCallGraph(strings.NewReader(callGraph2021), "graph.csv", CallGraphOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checkApp(t, app)
	if report.Traces != 6 || report.Used != 2 {
		t.Errorf("%+v", report)
	}
	for _, reason := range []error{errMissingParent, errUnknownName, errNoTime, errWrongParent} {
		if report.Dropped[reason.Error()] != 1 {
			t.Errorf("%s: %d", reason, report.Dropped[reason.Error()])
		}
	}
	if len(app.Kinds) != 1 || app.Kinds[0].Name != "front/home" {
		t.Fatalf("kinds %+v", app.Kinds)
	}
	root := app.Kinds[0].Root
	if len(root.Stages) != 2 || len(root.Stages[0]) != 1 || len(root.Stages[1]) != 2 {
		t.Fatalf("stages: %+v", root.Stages)
	}
	cart, stock := root.Stages[0][0], root.Stages[1][0]
	if name := app.Services[cart.Service].Name; name != "cart" || cart.Probability != 1 {
		t.Errorf("first %s with probability %v", name, cart.Probability)
	}
	if name := app.Services[stock.Service].Name; name != "stock" || stock.Probability != 0.5 {
		t.Errorf("then %s with probability %v", name, stock.Probability)
	}
	// Own time: 100 - 30 - 20 = 50 and 60 - 30 = 30, the cache inside stock.
	front := app.Services[app.ServiceIndex("front")]
	if own := front.CPU.Mean + front.Wait.Mean; own != 40*time.Millisecond {
		t.Errorf("own time of front %v", own)
	}
}

func TestAppFromCallGraphFoldsCycles(t *testing.T) {
	app, report, err := AppFromCallGraph(strings.NewReader(callGraph2022), "graph.csv", CallGraphOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checkApp(t, app)
	if report.CallsFolded == 0 || len(app.Kinds) != 2 {
		t.Errorf("%+v", report)
	}
}

// The application is recovered from traces that were drawn from it.
func TestAppFromCallGraphRecovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	var b strings.Builder
	b.WriteString(head2021)
	const traces = 4000
	for i := range traces {
		at, own := i*100, 10+rng.IntN(11) // 15 ms on average
		calls, children := 0, ""
		begin := at + own
		if rng.Float64() < 0.3 {
			for range 3 {
				calls++
				children += fmt.Sprintf("0,%d,t%d,0.%d,a,rpc,x,b,8\n", begin, i, calls)
				begin += 8
			}
		}
		fmt.Fprintf(&b, "0,%d,t%d,0,(?),http,home,a,%d\n%s", at, i, own+8*calls, children)
	}
	app, report, err := AppFromCallGraph(strings.NewReader(b.String()), "graph.csv", CallGraphOptions{CPUShare: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	checkApp(t, app)
	if report.Used != traces {
		t.Errorf("%+v", report)
	}
	call := app.Kinds[0].Root.Stages[0][0]
	if call.Times != 3 || math.Abs(call.Probability-0.3) > 0.03 {
		t.Errorf("called %d times with probability %v", call.Times, call.Probability)
	}
	if cpu := app.Services[0].CPU.Mean; math.Abs(cpu.Seconds()-0.003) > 0.0001 {
		t.Errorf("CPU of a %v, want 3 ms", cpu)
	}
	if wait := app.Services[1].Wait.Mean; wait != 6400*time.Microsecond {
		t.Errorf("wait of b %v", wait)
	}
	if n := report.Used; n != traces {
		t.Errorf("used %d", n)
	}
}

func TestAppFromCallGraphRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"another table", "t_s,rps\n0,1\n", "must be an MSCallGraph table"},
		{"nothing", "", "empty"},
		{"only broken traces", head2021 + "0,0,t,0,(?),http,x,(?),1\n", "at least one whole trace"},
		{"bad rows", head2021 + "0,x,t,0,(?),http,x,a,1\n1\n", "timestamp"},
	} {
		_, _, err := AppFromCallGraph(strings.NewReader(c.text), "graph.csv", CallGraphOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, _, err := AppFromCallGraph(strings.NewReader(callGraph2021), "g", CallGraphOptions{CPUShare: 2}); err == nil {
		t.Error("a CPU share of 2 was taken")
	}
}

// checkApp checks what holds for every application: valid numbers and no cycle among the
// services, over all kinds together.
func checkApp(t *testing.T, app *loadline.App) {
	t.Helper()
	next := map[string][]string{}
	var walk func(c *loadline.Call)
	walk = func(c *loadline.Call) {
		if c.Service < 0 || c.Times < 1 || !(c.Probability > 0 && c.Probability <= 1) || !(c.Work > 0) {
			t.Fatalf("wrong call %+v", c)
		}
		for _, stage := range c.Stages {
			for i := range stage {
				from, to := app.Services[c.Service].Name, app.Services[stage[i].Service].Name
				if reaches(next, to, from) {
					t.Fatalf("%s -> %s closes a cycle", from, to)
				}
				next[from] = append(next[from], to)
				walk(&stage[i])
			}
		}
	}
	for i := range app.Kinds {
		if app.Kinds[i].SLO.Latency <= 0 || app.Kinds[i].Share <= 0 {
			t.Fatalf("wrong kind %+v", app.Kinds[i])
		}
		walk(&app.Kinds[i].Root)
	}
	for _, s := range app.Services {
		if s.CPU.Mean < 0 || s.Wait.Mean < 0 || math.IsNaN(s.CPU.CV) {
			t.Fatalf("wrong service %+v", s)
		}
	}
}

func TestTraceGroupsAreBounded(t *testing.T) {
	done := 0
	g := newTraceGroups(func(*trace) { done++ })
	for i := range 2 * maxOpenRows {
		g.add(fmt.Sprint("t", i/2), span{})
		if g.rows > maxOpenRows || len(g.open) > maxOpenRows {
			t.Fatalf("%d rows of %d traces held", g.rows, len(g.open))
		}
	}
	g.closeAll()
	if done != maxOpenRows || g.rows != 0 {
		t.Errorf("%d traces closed, %d rows left", done, g.rows)
	}
}
